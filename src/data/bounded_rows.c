/* bounded_rows.c - sorted interactions become the parts of a data set, some users at a time; see bounded.h. split.c
 * gives every row the part it would have among all of them, because its random numbers depend on the user's number
 * alone. What was seen is sorted likewise and merged with the rows, which leave out of it what was chosen. */
#include "base/memory.h"
#include "data/bounded.h"

enum { LEAST_CHUNK = 4096, MOST_CHUNK = 1 << 20 };

static enum inmo_status open_tape(struct inmo_bounded *b, struct inmo_tape *tape, struct inmo_error *error)
{
    return inmo_tape_open(tape, &b->spill->scratch, inmo_spill_buffer(b->memory), error);
}

enum inmo_status inmo_bounded_rows_begin(struct inmo_bounded *b, struct inmo_error *error)
{
    struct inmo_chunk *chunk = &b->chunk;
    enum inmo_status status = INMO_OK;
    size_t most = b->memory / 128;
    chunk->most = most < LEAST_CHUNK ? LEAST_CHUNK : most > MOST_CHUNK ? MOST_CHUNK : most;
    chunk->last = -1;
    chunk->capacity = chunk->most;
    chunk->user_capacity = chunk->most;
    chunk->rows.items = b->count[1];
    chunk->rows.offset = inmo_alloc_zero(chunk->user_capacity + 1, sizeof *chunk->rows.offset);
    chunk->rows.item = inmo_alloc(chunk->capacity, sizeof *chunk->rows.item);
    chunk->rows.part = inmo_alloc(chunk->capacity, sizeof *chunk->rows.part);
    b->trained = inmo_alloc_zero((size_t)b->count[1], 1);
    for (int s = 0; s < 2; s++)
        b->is_new[s] = inmo_alloc_zero((size_t)b->count[s], 1);
    if (!chunk->rows.offset || !chunk->rows.item || !chunk->rows.part || !b->trained || !b->is_new[0] ||
        !b->is_new[1])
        status = inmo_fail_memory(error, "splitting");
    if (status == INMO_OK)
        status = inmo_scenario_choose(b->p.scenario, b->count[0], b->count[1], inmo_share(b->p.options.new_share),
                                      b->p.last_are_new, b->p.options.seed, b->is_new[0], b->is_new[1], error);
    for (int part = 0; part < INMO_PARTS && status == INMO_OK; part++) {
        status = open_tape(b, &b->part_offset[part], error);
        if (status == INMO_OK)
            status = open_tape(b, &b->part_item[part], error);
    }
    if (status == INMO_OK && b->p.log->seen) {
        status = open_tape(b, &b->seen_offset, error);
        if (status == INMO_OK)
            status = open_tape(b, &b->seen_item, error);
        if (status == INMO_OK)
            status = inmo_sorter_next(&b->seen, &chunk->seen, error);
    }
    return status;
}

/* A row of what was seen: without repeats and without what was chosen (ascending). */
static enum inmo_status add_seen_row(struct inmo_bounded *b, int32_t user, const int32_t *chosen,
                                     int64_t chosen_count, struct inmo_error *error)
{
    enum inmo_status status = inmo_tape_add(&b->seen_offset, &b->seen_count, sizeof b->seen_count, error);
    int32_t before = -1;
    int64_t at = 0;
    while (status == INMO_OK && b->chunk.seen && inmo_sort_first(*b->chunk.seen) == user) {
        int32_t item = inmo_sort_second(*b->chunk.seen);
        while (at < chosen_count && chosen[at] < item)
            at++;
        if (item != before && (at == chosen_count || chosen[at] != item)) {
            b->seen_count++;
            status = inmo_tape_add(&b->seen_item, &item, sizeof item, error);
        }
        before = item;
        if (status == INMO_OK)
            status = inmo_sorter_next(&b->seen, &b->chunk.seen, error);
    }
    return status;
}

