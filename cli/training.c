/* training.c - shared by commands that train: options of a model, and the command to type next. */
#include "common.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct inmo_setting recipe_row = {
    "recipe", 's',    offsetof(struct cli_training, recipe),
    0,        0,      "fast|paper",
    "Model",  "NAME", "Default settings of the model; options override them."};

/* Aliases. A name that appears twice sets both. */
static const struct inmo_setting other_names[] = {
    {"templates", 'r', offsetof(struct inmo_train_options, user_templates), 1e-9, 1, NULL, "Model", "SHARE",
     "Both --user-templates and --item-templates."},
    {"templates", 'r', offsetof(struct inmo_train_options, item_templates), 1e-9, 1, NULL, "Model", "SHARE",
     "Both --user-templates and --item-templates."},
    {"lr", 'r', offsetof(struct inmo_train_options, learning_rate), 1e-12, 1e3, NULL, "Training", "RATE",
     "The same as --learning-rate."},
};

void cli_add_training(struct cli_options *options, struct cli_training *training, size_t count)
{
    size_t all;

    training->recipe = "fast";
    inmo_train_options_init(&training->train, "inmo-lightgcn", training->recipe, NULL);
    cli_add_table(options, &recipe_row, 1, training);
    cli_add_table(options, inmo_train_settings(&all), count, &training->train);
    cli_add_table(options, other_names, sizeof other_names / sizeof *other_names, &training->train);
}

enum inmo_status cli_begin_training(struct cli_options *options, struct cli_training *training,
                                    struct inmo_error *error)
{
    const char *model = cli_given(options, "model"), *recipe = cli_given(options, "recipe");
    enum inmo_status status = inmo_train_options_init(&training->train, model ? model : training->train.model,
                                                      recipe ? recipe : training->recipe, error);
    /* Unknown model name: report it like any other invalid option. */
    if (status)
        cli_apply(options, error);
    return status;
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
