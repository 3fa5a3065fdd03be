/* plan.c - see plan.h. Runs are ordered by seed and scenario, so each split is prepared once. */
#include "lab/plan.h"

#include "base/memory.h"
#include "base/setting.h"
#include "lab/paper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- Options ------------------------------------------------------------------------------------------------- */

void inmo_reproduce_options_init(struct inmo_reproduce_options *options)
{
    *options = (struct inmo_reproduce_options){
        .what = "all", .seeds = "1..5", .recipe = "fast", .k_core = 10, .new_choice = "random"};
}

#define AT(field) offsetof(struct inmo_reproduce_options, field)

const struct inmo_setting *inmo_reproduce_settings(size_t *count)
{
    static const struct inmo_setting table[] = {
        {"seeds", 's', AT(seeds), 0, 0, NULL, "Experiments", "N,N,...|A..B",
         "Seeds of split and training; tables show mean and standard deviation."},
        {"recipe", 's', AT(recipe), 0, 0, "fast|paper", "Experiments", "NAME",
         "Recipe for the settings of every model."},
        {"like", 's', AT(like), 0, 0, "gowalla|yelp|amazon-book", "Experiments", "NAME",
         "Data set whose settings --recipe paper takes from the authors; default: the one nearest to the data in "
         "size and "
         "density."},
        {"storage", 's', AT(storage), 0, 0, "float|half", "Experiments", "HOW",
         "How the graph layers of lightgcn models are stored during training; default: as the recipe says, float "
         "in the paper's. half takes two thirds of the time."},
        {"only", 's', AT(only), 0, 0, NULL, "Experiments", "MODEL,...",
         "Only these models; NAME* is the variant with 30 % templates."},
        {"k-core", 'i', AT(k_core), 0, 1000000000, NULL, "Experiments", "N",
         "Keep only users and items with at least N interactions, repeated until stable; 0 keeps all."},
        {"epochs", 'i', AT(epochs), 0, 1000000, NULL, "Experiments", "N",
         "Maximum number of epochs per training; 0: the recipe's."},
        {"max-seconds", 'r', AT(max_seconds), 0, 1e9, NULL, "Experiments", "S",
         "Time limit per training; the result then depends on the machine. 0: no limit."},
        {"finished", 'b', AT(finished), 0, 1, NULL, "Experiments", NULL,
         "Train nothing; report only finished runs."},
        {"new-choice", 's', AT(new_choice), 0, 0, "random|last", "Experiments", "HOW",
         "Which users and items are new: drawn by seed, as the paper says, or the last ones in order of first "
         "appearance, as in its authors' runs."},
    };
    *count = sizeof table / sizeof *table;
    return table;
}

const char *inmo_reproduce_experiment(size_t n, const char **title)
{
    const struct inmo_lab_experiment *experiment = inmo_lab_experiment_at(n);
    if (experiment && title)
        *title = experiment->title;
    return experiment ? experiment->name : NULL;
}

/* The next word of a comma-separated list: where it begins, and its length; 0 at the end. */
static size_t next_word(const char **at)
{
    *at += strspn(*at, ", ");
    return strcspn(*at, ", ");
}

static int is_in_list(const char *list, const char *word)
{
    size_t length;
    for (const char *at = list; (length = next_word(&at)) > 0; at += length)
        if (length == strlen(word) && strncmp(at, word, length) == 0)
            return 1;
    return 0;
}

static enum inmo_status choose_experiments(const char *what, struct inmo_lab *lab, struct inmo_error *error)
{
    size_t length;
    for (const char *at = what; (length = next_word(&at)) > 0; at += length) {
        char word[64], names[512] = "all";
        int found = length == 3 && strncmp(at, "all", 3) == 0;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        for (size_t n = 0; inmo_lab_experiment_at(n); n++) {
            found |= strcmp(inmo_lab_experiment_at(n)->name, word) == 0;
            snprintf(names + strlen(names), sizeof names - strlen(names), ", %s", inmo_lab_experiment_at(n)->name);
        }
        if (!found)
            return inmo_fail(error, INMO_USAGE, "found the experiment \"%s\", expected one of %s", word, names);
    }
    for (size_t n = 0; inmo_lab_experiment_at(n); n++)
        if (is_in_list(what, "all") || is_in_list(what, inmo_lab_experiment_at(n)->name))
            lab->experiment[lab->experiments++] = inmo_lab_experiment_at(n);
    if (lab->experiments == 0)
        return inmo_fail(error, INMO_USAGE, "no experiment was named; all, or names like table2,table4");
    return INMO_OK;
}