static enum inmo_status add_row(struct inmo_bounded *b, int32_t row, struct inmo_error *error)
{
    const struct inmo_rows *rows = &b->chunk.rows;
    int64_t begin = rows->offset[row], end = rows->offset[row + 1], trained = b->part_count[INMO_TRAIN];
    enum inmo_status status = INMO_OK;
    for (int part = 0; part < INMO_PARTS && status == INMO_OK; part++)
        status = inmo_tape_add(&b->part_offset[part], &b->part_count[part], sizeof b->part_count[part], error);
    for (int64_t e = begin; e < end && status == INMO_OK; e++) {
        status = inmo_tape_add(&b->part_item[rows->part[e]], &rows->item[e], sizeof rows->item[e], error);
        b->part_count[rows->part[e]]++;
        b->trained[rows->item[e]] |= rows->part[e] == INMO_TRAIN;
    }
    b->untrained_users += b->part_count[INMO_TRAIN] == trained;
    if (status == INMO_OK && b->p.log->seen)
        status = add_seen_row(b, rows->first + row, rows->item + begin, end - begin, error);
    return status;
}

/* Splits the rows of the chunk and passes them on. */
static enum inmo_status pass_on(struct inmo_bounded *b, struct inmo_error *error)
{
    struct inmo_rows *rows = &b->chunk.rows;
    const struct inmo_prepare_options *o = &b->p.options;
    enum inmo_status status = INMO_OK;
    if (strcmp(o->by, "random") == 0)
        status = inmo_split_by_seed(rows, &b->p.split, o->seed, error);
    if (status == INMO_OK && o->hold_out > 0)
        status = inmo_split_hold_out(rows, inmo_share(o->hold_out), o->seed, error);
    if (status == INMO_OK)
        status = inmo_scenario_apply(b->p.scenario, rows, inmo_share(o->new_share), o->seed, b->is_new[0],
                                     b->is_new[1], error);
    for (int32_t row = 0; row < rows->users && status == INMO_OK; row++)
        status = add_row(b, row, error);
    inmo_bounded_report(b, "splitting", rows->first, b->count[0]);
    rows->first += rows->users;
    rows->users = 0;
    return status;
}

enum inmo_status inmo_bounded_rows_add(struct inmo_bounded *b, int32_t user, int32_t item, uint8_t part,
                                       struct inmo_error *error)
{
    struct inmo_chunk *chunk = &b->chunk;
    struct inmo_rows *rows = &chunk->rows;
    size_t count = (size_t)rows->offset[rows->users];
    if (user != chunk->last) {
        if (count >= chunk->most || (size_t)rows->users == chunk->user_capacity) {
            enum inmo_status status = pass_on(b, error);
            if (status != INMO_OK)
                return status;
            count = 0;
        }
        chunk->last = user;
        rows->users++;
    }
    if (count == chunk->capacity) { /* one user with very many */
        size_t capacity = chunk->capacity + chunk->capacity / 2;
        int32_t *items = inmo_resize(rows->item, count, capacity, sizeof *items);
        uint8_t *parts;
        if (items)
            rows->item = items;
        parts = items ? inmo_resize(rows->part, count, capacity, sizeof *parts) : NULL;
        if (!parts)
            return inmo_fail_memory(error, "splitting");
        rows->part = parts;
        chunk->capacity = capacity;
    }
    rows->item[count] = item;
    rows->part[count] = part;
    rows->offset[rows->users] = (int64_t)count + 1;
    return INMO_OK;
}

enum inmo_status inmo_bounded_rows_end(struct inmo_bounded *b, struct inmo_error *error)
{
    enum inmo_status status = pass_on(b, error);
    for (int part = 0; part < INMO_PARTS && status == INMO_OK; part++) {
        status = inmo_tape_add(&b->part_offset[part], &b->part_count[part], sizeof b->part_count[part], error);
        if (status == INMO_OK)
            status = inmo_tape_end(&b->part_offset[part], error);
        if (status == INMO_OK)
            status = inmo_tape_end(&b->part_item[part], error);
    }
    if (status == INMO_OK && b->p.log->seen) {
        for (int32_t u = 0; u < b->extras[0] && status == INMO_OK; u++)
            status = add_seen_row(b, b->count[0] + u, NULL, 0, error);
        if (status == INMO_OK)
            status = inmo_tape_add(&b->seen_offset, &b->seen_count, sizeof b->seen_count, error);
        if (status == INMO_OK)
            status = inmo_tape_end(&b->seen_offset, error);
        if (status == INMO_OK)
            status = inmo_tape_end(&b->seen_item, error);
    }
    inmo_rows_free(&b->chunk.rows);
    return status;
}
