/* sampler.c - see sampler.h. */
#include "loss/sampler.h"

#include "base/memory.h"
#include "base/random.h"

/* Looking up a column in a row's list misses the cache. A small bitmap of hashes avoids most of these lookups. */
static uint64_t hash_of(const struct inmo_sampler *sampler, int32_t row, int32_t column)
{
    uint64_t pair = (uint64_t)(uint32_t)row << 32 | (uint32_t)column;
    return (pair * 0x9e3779b97f4a7c15u ^ pair >> 29) * 0xd6e8feb86659fd93u >> (64 - sampler->bits);
}

static enum inmo_status note_interactions(struct inmo_sampler *sampler, struct inmo_error *error)
{
    enum { BITS_EACH = 4 }; /* at most one column in five is looked up in vain */
    const struct inmo_csr *list = &sampler->list;
    for (sampler->bits = 6; 1ll << sampler->bits < BITS_EACH * inmo_csr_count(list);)
        sampler->bits++;
    sampler->seen = inmo_alloc_zero((size_t)1 << (sampler->bits - 6), sizeof *sampler->seen);
    if (!sampler->seen)
        return inmo_fail_memory(error, "the sampler");
    for (int32_t r = 0; r < list->rows; r++)
        for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++) {
            uint64_t hash = hash_of(sampler, r, list->column[e]);
            sampler->seen[hash >> 6] |= 1ull << (hash & 63);
        }
    return INMO_OK;
}

static int is_eligible(const struct inmo_csr *list, int32_t row)
{
    int64_t degree = inmo_csr_degree(list, row);
    return degree > 0 && degree < list->columns;
}

enum inmo_status inmo_sampler_check(const struct inmo_csr *list, struct inmo_error *error)
{
    for (int32_t r = 0; r < list->rows; r++)
        if (is_eligible(list, r))
            return INMO_OK;
    return inmo_fail(error, INMO_INPUT,
                     "nothing to learn from: no user has both an item and an item not interacted with");
}

enum inmo_status inmo_sampler_make(const struct inmo_csr *list, struct inmo_sampler *sampler,
                                   struct inmo_error *error)
{
    int32_t count = 0;
    int32_t *eligible = NULL;
    enum inmo_status status = inmo_sampler_check(list, error);
    if (status)
        return status;
    eligible = inmo_alloc((size_t)list->rows, sizeof *eligible);
    if (!eligible)
        return inmo_fail_memory(error, "the sampler");
    for (int32_t r = 0; r < list->rows; r++)
        if (is_eligible(list, r))
            eligible[count++] = r;
    *sampler = (struct inmo_sampler){.list = *list, .eligible = eligible, .count = count};
    status = note_interactions(sampler, error);
    if (status)
        inmo_sampler_free(sampler);
    return status;
}

void inmo_sampler_free(struct inmo_sampler *sampler)
{
    inmo_free(sampler->seen);
    inmo_free(sampler->eligible);
    *sampler = (struct inmo_sampler){0};
}

static int32_t draw_column(const struct inmo_sampler *sampler, uint64_t base, uint64_t draw)
{
    return (int32_t)inmo_random_below(inmo_random(base, draw), (uint32_t)sampler->list.columns);
}

/* Runs several passes over a few triples at a time, so that their cache misses overlap. */
void inmo_sampler_draw(const struct inmo_sampler *sampler, uint64_t key, int64_t first, int32_t count, int32_t *row,
                       int32_t *positive, int32_t *negative)
{
    enum { PASS = 64 };
    const struct inmo_csr *list = &sampler->list;
    for (int32_t begin = 0; begin < count; begin += PASS) {
        int32_t here = count - begin < PASS ? count - begin : PASS;
        uint64_t base[PASS];
        uint64_t hash[PASS];
        int64_t at[PASS];
        for (int32_t n = 0; n < here; n++) {
            base[n] = inmo_random(key, (uint64_t)(first + begin + n));
            row[begin + n] =
                sampler->eligible[inmo_random_below(inmo_random(base[n], 0), (uint32_t)sampler->count)];
        }
        for (int32_t n = 0; n < here; n++) {
            uint32_t degree = (uint32_t)inmo_csr_degree(list, row[begin + n]);
            at[n] = list->offset[row[begin + n]] + inmo_random_below(inmo_random(base[n], 1), degree);
            __builtin_prefetch(list->column + at[n]);
        }
        for (int32_t n = 0; n < here; n++)
            positive[begin + n] = list->column[at[n]];
        for (int32_t n = 0; negative && n < here; n++) {
            negative[begin + n] = draw_column(sampler, base[n], 2);
            hash[n] = hash_of(sampler, row[begin + n], negative[begin + n]);
            __builtin_prefetch(sampler->seen + (hash[n] >> 6));
        }
        for (int32_t n = 0; negative && n < here; n++)
            if (sampler->seen[hash[n] >> 6] >> (hash[n] & 63) & 1)
                for (uint64_t draw = 3; inmo_csr_has(list, row[begin + n], negative[begin + n]); draw++)
                    negative[begin + n] = draw_column(sampler, base[n], draw);
    }
}

/* Likewise: draws them all, then checks the bitmap for all. */
void inmo_sampler_draw_negatives(const struct inmo_sampler *sampler, uint64_t key, int64_t first, int32_t count,
                                 int32_t each, const int32_t *row, int32_t *negative)
{
    enum { PASS = 64 };
    for (int64_t begin = 0, end = (int64_t)count * each; begin < end; begin += PASS) {
        int32_t here = end - begin < PASS ? (int32_t)(end - begin) : PASS;
        uint64_t base[PASS], hash[PASS];
        for (int32_t n = 0; n < here; n++) {
            base[n] = inmo_random(key, (uint64_t)(first * each + begin + n));
            negative[begin + n] = draw_column(sampler, base[n], 0);
            hash[n] = hash_of(sampler, row[(begin + n) / each], negative[begin + n]);
            __builtin_prefetch(sampler->seen + (hash[n] >> 6));
        }
        for (int32_t n = 0; n < here; n++)
            if (sampler->seen[hash[n] >> 6] >> (hash[n] & 63) & 1)
                for (uint64_t draw = 1; inmo_csr_has(&sampler->list, row[(begin + n) / each], negative[begin + n]);
                     draw++)
                    negative[begin + n] = draw_column(sampler, base[n], draw);
    }
}