static enum inmo_status choose_seeds(const char *text, struct inmo_lab *lab, struct inmo_error *error)
{
    const char *at = text;
    while (*at) {
        char *end;
        unsigned long long from = strtoull(at, &end, 10), to = from;
        int good = end != at && *at >= '0' && *at <= '9';
        if (good && strncmp(end, "..", 2) == 0) {
            at = end + 2;
            to = strtoull(at, &end, 10);
            good = end != at && *at >= '0' && *at <= '9';
        }
        good = good && (*end == 0 || (*end == ',' && end[1])) && from <= to && to <= 9007199254740991u &&
               to - from < INMO_LAB_MOST_SEEDS - lab->seeds;
        for (unsigned long long seed = from; good && seed <= to; seed++) {
            for (size_t n = 0; n < lab->seeds; n++)
                good &= lab->seed[n] != seed;
            lab->seed[lab->seeds++] = seed;
        }
        if (!good)
            return inmo_fail(error, INMO_USAGE,
                             "--seeds: found \"%s\", expected up to %d different numbers like 1,2,3 or "
                             "1..5",
                             text, INMO_LAB_MOST_SEEDS);
        at = *end ? end + 1 : end;
    }
    return lab->seeds > 0 ? INMO_OK
                          : inmo_fail(error, INMO_USAGE, "--seeds: found nothing, expected numbers like 1..5");
}

/* The model of a word of --only, "inmo-lgcn" or "inmo-lightgcn*"; NULL if there is none. */
static const struct inmo_model_kind *model_of_word(const char *word, size_t length)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(word[length - 1] == '*' ? length - 1 : length), word);
    return inmo_model_kind_find(name);
}

static enum inmo_status check_only(const char *only, struct inmo_error *error)
{
    size_t length;
    for (const char *at = only; (length = next_word(&at)) > 0; at += length)
        if (!model_of_word(at, length))
            return inmo_fail(error, INMO_USAGE, "--only: found \"%.*s\", expected models out of %s", (int)length,
                             at, inmo_model_list());
    return INMO_OK;
}

enum inmo_status inmo_lab_plan_options(const struct inmo_reproduce_options *options,
                                       struct inmo_reproduce_options *filled, struct inmo_lab *lab,
                                       struct inmo_error *error)
{
    struct inmo_reproduce_options defaults;
    size_t count;
    const struct inmo_setting *settings = inmo_reproduce_settings(&count);
    enum inmo_status status;
    inmo_reproduce_options_init(&defaults);
    *filled = options ? *options : defaults;
    filled->what = filled->what ? filled->what : defaults.what;
    filled->seeds = filled->seeds ? filled->seeds : defaults.seeds;
    filled->recipe = filled->recipe ? filled->recipe : defaults.recipe;
    filled->new_choice = filled->new_choice ? filled->new_choice : defaults.new_choice;
    status = inmo_settings_check(settings, count, filled, error);
    if (!status && filled->like && strcmp(filled->recipe, "fast") == 0)
        status = inmo_fail(error, INMO_USAGE,
                           "--like is for --recipe paper: the fast recipe is the same for every data set");
    if (!status)
        status = choose_experiments(filled->what, lab, error);
    if (!status)
        status = choose_seeds(filled->seeds, lab, error);
    if (!status && filled->only)
        status = check_only(filled->only, error);
    return status;
}

/* ---- Rows and runs ------------------------------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t hash, const struct inmo_csr *part)
{
    if (!part->offset)
        return hash;
    hash = XXH3_64bits_withSeed(part->offset, ((size_t)part->rows + 1) * sizeof *part->offset, hash);
    return XXH3_64bits_withSeed(part->column, (size_t)inmo_csr_count(part) * sizeof *part->column, hash);
}

enum inmo_status inmo_lab_plan_data(struct inmo_lab *lab, struct inmo_error *error)
{
    const struct inmo_dataset *dataset = NULL;
    enum inmo_status status = inmo_lab_dataset(&lab->data, INMO_TRANSDUCTIVE, 1, &dataset, error);
    if (status)
        return status;
    lab->users = dataset->users.count;
    lab->items = dataset->items.count;
    lab->interactions =
        inmo_csr_count(&dataset->train) + inmo_csr_count(&dataset->valid) + inmo_csr_count(&dataset->test);
    lab->paper_data = inmo_paper_data(lab->users, lab->items, lab->interactions);
    /* The parts of one seed identify the data, whatever filters were applied. */
    lab->data.hash = hash_of(hash_of(hash_of(0, &dataset->train), &dataset->valid), &dataset->test);
    return INMO_OK;
}

