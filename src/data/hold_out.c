/* hold_out.c - see hold_out.h. Linear in the interactions, single-threaded: the same at any number of threads. */
#include "data/hold_out.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

static int64_t longest_row(const struct inmo_csr *list)
{
    int64_t longest = 0;
    for (int32_t u = 0; u < list->rows; u++)
        longest = inmo_csr_degree(list, u) > longest ? inmo_csr_degree(list, u) : longest;
    return longest;
}

/* How many of a user's n interactions are moved. */
static int64_t moved_of(int64_t n, double share, uint64_t base)
{
    double wanted = floor(share * (double)n + inmo_random_unit(inmo_random(base, 0)));
    return wanted < (double)(n - 1) ? (int64_t)wanted : n - 1;
}

/* Marks the positions of a row that are moved. order is scratch of the same length. */
static void mark_moved(uint8_t *is_moved, int32_t *order, int64_t n, int64_t moved, uint64_t base)
{
    memset(is_moved, 0, (size_t)n);
    for (int64_t j = 0; j < n; j++)
        order[j] = (int32_t)j;
    for (int64_t j = n - 1; j >= n - moved; j--) { /* the shuffle, as far as the places that count */
        uint32_t k = inmo_random_below(inmo_random(base, (uint64_t)j), (uint32_t)j + 1);
        int32_t kept = order[j];
        order[j] = order[k];
        order[k] = kept;
        is_moved[order[j]] = 1;
    }
}

static int make_list(const struct inmo_csr *like, int64_t count, int weighted, struct inmo_csr *list)
{
    return inmo_csr_make(like->rows, like->columns, count, weighted, list);
}

/* Entry e of a list becomes entry `at` of another. */
static void put(const struct inmo_csr *from, int64_t e, struct inmo_csr *to, int64_t at)
{
    ((int32_t *)to->column)[at] = from->column[e];
    if (to->weight)
        ((float *)to->weight)[at] = from->weight ? from->weight[e] : 1;
}

void inmo_dataset_drop_parts(struct inmo_dataset *made)
{
    inmo_csr_free(&made->valid);
    inmo_csr_free(&made->train);
}

enum inmo_status inmo_dataset_hold_out(const struct inmo_dataset *data, double share, uint64_t seed,
                                       struct inmo_dataset *held, struct inmo_error *error)
{
    const struct inmo_csr *from = &data->train;
    struct inmo_csr train = {0}, valid = {0};
    uint64_t key = inmo_key(seed, INMO_STREAM_HOLD_OUT);
    size_t longest = (size_t)longest_row(from);
    uint8_t *is_moved = inmo_alloc(longest, sizeof *is_moved);
    int32_t *order = inmo_alloc(longest, sizeof *order);
    enum inmo_status status = INMO_OK;
    if (!is_moved || !order || make_list(from, inmo_csr_count(from), from->weight != NULL, &train) ||
        make_list(from, inmo_csr_count(from), from->weight != NULL, &valid)) {
        status = inmo_fail_memory(error, "holding out");
        inmo_csr_free(&valid);
        inmo_csr_free(&train);
    }
    for (int32_t u = 0; u < from->rows && !status; u++) {
        int64_t n = inmo_csr_degree(from, u), stays = train.offset[u], goes = valid.offset[u];
        uint64_t base = inmo_random(key, (uint64_t)u);
        if (n > 0)
            mark_moved(is_moved, order, n, moved_of(n, share, base), base);
        for (int64_t j = 0; j < n; j++) {
            if (is_moved[j])
                put(from, from->offset[u] + j, &valid, goes++);
            else
                put(from, from->offset[u] + j, &train, stays++);
        }
        ((int64_t *)train.offset)[u + 1] = stays;
        ((int64_t *)valid.offset)[u + 1] = goes;
    }
    if (!status) {
        *held = *data;
        held->train = train;
        held->valid = valid;
    }
    inmo_free(order);
    inmo_free(is_moved);
    return status;
}

enum inmo_status inmo_dataset_join(const struct inmo_dataset *data, struct inmo_dataset *joined,
                                   struct inmo_error *error)
{
    const struct inmo_csr *a = &data->train, *b = &data->valid;
    struct inmo_csr train = {0};
    int64_t at = 0;
    if (make_list(a, inmo_csr_count(a) + inmo_csr_count(b), a->weight || b->weight, &train)) {
        inmo_csr_free(&train);
        return inmo_fail_memory(error, "joining training and validation");
    }
    for (int32_t u = 0; u < a->rows; u++) {
        int64_t i = a->offset[u], j = inmo_csr_count(b) > 0 ? b->offset[u] : 0;
        int64_t end_i = a->offset[u + 1], end_j = j + inmo_csr_degree(b, u);
        while (i < end_i || j < end_j)
            if (j == end_j || (i < end_i && a->column[i] < b->column[j]))
                put(a, i++, &train, at++);
            else
                put(b, j++, &train, at++);
        ((int64_t *)train.offset)[u + 1] = at;
    }
    *joined = *data;
    joined->train = train;
    joined->valid = (struct inmo_csr){.rows = a->rows, .columns = a->columns};
    return INMO_OK;
}
