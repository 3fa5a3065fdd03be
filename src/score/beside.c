/* beside.c - see beside.h. */
#include "score/beside.h"

#include <math.h>

void inmo_beside_free(struct inmo_beside *beside)
{
    inmo_walks_free(beside->walks);
    inmo_links_free(beside->links);
    inmo_prior_free(beside->prior);
    *beside = (struct inmo_beside){0};
}

enum inmo_status inmo_beside_complete(const struct inmo_beside *beside, const struct inmo_hooks *hooks,
                                      struct inmo_error *error)
{
    return beside->walks ? inmo_walks_complete(beside->walks, hooks, error) : INMO_OK;
}

void inmo_beside_need(const struct inmo_beside *beside, const int32_t *node, int32_t count, int32_t first,
                      struct inmo_sums *sums)
{
    if (beside->walks)
        inmo_walks_need(beside->walks, node, count, first, sums);
}

int64_t inmo_beside_most(const struct inmo_beside *beside, const int32_t *node, int32_t count, int32_t first)
{
    int64_t most = 0;
    if (beside->walks)
        most += inmo_walks_most(beside->walks, count);
    if (beside->links)
        most += inmo_links_most(beside->links, node, count, first);
    if (beside->prior)
        most += beside->prior->count;
    return most < beside->graph->items ? most : beside->graph->items;
}

int32_t inmo_beside_collect(const struct inmo_beside *beside, const int32_t *node, const float *share,
                            int32_t count, int32_t first, struct inmo_sums *sums, int32_t *item, float *value)
{
    if (beside->walks)
        inmo_walks_add(beside->walks, node, share, count, first, sums);
    if (beside->links)
        inmo_links_add(beside->links, node, share, count, first, sums);
    if (beside->prior)
        inmo_prior_add(beside->prior, sums);
    return inmo_sums_collect(sums, item, value);
}

double inmo_beside_between(const struct inmo_beside *beside, int32_t j, float share, int32_t i)
{
    return (beside->walks ? (double)share * inmo_walks_between(beside->walks, j, i) : 0) +
           (beside->links ? sqrt((double)share) * inmo_links_between(beside->links, j, i) : 0);
}

double inmo_beside_always(const struct inmo_beside *beside, int32_t i)
{
    return beside->prior ? inmo_prior_of(beside->prior, i) : 0;
}
