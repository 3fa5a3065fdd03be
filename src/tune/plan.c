/* plan.c - options of a search, and the plan made from them: settings to search, number of trials, epochs. */
#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "model/model.h"
#include "train/settings.h"
#include "train/trainer.h"
#include "tune/tune.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { DEFAULT_TRIALS = 20, MOST_TRIALS = 10000, RECORD_VERSION = 1 };

#define AT(field) offsetof(struct inmo_tune_options, field)
static const struct inmo_setting table[] = {
    {"method", 's', AT(method), 0, 0, "grid|random|halving", "Search", "NAME",
     "grid: all combinations; random: random ones; halving: random ones, trained briefly, the best of them "
     "longer."},
    {"trials", 'i', AT(trials), 0, MOST_TRIALS, NULL, "Search", "N", "Number of trials; 0: the whole grid, or 20."},
    {"seed", 'u', AT(seed), 0, 9007199254740991.0, NULL, "Search", "N",
     "Seed of the search; trial N with the same seed always has the same settings."},
    {"seeds", 's', AT(seeds), 0, 0, NULL, "Search", "N,N",
     "Seeds of training; a trial's score is the mean over them."},
    {"halving-rate", 'i', AT(halving_rate), 2, 100, NULL, "Search", "N",
     "Halving: the best 1/N of the trials continue for N times as many epochs."},
    {"least-epochs", 'i', AT(least_epochs), 0, 1000000, NULL, "Search", "N",
     "Halving: epochs of the shortest trials, at least; 0: as eval-every."},
    {"max-seconds", 'r', AT(max_seconds), 0, 1e9, NULL, "Run", "S",
     "Stop the search after this wall time; it can be continued later. 0: no limit."},
    {"per-trial-seconds", 'r', AT(per_trial_seconds), 0, 1e9, NULL, "Run", "S",
     "End each training after this wall time; the result then depends on the machine. 0: no limit."},
    {"checkpoint-seconds", 'r', AT(checkpoint_seconds), 0, 1e9, NULL, "Run", "S",
     "Time between checkpoints of the running trial."},
};

const struct inmo_setting *inmo_tune_settings(size_t *count)
{
    *count = sizeof table / sizeof *table;
    return table;
}

void inmo_tune_options_init_sized(struct inmo_tune_options *options, size_t size)
{
    const struct inmo_tune_options defaults = {
        .method = "random",
        .seed = 1,
        .seeds = "1",
        .halving_rate = 3,
        .checkpoint_seconds = 60,
    };
    inmo_sized_fill(options, size, &defaults, sizeof defaults);
}

/* "1,2,3" */
static enum inmo_status read_seeds(const char *text, uint64_t *seed, size_t *count, struct inmo_error *error)
{
    const char *rest = text;
    *count = 0;
    do {
        char *end = NULL;
        uint64_t number = 0;
        errno = 0;
        if (isdigit((unsigned char)*rest))
            number = strtoull(rest, &end, 10);
        if (!end || errno || number > (UINT64_C(1) << 53) || (*end && *end != ','))
            return inmo_fail(error, INMO_USAGE, "`seeds`: found \"%.60s\", expected whole numbers: 1,2,3", text);
        for (size_t n = 0; n < *count; n++)
            if (seed[n] == number)
                return inmo_fail(error, INMO_USAGE, "`seeds`: %" PRIu64 " stands twice in %.60s", number, text);
        if (*count == INMO_MOST_SEEDS)
            return inmo_fail(error, INMO_USAGE, "`seeds`: more than %d", INMO_MOST_SEEDS);
        seed[(*count)++] = number;
        rest = *end ? end + 1 : NULL;
    } while (rest);
    return INMO_OK;
}

static enum inmo_status count_trials(const struct inmo_space *space, const struct inmo_tune_options *options,
                                     int *trials, struct inmo_error *error)
{
    for (size_t n = 0; space->in_order && n < space->axis_count; n++)
        if (!space->axis[n].count)
            return inmo_fail(error, INMO_USAGE,
                             "`method` grid: %s is a range; a grid needs its values, as in %s=%g..%g%s:5",
                             space->axis[n].row->name, space->axis[n].row->name, space->axis[n].least,
                             space->axis[n].most, space->axis[n].logarithmic ? ":log" : "");
    *trials = options->trials ? options->trials : DEFAULT_TRIALS;
    if (space->in_order && !options->trials) {
        if (space->size == 0 || space->size > MOST_TRIALS)
            return inmo_fail(error, INMO_USAGE,
                             "`method` grid: more than %d combinations; search fewer, or by `method` random",
                             MOST_TRIALS);
        *trials = (int)space->size;
    }
    if (space->size > 0 && (uint64_t)*trials > space->size)
        *trials = (int)space->size;
    return INMO_OK;
}

/* Everything that decides the outcomes, and nothing else. More trials of the same search belong to the same record,
 * except with halving, where the number of trials decides which ones continue. */
