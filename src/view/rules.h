/* rules.h - what a query says about popularity, diversity and categories, resolved to the view's item numbers. */
#ifndef INMO_VIEW_RULES_H
#define INMO_VIEW_RULES_H

#include "score/rerank.h"
#include "view/work.h"

enum { INMO_QUOTAS_MOST = 8 };

struct inmo_rules {
    struct inmo_rerank rerank; /* without vectors, which are the snapshot's */
    struct inmo_quota quota[INMO_QUOTAS_MOST];
    int candidates;
    float *factor;
    int32_t *allow;  // (allow_count) items that --where leaves, ascending
    int32_t allow_count;
    int limited; /* only these may be listed */
};

/* Whether lists are chosen again from more candidates. */
static inline int inmo_rules_rerank(const struct inmo_rules *rules)
{
    return rules && (rules->rerank.diversity > 0 || rules->factor || rules->rerank.quotas > 0);
}
/* How many items to rank for a list of k. */
int32_t inmo_rules_candidates(const struct inmo_rules *rules, int32_t k);
/* Closes the items that may not be listed; closed: (items) of a snapshot. */
void inmo_rules_close(const struct inmo_rules *rules, int32_t items, uint8_t *closed);
/* Chooses k of each of the lists (lists, candidates), in parallel; a shorter list ends with -1. Errors: MEMORY. */
enum inmo_status inmo_rules_rerank_lists(const struct inmo_rules *rules, const struct inmo_snapshot *snapshot,
                                         int32_t lists, int32_t candidates, int32_t k, int32_t *item, float *score,
                                         struct inmo_error *error);
/* The rules on the vectors of a snapshot. */
struct inmo_rerank inmo_rules_on(const struct inmo_rules *rules, const struct inmo_snapshot *snapshot);

#endif
