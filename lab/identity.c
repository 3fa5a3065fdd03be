/* identity.c - the identity of a run: data, split and all relevant settings, hashed to a name. */
#include "lab/run.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/setting.h"
#include "base/text.h"
#include "train/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

/* Versions: of the run file; of how new users and items are evaluated; of how a share of templates is counted. */
enum { LAYOUT = 2, UNSEEN = 2, TEMPLATES = 2 };

static const char *scenario_words(enum inmo_scenario scenario)
{
    static const char *const words[] = {"transductive", "new interactions", "new users and items"};
    return words[scenario];
}

static void describe(struct inmo_lab_run *run)
{
    const struct inmo_lab_system *system = &run->system;
    size_t size = sizeof run->what, at;
    at = (size_t)snprintf(run->what, size, "%s", inmo_lab_model_label(system->model));
    if (system->templates > 0)
        at += (size_t)inmo_format(run->what + at, size - at, " %.0f %% by %s", 100 * system->templates,
                                  run->options.template_rule);
    if (system->walks > 0)
        at += (size_t)snprintf(run->what + at, size - at, " with walks");
    if (system->annealing >= 0)
        at += (size_t)inmo_format(run->what + at, size - at, ", annealing %g", system->annealing);
    if (system->dropout >= 0)
        at += (size_t)inmo_format(run->what + at, size - at, ", dropout %g", system->dropout);
    if (system->self_weight >= 0)
        at += (size_t)inmo_format(run->what + at, size - at, ", beta %g", system->self_weight);
    snprintf(run->what + at, size - at, ", %s, seed %" PRIu64, scenario_words(run->trained), run->seed);
}

/* Settings that differ from neutral, keys in order. So a run keeps its identity when the program gets a new
 * option. */
static char *settings_that_count(const struct inmo_train_options *options)
{
    struct inmo_train_options plain;
    size_t count;
    const struct inmo_setting *settings = inmo_train_settings(&count);
    char *json[2] = {NULL, NULL}, *text = NULL, *kept = NULL;
    json_t *chosen, *neutral, *value;
    const char *key;
    void *next;
    inmo_recipe_plain(&plain, inmo_model_kind_find(options->model));
    json[0] = inmo_settings_json(settings, inmo_train_settings_of_model(), options);
    json[1] = inmo_settings_json(settings, inmo_train_settings_of_model(), &plain);
    chosen = json[0] ? json_loads(json[0], 0, NULL) : NULL;
    neutral = json[1] ? json_loads(json[1], 0, NULL) : NULL;
    json_object_del(neutral, "model");
    json_object_foreach_safe(chosen, next, key, value) if (json_equal(value, json_object_get(neutral, key)))
        json_object_del(chosen, key);
    text = chosen && neutral ? json_dumps(chosen, JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
    if (text)
        kept = inmo_copy_string(text);
    free(text);
    json_decref(neutral);
    json_decref(chosen);
    inmo_free(json[1]);
    inmo_free(json[0]);
    return kept;
}

enum inmo_status inmo_lab_run_plan(struct inmo_lab_run *run, const struct inmo_lab_data *data,
                                   const struct inmo_reproduce_options *options, struct inmo_error *error)
{
    const struct inmo_lab_system *system = &run->system;
    struct inmo_text text = {0};
    char *json = NULL;
    enum inmo_status status;
    run->recipe = system->paper_recipe && data->paper_recipe ? data->paper_recipe : options->recipe;
    status = inmo_train_options_init(&run->options, system->model, run->recipe, error);
    if (status)
        return status;
    run->options.seed = run->seed;
    if (options->epochs > 0)
        run->options.epochs = options->epochs;
    run->options.max_seconds = options->max_seconds;
    run->options.refit = "none"; /* as in the paper's protocol */
    /* the paper's methods have nothing beside their vectors, whatever the recipe */
    run->options.walks = system->walks;
    run->options.links = run->options.prior = 0;
    if (options->storage && inmo_model_kind_find(system->model)->backbone == &inmo_backbone_lightgcn)
        run->options.storage = options->storage;
    if (system->templates > 0)
        run->options.user_templates = run->options.item_templates = system->templates;
    if (system->rule)
        run->options.template_rule = system->rule;
    if (system->annealing >= 0)
        run->options.annealing = system->annealing;
    if (system->dropout >= 0)
        run->options.dropout = system->dropout;
    if (system->self_weight >= 0)
        run->options.self_weight = system->self_weight;
    json = settings_that_count(&run->options);
    inmo_text_format(&text,
                     "{\"inmo.run\": %d, \"data\": \"%016" PRIx64 "\", \"scenario\": \"%s\", \"seed\": %" PRIu64
                     ", \"max-seconds\": ",
                     LAYOUT, data->hash, inmo_scenario_name(run->trained), run->seed);
    inmo_text_number(&text, options->max_seconds, 17);
    if (inmo_lab_run_judges_unseen(run))
        inmo_text_format(&text, ", \"unseen\": %d", UNSEEN);
    /* The default stays unsaid, so that runs from before there was a choice are found. */
    if (inmo_lab_run_judges_unseen(run) && data->new_choice && strcmp(data->new_choice, "random") != 0)
        inmo_text_format(&text, ", \"new-choice\": \"%s\"", data->new_choice);
    if (system->templates > 0 && system->templates < 1)
        inmo_text_format(&text, ", \"templates\": %d", TEMPLATES);
    inmo_text_add(&text, ", \"settings\": ", 14);
    if (json)
        inmo_text_add(&text, json, strlen(json));
    inmo_text_add(&text, "}", 1);
    run->identity = inmo_text_take(&text);
    if (!json || !run->identity)
        status = inmo_fail_memory(error, "a run");
    else
        snprintf(run->name, sizeof run->name, "%016llx",
                 (unsigned long long)XXH3_64bits(run->identity, strlen(run->identity)));
    inmo_free(json);
    describe(run);
    return status;
}
