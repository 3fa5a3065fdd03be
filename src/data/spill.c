/* spill.c - see spill.h. While it is read, a line costs a copy of 8 or 16 bytes. A generation that is written out
 * is sorted by the hash of its ids, so that spill_ids.c can merge all of them in one pass. */
#include "data/spill.h"

#include "base/memory.h"

#include <stdio.h>
#include <xxhash.h>

enum { SORTED_HEAD = 16 };

size_t inmo_spill_buffer(size_t memory)
{
    size_t buffer = memory / 256;
    return buffer < 32 << 10 ? 32 << 10 : buffer > 4 << 20 ? 4 << 20 : buffer;
}

enum inmo_status inmo_spill_check(size_t memory, int64_t users, int64_t items, struct inmo_error *error)
{
    int64_t needed = 20 * (users + items) / 7 * 8;
    if (needed <= (int64_t)memory)
        return INMO_OK;
    return inmo_fail(error, INMO_MEMORY,
                     "`memory` is %lld MB, too small for %lld users and %lld items; at least %lld MB are needed",
                     (long long)(memory >> 20), (long long)users, (long long)items,
                     (long long)((needed >> 20) + 1));
}

enum inmo_status inmo_spill_new(const char *folder, size_t memory, const struct inmo_hooks *hooks,
                                struct inmo_spill **result, struct inmo_error *error)
{
    size_t buffer = inmo_spill_buffer(memory);
    struct inmo_spill *spill = inmo_alloc_zero(1, sizeof *spill);
    enum inmo_status status = INMO_OK;
    if (!spill)
        return inmo_fail_memory(error, "temporary files");
    spill->scratch = (struct inmo_scratch){folder, hooks};
    spill->memory = memory;
    spill->lines = spill->seen = INMO_NO_TAPE;
    for (int s = 0; s < 2; s++)
        spill->side[s].names = spill->side[s].sorted = INMO_NO_TAPE;
    status = inmo_tape_open(&spill->lines, &spill->scratch, buffer, error);
    if (status == INMO_OK)
        status = inmo_tape_open(&spill->seen, &spill->scratch, buffer, error);
    for (int s = 0; s < 2 && status == INMO_OK; s++)
        status = inmo_tape_open(&spill->side[s].names, &spill->scratch, buffer, error);
    if (status == INMO_OK)
        *result = spill;
    else
        inmo_spill_free(spill);
    return status;
}

void inmo_spill_free(struct inmo_spill *spill)
{
    if (!spill)
        return;
    inmo_free(spill->generation);
    for (int s = 2; s > 0; s--) {
        inmo_tape_close(&spill->side[s - 1].sorted);
        inmo_tape_close(&spill->side[s - 1].names);
    }
    inmo_tape_close(&spill->seen);
    inmo_tape_close(&spill->lines);
    inmo_free(spill);
}

int inmo_spill_look(struct inmo_spill *spill, const struct inmo_log *log)
{
    /* Sorting a table when it is written out takes 32 bytes an id. */
    enum { SORTING = 32 };
    int32_t ids = spill->known[0] > spill->known[1] ? spill->known[0] : spill->known[1];
    spill->grown = 0;
    return inmo_idtable_bytes(log->users) + inmo_idtable_bytes(log->items) + SORTING * (size_t)ids >
           spill->memory / 2;
}

static enum inmo_status write_names(struct inmo_tape *names, const struct inmo_idmap *ids, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (int32_t n = 0; n < ids->count && status == INMO_OK; n++) {
        uint16_t length = (uint16_t)(ids->offset[n + 1] - ids->offset[n] - 1);
        status = inmo_tape_add(names, &length, sizeof length, error);
        if (status == INMO_OK)
            status = inmo_tape_add(names, inmo_idmap_id(ids, n), length, error);
    }
    return status;
}

/* Order of ids with the same hash. */
static int text_before(const struct inmo_idmap *ids, int32_t a, int32_t b)
{
    int64_t x = ids->offset[a + 1] - ids->offset[a], y = ids->offset[b + 1] - ids->offset[b];
    return x != y ? x < y : memcmp(inmo_idmap_id(ids, a), inmo_idmap_id(ids, b), (size_t)x) < 0;
}

