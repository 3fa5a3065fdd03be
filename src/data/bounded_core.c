/* bounded_core.c - the k-core and the numbers of users and items, with the interactions on a tape; see bounded.h.
 *
 * The k-core in passes: an interaction of somebody who is gone is left out of the next tape and counts no more for
 * the other side, who may be gone by that. As soon as what is left fits into memory, rows.c finishes it by peeling,
 * so long chains cost no pass each. */
#include "base/memory.h"
#include "data/bounded.h"

static enum inmo_status read_all(const struct inmo_bounded *b, const struct inmo_tape *tape,
                                 struct inmo_tape_reader *reader, struct inmo_error *error)
{
    return inmo_tape_read(reader, tape, 0, inmo_tape_size(tape), inmo_spill_buffer(b->memory) / 24 * 24, error);
}

static int drop_one(int32_t *degree, uint8_t *gone, int64_t node, int k)
{
    if (!gone[node] && --degree[node] < k)
        gone[node] = 1;
    return gone[node];
}

/* One pass. *left: interactions on the new tape. */
static enum inmo_status pass(struct inmo_bounded *b, struct inmo_tape *edges, int words, int32_t *degree,
                             uint8_t *gone, int64_t *left, struct inmo_error *error)
{
    size_t size = (size_t)words * sizeof(uint64_t);
    struct inmo_tape fewer = INMO_NO_TAPE;
    struct inmo_tape_reader reader = {0};
    enum inmo_status status = inmo_tape_open(&fewer, &b->spill->scratch, inmo_spill_buffer(b->memory), error);
    if (status == INMO_OK)
        status = read_all(b, edges, &reader, error);
    while (status == INMO_OK) {
        const void *data;
        uint64_t key;
        int64_t u, i;
        status = inmo_tape_next(&reader, size, &data, error);
        if (status != INMO_OK || !data)
            break;
        memcpy(&key, data, sizeof key);
        u = inmo_sort_first(key);
        i = (int64_t)b->users + inmo_sort_second(key);
        if (gone[u] || gone[i]) {
            drop_one(degree, gone, u, b->p.options.k_core);
            drop_one(degree, gone, i, b->p.options.k_core);
        } else {
            status = inmo_tape_add(&fewer, data, size, error);
        }
    }
    inmo_tape_read_end(&reader);
    if (status == INMO_OK)
        status = inmo_tape_end(&fewer, error);
    if (status == INMO_OK) {
        *left = inmo_tape_size(&fewer) / (int64_t)size;
        inmo_tape_close(edges);
        *edges = fewer;
    } else {
        inmo_tape_close(&fewer);
    }
    return status;
}

/* The rest in memory. */
static enum inmo_status peel(struct inmo_bounded *b, const struct inmo_tape *edges, int words, uint8_t *gone,
                             int64_t *left, struct inmo_error *error)
{
    size_t size = (size_t)words * sizeof(uint64_t), nodes = (size_t)b->users + (size_t)b->items;
    struct inmo_rows rows = {.users = b->users, .items = b->items};
    struct inmo_tape_reader reader = {0};
    int64_t count = 0, removed;
    int32_t row = 0;
    enum inmo_status status = read_all(b, edges, &reader, error);
    rows.offset = inmo_alloc_zero((size_t)b->users + 1, sizeof *rows.offset);
    rows.item = inmo_alloc((size_t)*left, sizeof *rows.item);
    if (status == INMO_OK && (!rows.offset || !rows.item))
        status = inmo_fail_memory(error, "the k-core");
    while (status == INMO_OK) {
        const void *data;
        uint64_t key;
        status = inmo_tape_next(&reader, size, &data, error);
        if (status != INMO_OK || !data)
            break;
        memcpy(&key, data, sizeof key);
        while (row < inmo_sort_first(key))
            rows.offset[++row] = count;
        rows.item[count++] = inmo_sort_second(key);
    }
    while (status == INMO_OK && row < b->users)
        rows.offset[++row] = count;
    if (status == INMO_OK)
        status = inmo_rows_core(&rows, b->p.options.k_core, &removed, error);
    if (status == INMO_OK) {
        memset(gone, 1, nodes);
        for (int32_t u = 0; u < b->users; u++) {
            gone[u] = rows.offset[u] == rows.offset[u + 1];
            for (int64_t e = rows.offset[u]; e < rows.offset[u + 1]; e++)
                gone[(size_t)b->users + (size_t)rows.item[e]] = 0;
        }
        *left = rows.offset[b->users];
    }
    inmo_rows_free(&rows);
    inmo_tape_read_end(&reader);
    return status;
}