static char *identity_of(const struct inmo_tuning *tuning, const struct inmo_dataset *data,
                         const struct inmo_tune_options *options, int halving)
{
    size_t count;
    const struct inmo_setting *settings = inmo_train_settings(&count);
    struct inmo_text text = {0};
    char *space = inmo_space_text(&tuning->space);
    char *fixed = inmo_settings_json(settings, inmo_train_settings_of_model(), &tuning->fixed);

    inmo_text_format(&text, "{\"inmo.tune\": %d, \"data\": \"%016" PRIx64 "\", \"method\": \"%s\", \"search\": ",
                     RECORD_VERSION, inmo_trainer_data_hash(data), options->method);
    inmo_text_json_string(&text, space ? space : "");
    inmo_text_format(&text, ", \"seed\": %" PRIu64 ", \"seeds\": [", options->seed);
    for (size_t n = 0; n < tuning->search.seed_count; n++)
        inmo_text_format(&text, "%s%" PRIu64, n ? ", " : "", tuning->seed[n]);
    inmo_text_add(&text, "], \"per-trial-seconds\": ", 24);
    inmo_text_number(&text, options->per_trial_seconds, 17);
    if (halving) {
        inmo_text_add(&text, ", \"rungs\": [", 12);
        for (int n = 0; n < tuning->search.rungs; n++)
            inmo_text_format(&text, "%s[%d, %d]", n ? ", " : "", tuning->search.trials[n],
                             tuning->search.epochs[n]);
        inmo_text_add(&text, "]", 1);
    }
    inmo_text_add(&text, ", \"settings\": ", 14);
    if (fixed)
        inmo_text_add(&text, fixed, strlen(fixed));
    inmo_text_add(&text, "}", 1);
    text.failed |= !space || !fixed;
    inmo_free(fixed);
    inmo_free(space);
    return inmo_text_take(&text);
}

static enum inmo_status check(const struct inmo_dataset *data, const struct inmo_train_options *fixed,
                              const struct inmo_tune_options *options, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = NULL;
    enum inmo_status status = inmo_settings_check(table, sizeof table / sizeof *table, options, error);
    if (!status && (!options->method || !options->seeds))
        status = inmo_fail(error, INMO_USAGE, "`%s` is missing", options->method ? "seeds" : "method");
    if (!status)
        status = inmo_train_options_check(fixed, error);
    kind = status ? NULL : inmo_model_kind_find(fixed->model);
    if (!status && kind->system && !kind->system->fit && !kind->system->learning)
        status =
            inmo_fail(error, INMO_UNSUPPORTED, "%s is not trained: it has no settings to search", fixed->model);
    if (!status && inmo_csr_count(&data->valid) == 0)
        status = inmo_fail(error, INMO_INPUT, "the data set has no validation part to compare settings by");
    return status;
}

enum inmo_status inmo_tuning_plan(struct inmo_tuning *tuning, const struct inmo_dataset *data,
                                  const struct inmo_train_options *fixed, const struct inmo_tune_options *options,
                                  struct inmo_error *error)
{
    struct inmo_search *search = &tuning->search;
    int halving, trials = 0;
    enum inmo_status status;

    *tuning = (struct inmo_tuning){0};
    status = inmo_sized_check(options, sizeof *options, "inmo_tune_options", error);
    if (!status)
        status = inmo_sized_check(fixed, sizeof *fixed, "inmo_train_options", error);
    if (status)
        return status;
    tuning->fixed = *fixed;
    tuning->fixed.checkpoint = NULL;
    tuning->fixed.resume = 0;
    status = check(data, &tuning->fixed, options, error);
    if (!status)
        status = read_seeds(options->seeds, tuning->seed, &search->seed_count, error);
    if (status)
        return status;
    search->seed = tuning->seed;
    tuning->fixed.seed = tuning->seed[0];
    tuning->fixed.max_seconds = options->per_trial_seconds;
    tuning->fixed.checkpoint_seconds = options->checkpoint_seconds;
    halving = strcmp(options->method, "halving") == 0;
    status = inmo_space_parse(options->search, halving, &tuning->space, error);
    if (status)
        return status;
    tuning->space.in_order = strcmp(options->method, "grid") == 0;
    tuning->space.seed = options->seed;
    status = count_trials(&tuning->space, options, &trials, error);
    if (!status) {
        inmo_search_plan(search, trials, fixed->epochs, fixed->eval_every, halving ? options->halving_rate : 0,
                         options->least_epochs ? options->least_epochs : fixed->eval_every);
        tuning->identity = identity_of(tuning, data, options, halving);
        if (!tuning->identity)
            status = inmo_fail_memory(error, "the search");
    }
    if (status)
        inmo_tuning_free(tuning);
    return status;
}

void inmo_tuning_free(struct inmo_tuning *tuning)
{
    inmo_free(tuning->identity);
    inmo_space_free(&tuning->space);
    tuning->identity = NULL;
}
