/* stretch.c - see stretch.h. */
#include "graph/stretch.h"

struct rows {
    int32_t count;
    size_t bytes;
};

static int64_t first_byte(const void *context, int rank)
{
    const struct rows *rows = context;
    return (int64_t)((size_t)inmo_stretch_first(rows->count, rank) * rows->bytes);
}

void inmo_stretch_gather(void *rows, int32_t count, size_t bytes)
{
    struct rows all = {count, bytes};
    inmo_ranks_gather_cut(rows, first_byte, &all);
}
