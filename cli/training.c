/* training.c - shared by commands that train: options of a model, and the command to type next. */
#include "common.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct inmo_setting recipe_rows[] = {
    {"recipe", 's', offsetof(struct cli_training, recipe), 0, 0, "fast|paper", "Model", "NAME",
     "Default settings of the model; options override them."},
    {"like", 's', offsetof(struct cli_training, like), 0, 0, "gowalla|yelp|amazon-book", "Model", "NAME",
     "Data set whose settings --recipe paper takes from the authors; default: the one nearest to the data in size "
     "and "
     "density."},
};

/* Aliases. A name that appears twice sets both. */
static const struct inmo_setting other_names[] = {
    {"templates", 'r', offsetof(struct inmo_train_options, user_templates), 1e-9, 1, NULL, "Model", "SHARE",
     "Both --user-templates and --item-templates."},
    {"templates", 'r', offsetof(struct inmo_train_options, item_templates), 1e-9, 1, NULL, "Model", "SHARE",
     "Both --user-templates and --item-templates."},
    {"lr", 'r', offsetof(struct inmo_train_options, learning_rate), 1e-12, 1e3, NULL, "Training", "RATE",
     "The same as --learning-rate."},
};

void cli_add_training(struct cli_options *options, struct cli_training *training, size_t count,
                      const struct inmo_setting *model)
{
    size_t all;
    const struct inmo_setting *row = inmo_train_settings(&all);

    training->recipe = "fast";
    inmo_train_options_init(&training->train, "inmo-lightgcn", training->recipe, NULL);
    cli_add_table(options, recipe_rows, sizeof recipe_rows / sizeof *recipe_rows, training);
    if (model)
        cli_add_table(options, model, 1, &training->train);
    cli_add_table(options, row + (model ? 1 : 0), count - (model ? 1 : 0), &training->train);
    cli_add_table(options, other_names, sizeof other_names / sizeof *other_names, &training->train);
}

enum inmo_status cli_check_model(const char *model, const char *recipe, struct inmo_train_options *train,
                                 struct inmo_error *error)
{
    enum inmo_status status = inmo_train_options_init(train, model, recipe, error);
    size_t count;
    const struct inmo_setting *row = inmo_train_settings(&count);
    for (size_t n = 0; n < count && status == INMO_USAGE; n++)
        if (!strcmp(row[n].name, "model"))
            cli_hint_choice(&row[n], model, error);
    return status;
}

enum inmo_status cli_begin_training(struct cli_options *options, struct cli_training *training, const char *model,
                                    struct inmo_error *error)
{
    const char *recipe = cli_given(options, "recipe"), *like = cli_given(options, "like");
    enum inmo_status status;
    recipe = recipe ? recipe : training->recipe;
    if (like && inmo_recipe_for(like, 1, 1, 1) && strcmp(recipe, "fast") == 0)
        return inmo_fail(error, INMO_USAGE,
                         "--like is for --recipe paper: the fast recipe is the same for every data set");
    status = cli_check_model(model ? model : training->train.model, recipe, &training->train, error);
    /* Unknown model name: report it like any other invalid option. */
    if (status)
        cli_apply(options, error);
    return status;
}

void cli_take_like(const struct cli_options *options, struct cli_training *training,
                   const struct inmo_dataset *dataset)
{
    struct inmo_train_options usual, wanted;
    struct inmo_dataset_info info;
    const char *recipe;
    size_t count;
    const struct inmo_setting *row = inmo_train_settings(&count);

    if (strcmp(training->recipe, "paper"))
        return;
    inmo_dataset_info(dataset, &info);
    recipe = inmo_recipe_for(training->like, info.users, info.items,
                             info.train + info.valid + info.test + info.later + info.aside);
    if (!recipe || inmo_train_options_init(&usual, training->train.model, "paper", NULL) ||
        inmo_train_options_init(&wanted, training->train.model, recipe, NULL))
        return;
    for (size_t n = 0; n < count; n++) {
        char text[2][256];
        inmo_setting_text(&row[n], &usual, text[0], sizeof text[0]);
        inmo_setting_text(&row[n], &wanted, text[1], sizeof text[1]);
        if (strcmp(text[0], text[1]) && !cli_given(options, row[n].name) &&
            (strcmp(row[n].name, "learning-rate") || !cli_given(options, "lr")))
            inmo_setting_set(&row[n], &training->train, text[1]); /* numbers: the text is not kept */
    }
    training->recipe = recipe;
    if (!training->like)
        cli_note(INMO_NOTE, "the paper's settings are those for %s, which is nearest in size and density (--like)",
                 strchr(recipe, ':') + 1);
}

/* Calls take for every training option that was given, with the text that counts. */
static void each_given(const struct cli_options *options, const struct cli_training *training,
                       void (*take)(void *context, const struct inmo_setting *row, const char *text), void *context)
{
    for (size_t n = 0; n < options->assignment_count; n++) {
        const struct cli_assignment *given = &options->assignment[n];
        for (size_t t = 0; t < options->table_count; t++)
            for (size_t r = 0; options->table[t].structure == &training->train && r < options->table[t].count;
                 r++) {
                const struct inmo_setting *row = &options->table[t].row[r];
                if (!strcmp(row->name, given->row->name) &&
                    row->offset != offsetof(struct inmo_train_options, model))
                    take(context, row, cli_given(options, row->name));
            }
    }
}

static void set_given(void *context, const struct inmo_setting *row, const char *text)
{
    inmo_setting_set(row, context, text);
}

enum inmo_status cli_training_of(const struct cli_options *options, const struct cli_training *training,
                                 const char *model, struct inmo_train_options *train, struct inmo_error *error)
{
    enum inmo_status status = cli_check_model(model, training->recipe, train, error);
    if (!status)
        each_given(options, training, set_given, train);
    return status;
}

/* An alias is listed by the name of what it sets. */
static void list_given(void *context, const struct inmo_setting *row, const char *text)
{
    size_t count;
    const struct inmo_setting *own = inmo_train_settings(&count);
    (void)text;
    for (size_t n = 0; n < inmo_train_settings_of_model(); n++)
        if (own[n].offset == row->offset)
            cli_strings_add(context, own[n].name);
}

char *cli_training_given(const struct cli_options *options, const struct cli_training *training)
{
    struct cli_strings names = {0};
    char *text;
    each_given(options, training, list_given, &names);
    text = cli_joined(&names);
    cli_strings_free(&names, 0);
    return text;
}

void cli_put_quoted(FILE *stream, const char *word)
{
    const char *c = word;
    while (*c && (isalnum((unsigned char)*c) || strchr("_./:=,+@%-", *c)))
        c++;
    if (*word && !*c) {
        fputs(word, stream);
        return;
    }
    fputc('\'', stream);
    for (c = word; *c; c++)
        fputs(*c == '\'' ? "'\\''" : (char[]){*c, 0}, stream);
    fputc('\'', stream);
}

void cli_print_go_on(const struct cli_options *options, const char *more)
{
    fprintf(stderr, "inmo: to go on:");
    for (int n = 0; n < options->argc; n++) {
        if (more && !strcmp(options->argv[n], more))
            continue;
        fputc(' ', stderr);
        cli_put_quoted(stderr, options->argv[n]);
    }
    fprintf(stderr, "%s%s\n", more ? " " : "", more ? more : "");
}
