/* sampler.c - see sampler.h. */
#include "train/sampler.h"

#include "base/memory.h"
#include "base/random.h"

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

/* In passes over a few triples at a time, so that what one waits for from memory is waited for by all together. */
void inmo_sampler_draw(const struct inmo_sampler *sampler, uint64_t key, int64_t first, int32_t count, int32_t *row,
                       int32_t *positive, int32_t *negative)
{
    enum { PASS = 64 };
    const struct inmo_csr *list = &sampler->list;
    for (int32_t begin = 0; begin < count; begin += PASS) {
        int32_t here = count - begin < PASS ? count - begin : PASS;
        uint64_t base[PASS];
        int64_t at[PASS];
        for (int32_t n = 0; n < here; n++) {
            base[n] = inmo_random(key, (uint64_t)(first + begin + n));
            row[begin + n] = sampler->eligible[inmo_random_below(inmo_random(base[n], 0), (uint32_t)sampler->count)];
        }
        for (int32_t n = 0; n < here; n++) {
            uint32_t degree = (uint32_t)inmo_csr_degree(list, row[begin + n]);
            at[n] = list->offset[row[begin + n]] + inmo_random_below(inmo_random(base[n], 1), degree);
            __builtin_prefetch(list->column + at[n]);
        }
        for (int32_t n = 0; n < here; n++)
            positive[begin + n] = list->column[at[n]];
        for (int32_t n = 0; negative && n < here; n++) {
            uint64_t draw = 2;
            do
                negative[begin + n] =
                    (int32_t)inmo_random_below(inmo_random(base[n], draw++), (uint32_t)list->columns);
            while (inmo_csr_has(list, row[begin + n], negative[begin + n]));
        }
    }
}
