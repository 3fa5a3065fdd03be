/* prior.c - see prior.h. */
#include "score/prior.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

struct popular {
    double strength;
    int32_t item;
};

static int by_strength(const void *a, const void *b)
{
    const struct popular *x = a, *y = b;
    if (x->strength != y->strength)
        return x->strength > y->strength ? -1 : 1;
    return x->item < y->item ? -1 : 1;
}

static int by_item(const void *a, const void *b)
{
    const struct popular *x = a, *y = b;
    return x->item < y->item ? -1 : 1;
}

void inmo_prior_free(struct inmo_prior *prior)
{
    if (!prior)
        return;
    inmo_free(prior->value);
    inmo_free(prior->item);
    inmo_free(prior);
}

enum inmo_status inmo_prior_make(const struct inmo_graph *graph, double factor, struct inmo_prior **out,
                                 struct inmo_error *error)
{
    struct popular *popular = inmo_alloc((size_t)graph->items, sizeof *popular);
    struct inmo_prior *prior = inmo_alloc_zero(1, sizeof *prior);
    int32_t most = graph->items < INMO_PRIOR_ITEMS ? graph->items : INMO_PRIOR_ITEMS;
    double left_out = 0;
    enum inmo_status status = INMO_OK;
    if (prior) {
        prior->item = inmo_alloc((size_t)most, sizeof *prior->item);
        prior->value = inmo_alloc((size_t)most, sizeof *prior->value);
    }
    if (!popular || !prior || !prior->item || !prior->value) {
        status = inmo_fail_memory(error, "the popularity of items");
        goto done;
    }
    for (int32_t i = 0; i < graph->items; i++)
        popular[i] = (struct popular){inmo_graph_strength(graph, graph->users + i), i};
    qsort(popular, (size_t)graph->items, sizeof *popular, by_strength);
    if (most < graph->items)
        left_out = popular[most].strength;
    while (most > 0 && popular[most - 1].strength <= left_out) /* as popular as what is left out: p would be 0 */
        most--;
    qsort(popular, (size_t)most, sizeof *popular, by_item);
    for (int32_t n = 0; n < most; n++) {
        prior->item[n] = popular[n].item;
        prior->value[n] = (float)(log1p(popular[n].strength) - log1p(left_out));
    }
    prior->count = most;
    prior->factor = (float)factor;
    *out = prior;
    prior = NULL;
done:
    inmo_prior_free(prior);
    inmo_free(popular);
    return status;
}

void inmo_prior_add(const struct inmo_prior *prior, struct inmo_sums *sums)
{
    for (int32_t n = 0; n < prior->count; n++)
        inmo_sums_add(sums, prior->item[n], prior->factor * prior->value[n]);
}

double inmo_prior_of(const struct inmo_prior *prior, int32_t i)
{
    int32_t begin = 0, end = prior->count;
    while (begin < end) {
        int32_t middle = begin + (end - begin) / 2;
        if (prior->item[middle] < i)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < prior->count && prior->item[begin] == i ? (double)(prior->factor * prior->value[begin]) : 0;
}