static enum inmo_status write_sorted(struct inmo_tape *tape, const struct inmo_idmap *ids, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t count = (size_t)ids->count;
    uint64_t *record = inmo_alloc(count, 2 * sizeof *record), *spare = inmo_alloc(count, 2 * sizeof *spare);
    if (!record || !spare)
        status = inmo_fail_memory(error, "the ids");
    for (size_t n = 0; n < count && status == INMO_OK; n++) {
        size_t length = (size_t)(ids->offset[n + 1] - ids->offset[n] - 1);
        record[2 * n] = XXH3_64bits(inmo_idmap_id(ids, (int32_t)n), length) & ~UINT64_C(3);
        record[2 * n + 1] = n;
    }
    if (status == INMO_OK)
        inmo_sort_records(&record, &spare, count, 2, UINT64_MAX, 0);
    for (size_t n = 1; n < count && status == INMO_OK; n++)
        for (size_t m = n; m > 0 && record[2 * m] == record[2 * m - 2] &&
                           text_before(ids, (int32_t)record[2 * m + 1], (int32_t)record[2 * m - 1]);
             m--) {
            uint64_t number = record[2 * m + 1];
            record[2 * m + 1] = record[2 * m - 1];
            record[2 * m - 1] = number;
        }
    for (size_t n = 0; n < count && status == INMO_OK; n++) {
        int32_t number = (int32_t)record[2 * n + 1];
        uint32_t length = (uint32_t)(ids->offset[number + 1] - ids->offset[number] - 1);
        char head[SORTED_HEAD];
        memcpy(head, &record[2 * n], 8);
        memcpy(head + 8, &number, 4);
        memcpy(head + 12, &length, 4);
        status = inmo_tape_add(tape, head, sizeof head, error);
        if (status == INMO_OK)
            status = inmo_tape_add(tape, inmo_idmap_id(ids, number), length, error);
    }
    inmo_free(spare);
    inmo_free(record);
    return status;
}

enum inmo_status inmo_spill_turn(struct inmo_spill *spill, struct inmo_log *log, int only, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_generation *now;
    if (spill->generations == spill->generation_capacity) {
        size_t capacity = 2 * spill->generation_capacity + 16;
        struct inmo_generation *more =
            inmo_resize(spill->generation, spill->generations, capacity, sizeof *spill->generation);
        if (!more)
            return inmo_fail_memory(error, "temporary files");
        spill->generation = more;
        spill->generation_capacity = capacity;
    }
    now = &spill->generation[spill->generations];
    now->lines = inmo_tape_size(&spill->lines);
    now->seen = inmo_tape_size(&spill->seen);
    for (int s = 0; s < 2 && status == INMO_OK; s++) {
        struct inmo_idtable **table = s ? &log->items : &log->users, *empty = NULL;
        struct inmo_idmap ids = inmo_idtable_map(*table);
        struct inmo_spill_side *side = &spill->side[s];
        if (!only && side->sorted.file < 0)
            status = inmo_tape_open(&side->sorted, &spill->scratch, inmo_spill_buffer(spill->memory), error);
        if (status == INMO_OK)
            status = write_names(&side->names, &ids, error);
        if (status == INMO_OK && !only)
            status = write_sorted(&side->sorted, &ids, error);
        if (status == INMO_OK && !(empty = inmo_idtable_new()))
            status = inmo_fail_memory(error, "the ids");
        if (status == INMO_OK) {
            now->count[s] = ids.count;
            now->sorted[s] = inmo_tape_size(&side->sorted);
            inmo_idtable_free(*table);
            *table = empty;
            spill->known[s] = 0;
        }
    }
    spill->generations += status == INMO_OK;
    return status;
}

enum inmo_status inmo_spill_add(struct inmo_spill *spill, struct inmo_log *log, int32_t user, int32_t item,
                                int64_t time, uint8_t part, enum inmo_kind kind, struct inmo_error *error)
{
    uint64_t word[2] = {inmo_sort_key(user, item, kind == INMO_POSITIVE ? part : (unsigned)kind), (uint64_t)time};
    if (user >= spill->known[0] || item >= spill->known[1]) {
        spill->known[0] = user >= spill->known[0] ? user + 1 : spill->known[0];
        spill->known[1] = item >= spill->known[1] ? item + 1 : spill->known[1];
        spill->grown = 1;
    }
    if (kind == INMO_POSITIVE) {
        spill->words = log->has_time ? 2 : 1;
        log->count++;
        return inmo_tape_add(&spill->lines, word, (size_t)spill->words * sizeof word[0], error);
    }
    if (!log->seen) { /* it has the count alone */
        log->seen = inmo_alloc_zero(1, sizeof *log->seen);
        if (!log->seen)
            return inmo_fail_memory(error, "the log");
    }
    log->seen->count++;
    return inmo_tape_add(&spill->seen, word, sizeof word[0], error);
}

enum inmo_status inmo_spill_next_name(struct inmo_tape_reader *reader, const char **text, uint16_t *length,
                                      struct inmo_error *error)
{
    const void *found = NULL;
    enum inmo_status status = inmo_tape_next(reader, sizeof *length, &found, error);
    *text = NULL;
    if (status == INMO_OK && found) {
        memcpy(length, found, sizeof *length);
        status = inmo_tape_next(reader, *length, &found, error);
        *text = found;
    }
    return status;
}
