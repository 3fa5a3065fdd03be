/* pairwise.c - see pairwise.h. */
#include "train/pairwise.h"

#include "base/threads.h"

#include <omp.h>

enum { CHUNK = INMO_LAZY_CHUNK };
_Static_assert((int)CHUNK >= (int)INMO_TRIPLES_CHUNK, "triples->term has room for a term of each chunk");

/* Rows of one kind, in chunks; thread n % threads always handles chunk n. */
struct span {
    int32_t first, end, chunks;
};

static struct span span_of(int32_t first, int32_t end)
{
    return (struct span){first, end, (end - first + CHUNK - 1) / CHUNK};
}

/* Empty if there is no such chunk. */
static struct inmo_chunk chunk_of(const struct inmo_rows *rows, struct span span, int32_t chunk)
{
    int32_t first = span.first + chunk * CHUNK, left = span.end - first;
    if (chunk < 0 || chunk >= span.chunks)
        return (struct inmo_chunk){0, NULL};
    return (struct inmo_chunk){left < CHUNK ? left : CHUNK, rows->node + first};
}

/* Computes gradients and applies Adam. Returns what l2 adds to the loss. */
static double write_chunk(const struct inmo_triples *triples, const struct inmo_grouping *grouping, int32_t first,
                          int32_t count, struct inmo_chunk next, struct inmo_adam adam, struct inmo_lazy *lazy)
{
    int32_t offset[CHUNK + 1];
    struct inmo_terms gradient = inmo_triples_terms(triples, grouping, first, count, offset);
    inmo_lazy_write_sums(lazy, adam, &grouping->rows, first, count, next, &gradient);
    return inmo_triples_square_norms(triples, grouping, first, count);
}

double inmo_pairwise_step(const struct inmo_triples *triples, const struct inmo_grouping *grouping, int32_t users,
                          struct inmo_lazy *lazy, double learning_rate)
{
    const struct inmo_rows *rows = &grouping->rows;
    struct inmo_adam adam = inmo_adam_at(learning_rate, lazy->now + 1);
    struct span user, item;
    double loss = 0;
    int32_t split = inmo_grouping_below(grouping, users); /* the first item */
    user = span_of(0, split);
    item = span_of(split, rows->count);
#pragma omp parallel num_threads(inmo_threads())
    {
        int32_t thread = omp_get_thread_num(), threads = omp_get_num_threads(), chunk;
        int32_t last = item.chunks > thread ? item.chunks - 1 - (item.chunks - 1 - thread) % threads : -1;
        for (chunk = thread; chunk < item.chunks; chunk += threads) {
            struct inmo_chunk here = chunk_of(rows, item, chunk);
            struct inmo_chunk next =
                chunk < last ? chunk_of(rows, item, chunk + threads) : chunk_of(rows, user, thread);
            inmo_lazy_read_chunk(lazy, rows, item.first + chunk * CHUNK, here.count, next);
        }
#pragma omp barrier
        for (chunk = thread; chunk < user.chunks; chunk += threads) {
            struct inmo_chunk here = chunk_of(rows, user, chunk), next = chunk_of(rows, user, chunk + threads);
            int32_t first = user.first + chunk * CHUNK;
            inmo_lazy_read_chunk(lazy, rows, first, here.count, (struct inmo_chunk){0});
            triples->term[chunk] = inmo_triples_forward_rows(triples, grouping, first, here.count);
            triples->term[chunk] += write_chunk(triples, grouping, first, here.count,
                                                next.count > 0 ? next : chunk_of(rows, item, last), adam, lazy);
        }
#pragma omp barrier
        for (chunk = last; chunk >= 0; chunk -= threads) {
            struct inmo_chunk here = chunk_of(rows, item, chunk), next = chunk_of(rows, item, chunk - threads);
            triples->term[user.chunks + chunk] =
                write_chunk(triples, grouping, item.first + chunk * CHUNK, here.count, next, adam, lazy);
        }
    }
    for (int32_t chunk = 0; chunk < user.chunks + item.chunks; chunk++)
        loss += triples->term[chunk];
    inmo_lazy_written(lazy, learning_rate);
    return loss;
}
