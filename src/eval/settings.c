/* settings.c - see settings.h. */
#include "eval/settings.h"

#include "base/setting.h"
#include "model/links.h"

#include <stdlib.h>

enum { MOST_K = 10000 };

void inmo_eval_options_init_sized(struct inmo_eval_options *options, size_t size)
{
    const struct inmo_eval_options defaults = {.part = "test", .ks = "20", .walks = -1, .links = -1, .prior = -1};
    inmo_sized_fill(options, size, &defaults, sizeof defaults);
}

const struct inmo_setting *inmo_eval_settings(size_t *count)
{
    static const struct inmo_setting table[] = {
        {"part", 's', offsetof(struct inmo_eval_options, part), 0, 0, "test|valid", "Evaluation", "PART",
         "Part to evaluate on."},
        {"k", 's', offsetof(struct inmo_eval_options, ks), 0, 0, NULL, "Evaluation", "K,K,...",
         "List lengths to evaluate."},
        {"without-new", 'b', offsetof(struct inmo_eval_options, without_new), 0, 1, NULL, "Evaluation", NULL,
         "Inductive scenarios: do not observe what came after training."},
        {"eval-alpha", 's', offsetof(struct inmo_eval_options, eval_alpha), 0, 0, "one|reached", "Evaluation",
         "WHICH", "Normalization exponent of inmo models: 1, or that of the best epoch. Default: as trained."},
        {"walks", 'r', offsetof(struct inmo_eval_options, walks), -1, 1e6, NULL, "Evaluation", "WEIGHT",
         "Weight of short walks in a score; -1: as trained or, if neither this nor links is given and the log has "
         "grown by over 5 %, weighed again."},
        {"links", 'r', offsetof(struct inmo_eval_options, links), -1, 1e6, NULL, "Evaluation", "WEIGHT",
         "Weight of item links in a score; -1: as for walks."},
        {"prior", 'r', offsetof(struct inmo_eval_options, prior), -1, 1e6, NULL, "Evaluation", "WEIGHT",
         "Weight of an item's popularity in a score; -1: as trained."},
        {"walk-neighbours", 'i', offsetof(struct inmo_eval_options, walk_neighbours), 0, 100000, NULL, "Evaluation",
         "K", "Number of items that walks from an item lead to; 0: as trained."},
        {"allow-leaks", 'b', offsetof(struct inmo_eval_options, allow_leaks), 0, 1, NULL, "Evaluation", NULL,
         "Evaluate even on interactions that the model was trained on, which is otherwise refused."},
        {"mask-seen", 'b', offsetof(struct inmo_eval_options, mask_seen), 0, 1, NULL, "Evaluation", NULL,
         "Leave out what a user has seen but not chosen, as lists do; published figures do not."},
    };
    *count = sizeof table / sizeof *table;
    return table;
}

static enum inmo_status parse_ks(const char *text, struct inmo_list_lengths *lengths, struct inmo_error *error)
{
    const char *at = text;
    *lengths = (struct inmo_list_lengths){0};
    while (*at) {
        char *end = NULL;
        long k = strtol(at, &end, 10);
        if (end == at || (*end && (*end != ',' || !end[1])) || k < 1 || k > MOST_K ||
            lengths->count == INMO_MOST_KS)
            return inmo_fail(error, INMO_USAGE,
                             "`k`: found '%s', expected up to %d numbers from 1 to %d, like 5,10,20", text,
                             INMO_MOST_KS, MOST_K);
        lengths->k[lengths->count++] = (int)k;
        lengths->longest = k > lengths->longest ? (int)k : lengths->longest;
        at = *end ? end + 1 : end;
    }
    if (lengths->count == 0)
        return inmo_fail(error, INMO_USAGE, "`k`: found nothing, expected numbers like 5,10,20");
    return INMO_OK;
}

enum inmo_status inmo_eval_options_fill(const struct inmo_eval_options *options, struct inmo_eval_options *filled,
                                        struct inmo_list_lengths *lengths, struct inmo_error *error)
{
    struct inmo_eval_options defaults;
    size_t count;
    const struct inmo_setting *settings = inmo_eval_settings(&count);
    enum inmo_status status;
    inmo_eval_options_init(&defaults);
    options = options ? options : &defaults;
    status = inmo_sized_check(options, sizeof *options, "inmo_eval_options", error);
    if (status)
        return status;
    *filled = *options;
    filled->part = filled->part ? filled->part : defaults.part;
    filled->ks = filled->ks ? filled->ks : defaults.ks;
    status = inmo_settings_check(settings, count, filled, error);
    return status ? status : parse_ks(filled->ks, lengths, error);
}

enum inmo_status inmo_eval_weights(const struct inmo_eval_options *options, struct inmo_model *as_asked,
                                   struct inmo_error *error)
{
    if (options->walks >= 0)
        as_asked->walks = options->walks;
    if (options->walk_neighbours > 0)
        as_asked->walk_neighbours = options->walk_neighbours;
    if (options->links >= 0) {
        as_asked->links = options->links;
        if (!as_asked->linked) /* solved on the graph of the test, with the default's rule */
            as_asked->link_rule = inmo_link_rule_default(as_asked->popularity);
    }
    if (options->prior >= 0)
        as_asked->prior = options->prior;
    if ((as_asked->walks > 0 || as_asked->links > 0 || as_asked->prior > 0) &&
        !inmo_kind_takes_walks(as_asked->kind))
        return inmo_fail(error, INMO_UNSUPPORTED,
                         "`%s`: %s has no scores that are products of vectors to add them to",
                         as_asked->walks > 0   ? "walks"
                         : as_asked->links > 0 ? "links"
                                               : "prior",
                         as_asked->kind->name);
    return INMO_OK;
}