enum inmo_status inmo_bounded_core(struct inmo_bounded *b, struct inmo_tape *edges, int words, int32_t *degree,
                                   uint8_t *gone, struct inmo_error *error)
{
    size_t nodes = (size_t)b->users + (size_t)b->items;
    int k = b->p.options.k_core > 1 ? b->p.options.k_core : 1;
    int64_t left = b->merged, before = left + 1;
    enum inmo_status status = INMO_OK;
    for (size_t v = 0; v < nodes; v++)
        gone[v] = degree[v] < k;
    while (k > 1 && status == INMO_OK && left < before) {
        before = left;
        /* 22 bytes a node: offsets, degrees, queue, flags of rows.c, beside the degrees and flags here. */
        if (8 * (uint64_t)left <= inmo_bounded_room(b, 27)) {
            status = peel(b, edges, words, gone, &left, error);
            break;
        }
        status = pass(b, edges, words, degree, gone, &left, error);
        inmo_bounded_report(b, "k-core", b->merged - left, b->merged);
    }
    b->kept = left;
    b->p.below_core = b->merged - left;
    return status;
}

enum { WAITING = -1, DROPPED = -2 };

enum inmo_status inmo_bounded_number(struct inmo_bounded *b, const uint8_t *gone, struct inmo_error *error)
{
    size_t size = (size_t)b->spill->words * sizeof(uint64_t);
    struct inmo_tape_reader reader = {0};
    enum inmo_status status = INMO_OK;
    b->count[0] = b->count[1] = 0;
    for (int s = 0; s < 2; s++) {
        int32_t ids = s ? b->items : b->users;
        const uint8_t *flag = gone ? gone + (s ? b->users : 0) : NULL;
        b->number[s] = inmo_alloc((size_t)ids, sizeof *b->number[s]);
        for (int32_t n = 0; b->number[s] && n < ids; n++)
            b->number[s][n] = flag && flag[n] ? DROPPED : WAITING;
    }
    if (!b->number[0] || !b->number[1])
        status = inmo_fail_memory(error, "numbering users and items");
    if (status == INMO_OK)
        status = read_all(b, &b->spill->lines, &reader, error);
    while (status == INMO_OK) {
        const void *data;
        uint64_t key;
        int32_t *u, *i;
        status = inmo_tape_next(&reader, size, &data, error);
        if (status != INMO_OK || !data)
            break;
        memcpy(&key, data, sizeof key);
        u = &b->number[0][inmo_sort_first(key)];
        i = &b->number[1][inmo_sort_second(key)];
        if (*u == DROPPED || *i == DROPPED)
            continue;
        if (*u == WAITING)
            *u = b->count[0]++;
        if (*i == WAITING)
            *i = b->count[1]++;
    }
    inmo_tape_read_end(&reader);
    return status;
}

enum inmo_status inmo_bounded_see(struct inmo_bounded *b, struct inmo_error *error)
{
    /* A k-core says who stays: those it removes are not brought back by what they saw. */
    int with_extras = b->p.options.k_core <= 1;
    struct inmo_tape_reader reader = {0};
    enum inmo_status status = inmo_sorter_make(&b->seen, &b->spill->scratch, 1, inmo_bounded_room(b, 8), error);
    if (status == INMO_OK)
        status = read_all(b, &b->spill->seen, &reader, error);
    while (status == INMO_OK) {
        const void *data;
        uint64_t key;
        int32_t *number[2];
        status = inmo_tape_next(&reader, sizeof key, &data, error);
        if (status != INMO_OK || !data)
            break;
        memcpy(&key, data, sizeof key);
        number[0] = &b->number[0][inmo_sort_first(key)];
        number[1] = &b->number[1][inmo_sort_second(key)];
        for (int s = 0; s < 2 && with_extras; s++)
            if (*number[s] < 0)
                *number[s] = b->count[s] + b->extras[s]++;
        key = inmo_sort_key(*number[0], *number[1], 0);
        if (*number[0] >= 0 && *number[1] >= 0)
            status = inmo_sorter_add(&b->seen, &key, error);
    }
    inmo_tape_read_end(&reader);
    if (status == INMO_OK)
        status = inmo_sorter_end(&b->seen, b->memory / 32, b->memory / 16, error);
    return status;
}