size_t inmo_lab_seeds_of(const struct inmo_lab *lab, const struct inmo_lab_experiment *experiment)
{
    return experiment->shape == INMO_LAB_CURVES ? 1 : lab->seeds;
}

static int is_wanted(const struct inmo_lab *lab, const struct inmo_lab_row *row)
{
    int wants_share = strchr(row->label, '*') != NULL, wanted = !lab->options->only;
    size_t length;
    if (row->system.walks > 0 && strcmp(lab->options->recipe, "fast") != 0)
        return 0; /* walks belong to our default, and would have to be trained for beside the paper's */
    for (const char *at = lab->options->only; !wanted && (length = next_word(&at)) > 0; at += length)
        wanted =
            (at[length - 1] == '*') == wants_share && !strcmp(model_of_word(at, length)->name, row->system.model);
    return wanted;
}

static enum inmo_status add_rows(struct inmo_lab *lab, const struct inmo_lab_experiment *experiment,
                                 struct inmo_error *error)
{
    struct inmo_lab_row *row = NULL, *grown;
    size_t count = 0;
    enum inmo_status status = inmo_lab_rows(experiment, &row, &count, error);
    if (status)
        return status;
    grown = inmo_resize(lab->row, lab->rows, lab->rows + count, sizeof *grown);
    if (!grown)
        status = inmo_fail_memory(error, "the list of experiments");
    else
        lab->row = grown;
    for (size_t n = 0; n < count && !status; n++)
        if (is_wanted(lab, &row[n]))
            lab->row[lab->rows++] = row[n];
    inmo_free(row);
    return status;
}

/* Number of the run that this row needs with this seed, added if new. */
static enum inmo_status find_run(struct inmo_lab *lab, const struct inmo_lab_row *row, uint64_t seed,
                                 size_t *number, struct inmo_error *error)
{
    struct inmo_lab_run run = {.system = row->system, .trained = row->trained, .seed = seed};
    enum inmo_status status = inmo_lab_run_plan(&run, &lab->data, lab->options, error);
    struct inmo_lab_run *grown = NULL;
    *number = 0;
    while (!status && *number < lab->runs && strcmp(lab->run[*number].identity, run.identity) != 0)
        ++*number;
    if (!status && *number == lab->runs) {
        grown = inmo_resize(lab->run, lab->runs, lab->runs + 1, sizeof *grown);
        if (!grown)
            status = inmo_fail_memory(error, "the list of runs");
    }
    if (grown) {
        lab->run = grown;
        lab->run[lab->runs++] = run;
    } else {
        inmo_lab_run_free(&run);
    }
    return status;
}

enum inmo_status inmo_lab_plan_runs(struct inmo_lab *lab, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < lab->experiments && !status; n++)
        status = add_rows(lab, lab->experiment[n], error);
    if (status)
        return status;
    lab->run_of = inmo_alloc_zero(lab->rows * lab->seeds, sizeof *lab->run_of);
    if (!lab->run_of)
        return inmo_fail_memory(error, "the list of runs");
    for (size_t s = 0; s < lab->seeds; s++)
        for (int scenario = 0; scenario < 3; scenario++)
            for (size_t r = 0; r < lab->rows && !status; r++)
                if ((int)lab->row[r].trained == scenario && s < inmo_lab_seeds_of(lab, lab->row[r].experiment))
                    status = find_run(lab, &lab->row[r], lab->seed[s], &lab->run_of[r * lab->seeds + s], error);
    return status;
}

void inmo_lab_plan_free(struct inmo_lab *lab)
{
    for (size_t n = 0; n < lab->runs; n++)
        inmo_lab_run_free(&lab->run[n]);
    inmo_free(lab->run);
    inmo_free(lab->run_of);
    inmo_free(lab->row);
    inmo_lab_data_free(&lab->data);
}
