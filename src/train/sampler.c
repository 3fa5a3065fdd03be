/* sampler.c - see sampler.h. Parallel and deterministic, as no triple depends on another. */
#include "train/sampler.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"

enum inmo_status inmo_sampler_make(const struct inmo_csr *list, struct inmo_sampler *sampler, struct inmo_error *error)
{
    int32_t count = 0;
    int32_t *eligible = inmo_alloc((size_t)list->rows, sizeof *eligible);
    if (!eligible)
        return inmo_fail_memory(error, "the sampler");
    for (int32_t r = 0; r < list->rows; r++) {
        int64_t degree = inmo_csr_degree(list, r);
        if (degree > 0 && degree < list->columns)
            eligible[count++] = r;
    }
    if (count == 0) {
        inmo_free(eligible);
        return inmo_fail(error, INMO_INPUT,
                         "nothing to learn from: no user has both an item and an item not interacted with");
    }
    *sampler = (struct inmo_sampler){*list, eligible, count};
    return INMO_OK;
}

void inmo_sampler_free(struct inmo_sampler *sampler)
{
    inmo_free(sampler->eligible);
    *sampler = (struct inmo_sampler){0};
}

void inmo_sampler_draw(const struct inmo_sampler *sampler, uint64_t key, int64_t first, int32_t count, int32_t *row,
                       int32_t *positive, int32_t *negative)
{
    const struct inmo_csr *list = &sampler->list;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t b = 0; b < count; b++) {
        uint64_t base = inmo_random(key, (uint64_t)(first + b)), draw = 2;
        int32_t r = sampler->eligible[inmo_random_below(inmo_random(base, 0), (uint32_t)sampler->count)], j;
        int64_t start = list->offset[r];
        row[b] = r;
        positive[b] = list->column[start + inmo_random_below(inmo_random(base, 1), (uint32_t)inmo_csr_degree(list, r))];
        if (!negative)
            continue;
        do
            j = (int32_t)inmo_random_below(inmo_random(base, draw++), (uint32_t)list->columns);
        while (inmo_csr_has(list, r, j));
        negative[b] = j;
    }
}
