/* plan.c - options of a search, and the plan made from them: settings to search, number of trials, epochs. */
#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "model/model.h"
#include "train/settings.h"
#include "train/trainer.h"
#include "tune/ranges.h"
#include "tune/tune.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Without a search: trials of one model, of each of several, and seconds. */
enum { DEFAULT_TRIALS = 20, TRIALS_OF_EACH = 3, DEFAULT_SECONDS = 600, RECORD_VERSION = 1 };

#define AT(field) offsetof(struct inmo_tune_options, field)
static const struct inmo_setting table[] = {
    {"method", 's', AT(method), 0, 0, "auto|grid|random|halving", "Search", "NAME",
     "grid: all combinations; random: random ones; halving: random ones, trained briefly, the best of them "
     "longer; auto: halving without search, else random."},
    {"trials", 'i', AT(trials), 0, INMO_MOST_TRIALS, NULL, "Search", "N",
     "Number of trials; 0: the whole grid, 3 of each of several models, or 20."},
    {"seed", 'u', AT(seed), 0, 9007199254740991.0, NULL, "Search", "N",
     "Seed of the search; trial N with the same seed always has the same settings."},
    {"seeds", 's', AT(seeds), 0, 0, NULL, "Search", "N,N",
     "Seeds of training; a trial's score is the mean over them."},
    {"halving-rate", 'i', AT(halving_rate), 2, 100, NULL, "Search", "N",
     "Halving: the best 1/N of the trials continue for N times as many epochs."},
    {"least-epochs", 'i', AT(least_epochs), 0, 1000000, NULL, "Search", "N",
     "Halving: epochs of the shortest trials, at least; 0: as eval-every."},
    {"max-seconds", 'r', AT(max_seconds), 0, 1e9, "auto", "Run", "S",
     "Stop the search after this wall time; it can be continued later. 0: no limit; auto: 600 without search, else "
     "no "
     "limit."},
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
        .method = "auto",
        .max_seconds = INMO_AUTO,
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

static enum inmo_status count_trials(const struct inmo_arms *arms, int grid, int wanted, int *trials,
                                     struct inmo_error *error)
{
    uint64_t size = inmo_arms_size(arms);
    for (size_t a = 0; grid && a < arms->count; a++)
        for (size_t n = 0; n < arms->arm[a].space.axis_count; n++) {
            const struct inmo_axis *axis = &arms->arm[a].space.axis[n];
            if (!axis->count)
                return inmo_fail(
                    error, INMO_USAGE, "`method` grid: %s is a range; a grid needs its values, as in %s=%g..%g%s:5",
                    axis->row->name, axis->row->name, axis->least, axis->most, axis->logarithmic ? ":log" : "");
        }
    *trials = wanted ? wanted : arms->count > 1 ? TRIALS_OF_EACH * (int)arms->count : DEFAULT_TRIALS;
    if (grid && !wanted) {
        if (size == 0 || size > INMO_MOST_TRIALS)
            return inmo_fail(error, INMO_USAGE,
                             "`method` grid: more than %d combinations; search fewer, or by `method` random",
                             INMO_MOST_TRIALS);
        *trials = (int)size;
    }
    if (size > 0 && (uint64_t)*trials > size)
        *trials = (int)size;
    return INMO_OK;
}

/* What is searched in one model, and what is not. */
static int add_arm(struct inmo_text *text, const struct inmo_arms *arms, size_t a)
{
    size_t count;
    const struct inmo_setting *settings = inmo_train_settings(&count);
    char *space = inmo_space_text(&arms->arm[a].space);
    char *fixed = inmo_settings_json(settings, inmo_train_settings_of_model(), &arms->arm[a].fixed);
    struct inmo_text words = {0};
    char *search = NULL;
    if (arms->as_given)
        inmo_text_format(&words, "as given; ");
    if (space)
        inmo_text_add(&words, space, strlen(space));
    search = inmo_text_take(&words);
    inmo_text_format(text, "\"search\": ");
    inmo_text_json_string(text, search ? search : "");
    inmo_text_add(text, ", \"settings\": ", 14);
    if (fixed)
        inmo_text_add(text, fixed, strlen(fixed));
    count = space && fixed && search;
    inmo_free(search);
    inmo_free(fixed);
    inmo_free(space);
    return count != 0;
}

/* Everything that decides the outcomes, and nothing else. More trials of the same search belong to the same record,
 * except with halving, where the number of trials decides which ones continue. */
static char *identity_of(const struct inmo_tuning *tuning, const struct inmo_dataset *data, const char *method,
                         const struct inmo_tune_options *options)
{
    const struct inmo_search *search = &tuning->search;
    const struct inmo_arms *arms = &tuning->arms;
    struct inmo_text text = {0};
    int whole = 1;

    inmo_text_format(&text, "{\"inmo.tune\": %d, \"data\": \"%016" PRIx64 "\", \"method\": \"%s\"", RECORD_VERSION,
                     inmo_trainer_data_hash(data), method);
    inmo_text_format(&text, ", \"seed\": %" PRIu64 ", \"seeds\": [", options->seed);
    for (size_t n = 0; n < search->seed_count; n++)
        inmo_text_format(&text, "%s%" PRIu64, n ? ", " : "", tuning->seed[n]);
    inmo_text_add(&text, "], \"per-trial-seconds\": ", 24);
    inmo_text_number(&text, options->per_trial_seconds, 17);
    if (strcmp(method, "halving") == 0) {
        inmo_text_add(&text, ", \"rungs\": [", 12);
        for (int n = 0; n < search->rungs; n++)
            inmo_text_format(&text, "%s[%d, %d]", n ? ", " : "", search->trials[n], search->epochs[0][n]);
        inmo_text_add(&text, "]", 1);
    }
    inmo_text_add(&text, ", ", 2);
    if (arms->count == 1)
        whole = add_arm(&text, arms, 0);
    for (size_t a = 0; a < arms->count && arms->count > 1; a++) {
        inmo_text_format(&text, "%s\"%s\": {", a ? ", " : "\"models\": {", arms->arm[a].model);
        whole &= add_arm(&text, arms, a);
        inmo_text_add(&text, "}", 1);
    }
    inmo_text_add(&text, "}}", arms->count > 1 ? 2 : 1);
    text.failed |= !whole;
    return inmo_text_take(&text);
}

static int is_closed(const struct inmo_model_kind *kind)
{
    return kind->system && !kind->system->learning;
}

static enum inmo_status check(const struct inmo_dataset *data, const struct inmo_train_options *fixed, size_t count,
                              const struct inmo_tune_options *options, struct inmo_error *error)
{
    enum inmo_status status = inmo_sized_check(options, sizeof *options, "inmo_tune_options", error);
    if (!status)
        status = inmo_settings_check(table, sizeof table / sizeof *table, options, error);
    if (!status && (!options->method || !options->seeds))
        status = inmo_fail(error, INMO_USAGE, "`%s` is missing", options->method ? "seeds" : "method");
    if (!status && (count == 0 || count > INMO_MOST_ARMS))
        status = inmo_fail(error, INMO_USAGE, "found %zu models, expected 1 to %d", count, INMO_MOST_ARMS);
    for (size_t a = 0; a < count && !status; a++) {
        const struct inmo_model_kind *kind;
        status = inmo_sized_check(&fixed[a], sizeof fixed[a], "inmo_train_options", error);
        if (!status)
            status = inmo_train_options_check(&fixed[a], error);
        kind = status ? NULL : inmo_model_kind_find(fixed[a].model);
        if (!status && count == 1 && kind->system && !kind->system->fit && !kind->system->learning)
            status =
                inmo_fail(error, INMO_UNSUPPORTED, "%s is not trained: it has no settings to search", fixed->model);
        for (size_t b = 0; b < a && !status; b++)
            if (inmo_model_kind_find(fixed[b].model) == kind)
                status = inmo_fail(error, INMO_USAGE, "`model`: %s stands twice", kind->name);
    }
    if (!status && inmo_csr_count(&data->valid) == 0)
        status = inmo_fail(error, INMO_INPUT, "the data set has no validation part to compare settings by");
    return status;
}

/* Makes the models with their spaces. */
static enum inmo_status make_arms(struct inmo_tuning *tuning, const struct inmo_train_options *fixed, size_t count,
                                  const struct inmo_tune_options *options, const char *method,
                                  struct inmo_error *error)
{
    struct inmo_arms *arms = &tuning->arms;
    enum inmo_status status = INMO_OK;
    arms->arm = inmo_alloc_zero(count, sizeof *arms->arm);
    if (!arms->arm)
        return inmo_fail_memory(error, "the search");
    arms->as_given = !options->search;
    for (; arms->count < count && !status; arms->count += !status) {
        struct inmo_arm *arm = &arms->arm[arms->count];
        const struct inmo_model_kind *kind = inmo_model_kind_find(fixed[arms->count].model);
        int halving = strcmp(method, "halving") == 0;
        arm->fixed = fixed[arms->count];
        arm->model = kind->name;
        arm->closed = is_closed(kind);
        arm->fixed.checkpoint = NULL;
        arm->fixed.resume = 0;
        arm->fixed.seed = tuning->seed[0];
        arm->fixed.max_seconds = options->per_trial_seconds;
        arm->fixed.checkpoint_seconds = options->checkpoint_seconds;
        if (count > 1)
            inmo_ranges_bound(options->keep, &arm->fixed);
        if (options->search)
            status = inmo_space_parse(options->search, halving, &arm->space, error);
        else
            status = inmo_ranges_space(arm->model, options->keep, halving, &arm->space, error);
        arm->space.in_order = strcmp(method, "grid") == 0;
        arm->space.seed = options->seed + arms->count; /* every model has its own draws */
        if (!status && count == 1 && arm->space.axis_count == 0)
            status = inmo_fail(
                error, INMO_USAGE,
                "nothing is left to search: all settings that matter for %s are given; `search` takes others",
                arm->model);
    }
    return status;
}

static void plan_rungs(struct inmo_tuning *tuning, int trials, int rate, int least_epochs)
{
    int epochs[INMO_MOST_ARMS], eval_every[INMO_MOST_ARMS], closed[INMO_MOST_ARMS];
    const struct inmo_arms *arms = &tuning->arms;
    for (size_t a = 0; a < arms->count; a++) {
        epochs[a] = arms->arm[a].fixed.epochs;
        eval_every[a] = arms->arm[a].fixed.eval_every;
        closed[a] = arms->arm[a].closed;
    }
    if (arms->count == 1)
        inmo_search_plan(&tuning->search, trials, epochs[0], eval_every[0], closed[0] ? 0 : rate,
                         least_epochs ? least_epochs : eval_every[0]);
    else
        inmo_search_plan_arms(&tuning->search, arms->count, trials, epochs, eval_every, closed, rate, least_epochs);
}

enum inmo_status inmo_tuning_plan(struct inmo_tuning *tuning, const struct inmo_dataset *data,
                                  const struct inmo_train_options *fixed, size_t count,
                                  const struct inmo_tune_options *options, struct inmo_error *error)
{
    struct inmo_search *search = &tuning->search;
    const char *method;
    int trials = 0;
    enum inmo_status status;

    *tuning = (struct inmo_tuning){0};
    status = check(data, fixed, count, options, error);
    if (!status)
        status = read_seeds(options->seeds, tuning->seed, &search->seed_count, error);
    if (status)
        return status;
    method = strcmp(options->method, "auto") != 0 ? options->method : options->search ? "random" : "halving";
    search->seed = tuning->seed;
    search->arms = &tuning->arms;
    search->by_time = !options->search || count > 1;
    tuning->max_seconds = options->max_seconds != INMO_AUTO ? options->max_seconds
                          : options->search                 ? 0
                                                            : DEFAULT_SECONDS;
    status = make_arms(tuning, fixed, count, options, method, error);
    if (!status)
        status = count_trials(&tuning->arms, strcmp(method, "grid") == 0, options->trials, &trials, error);
    if (!status) {
        plan_rungs(tuning, trials, strcmp(method, "halving") == 0 ? options->halving_rate : 0,
                   options->least_epochs);
        tuning->identity = identity_of(tuning, data, method, options);
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
    inmo_arms_free(&tuning->arms);
    tuning->identity = NULL;
}
