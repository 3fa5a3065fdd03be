/* spill_ids.c - brings the generations of a spilled log together, see spill.h.
 *
 *     sorted ids of each generation  --merge by hash, compare text-->  (generation, number) -> which id
 *                                    --sort by generation, number-->   in the order of first appearance
 *                                    --number, renumber the lines-->   as if there had been one table
 *
 * Ids that have the same hash are compared as text: the result never depends on the hash. */
#include "base/memory.h"
#include "data/heap.h"
#include "data/spill.h"

#include <limits.h>

enum { SORTED_HEAD = 16, LEAST_BUFFER = 8 << 10 };

/* The next id of a generation, in the order of the merge. */
struct head {
    uint64_t hash;
    const char *text;
    uint32_t length;
    int32_t number;
    size_t generation;
};

static int compare(const struct head *a, const struct head *b)
{
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return memcmp(a->text, b->text, a->length);
}

static int comes_before(const struct head *a, const struct head *b)
{
    int order = compare(a, b);
    return order < 0 || (order == 0 && a->generation < b->generation);
}

INMO_SIFT_DOWN(sift_down, struct head, comes_before)

/* Head and text must be in the buffer at once: the text stays where it is until the reader's next call. */
static enum inmo_status advance(struct inmo_tape_reader *reader, struct head *head, int *found,
                                struct inmo_error *error)
{
    const void *data = NULL;
    const char *bytes = NULL;
    enum inmo_status status = inmo_tape_fill(reader, SORTED_HEAD + 4096, error);
    if (status == INMO_OK)
        status = inmo_tape_next(reader, SORTED_HEAD, &data, error);
    *found = status == INMO_OK && data;
    if (*found) {
        bytes = data;
        memcpy(&head->hash, bytes, 8);
        memcpy(&head->number, bytes + 8, 4);
        memcpy(&head->length, bytes + 12, 4);
        status = inmo_tape_next(reader, head->length, &data, error);
        head->text = data;
    }
    return status;
}

/* Fills the sorter with (generation, number) -> which, where which counts different ids in the order of the
 * merge. */
static enum inmo_status merge(const struct inmo_spill *spill, int s, struct inmo_sorter *sorter, int32_t *different,
                              struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t count = spill->generations, alive = 0, buffer = spill->memory / 4 / count;
    struct inmo_tape_reader *reader = inmo_alloc_zero(count, sizeof *reader);
    struct head *heap = inmo_alloc(count, sizeof *heap), last = {0};
    char *text = inmo_alloc(4096, 1); /* of the last id */
    int64_t which = -1;
    if (!reader || !heap || !text)
        status = inmo_fail_memory(error, "the ids");
    else if (buffer < LEAST_BUFFER)
        status = inmo_fail(error, INMO_MEMORY,
                           "`memory` is too small for so many different ids: they filled it %zu times", count);
    buffer = buffer > 1 << 20 ? 1 << 20 : buffer;
    for (size_t g = 0; g < count && status == INMO_OK; g++) {
        int found = 0;
        status = inmo_tape_read(&reader[g], &spill->side[s].sorted, g ? spill->generation[g - 1].sorted[s] : 0,
                                spill->generation[g].sorted[s], buffer, error);
        heap[alive].generation = g;
        if (status == INMO_OK)
            status = advance(&reader[g], &heap[alive], &found, error);
        alive += (size_t)found;
    }
    for (size_t n = alive / 2; n > 0 && status == INMO_OK; n--)
        sift_down(heap, alive, n - 1);
    while (alive > 0 && status == INMO_OK) {
        int found = 0;
        uint64_t record[2];
        if (which < 0 || compare(&last, &heap[0]) != 0) {
            memcpy(text, heap[0].text, heap[0].length);
            last = heap[0];
            last.text = text;
            which++;
        }
        if (which == INT32_MAX)
            status = inmo_fail(error, INMO_INPUT, "found more than %d different ids, expected fewer", INT32_MAX);
        record[0] = inmo_sort_key((int32_t)heap[0].generation, heap[0].number, 0);
        record[1] = (uint64_t)which;
        if (status == INMO_OK)
            status = inmo_sorter_add(sorter, record, error);
        if (status == INMO_OK)
            status = advance(&reader[heap[0].generation], &heap[0], &found, error);
        if (status == INMO_OK && !found)
            heap[0] = heap[--alive];
        if (status == INMO_OK && alive > 1)
            sift_down(heap, alive, 0);
    }
    *different = (int32_t)(which + 1);
    for (size_t g = 0; reader && g < count; g++)
        inmo_tape_read_end(&reader[g]);
    inmo_free(text);
    inmo_free(heap);
    inmo_free(reader);
    return status;
}

/* One side while the lines are renumbered. */
struct joining {
    struct inmo_sorter sorter;
    struct inmo_tape_reader names;  // of all generations
    struct inmo_tape kept;          // names, each once
    int32_t *number;                // (different) -1: not yet
    int32_t *map;                   // (largest generation) number in it -> number
    int32_t different, numbered;
};

/* The map of the next generation, whose ids come from the sorter in the order of their numbers. */
static enum inmo_status next_map(struct joining *side, int32_t count, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (int32_t n = 0; n < count && status == INMO_OK; n++) {
        const uint64_t *record;
        const char *text;
        uint16_t length;
        status = inmo_sorter_next(&side->sorter, &record, error);
        if (status == INMO_OK)
            status = inmo_spill_next_name(&side->names, &text, &length, error);
        if (status != INMO_OK)
            break;
        if (side->number[record[1]] < 0) {
            side->number[record[1]] = side->numbered++;
            status = inmo_tape_add(&side->kept, &length, sizeof length, error);
            if (status == INMO_OK)
                status = inmo_tape_add(&side->kept, text, length, error);
        }
        side->map[n] = side->number[record[1]];
    }
    return status;
}

static enum inmo_status renumber(struct inmo_tape_reader *from, int64_t bytes, int words,
                                 const struct joining *side, struct inmo_tape *to, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t size = (size_t)words * sizeof(uint64_t);
    for (int64_t done = 0; done < bytes && status == INMO_OK; done += (int64_t)size) {
        const void *data;
        uint64_t word[2];
        status = inmo_tape_next(from, size, &data, error);
        if (status != INMO_OK)
            break;
        memcpy(word, data, size);
        word[0] = inmo_sort_key(side[0].map[inmo_sort_first(word[0])], side[1].map[inmo_sort_second(word[0])],
                                word[0] & 3);
        status = inmo_tape_add(to, word, size, error);
    }
    return status;
}

static enum inmo_status prepare_side(const struct inmo_spill *spill, int s, struct joining *side,
                                     struct inmo_error *error)
{
    size_t buffer = inmo_spill_buffer(spill->memory), largest = 0;
    enum inmo_status status = inmo_sorter_make(&side->sorter, &spill->scratch, 2, spill->memory / 3, error);
    if (status == INMO_OK)
        status = merge(spill, s, &side->sorter, &side->different, error);
    if (status == INMO_OK)
        status = inmo_sorter_end(&side->sorter, spill->memory / 64, spill->memory / 16, error);
    if (status == INMO_OK)
        status = inmo_tape_open(&side->kept, &spill->scratch, buffer, error);
    if (status == INMO_OK)
        status = inmo_tape_read(&side->names, &spill->side[s].names, 0, inmo_tape_size(&spill->side[s].names),
                                buffer, error);
    for (size_t g = 0; g < spill->generations; g++)
        largest = (size_t)spill->generation[g].count[s] > largest ? (size_t)spill->generation[g].count[s] : largest;
    if (status == INMO_OK) {
        side->number = inmo_alloc((size_t)side->different, sizeof *side->number);
        side->map = inmo_alloc(largest, sizeof *side->map);
        if (!side->number || !side->map)
            status = inmo_fail_memory(error, "the ids");
    }
    if (status == INMO_OK)
        memset(side->number, 0xff, (size_t)side->different * sizeof *side->number);
    return status;
}

static enum inmo_status join(struct inmo_spill *spill, struct inmo_error *error)
{
    size_t buffer = inmo_spill_buffer(spill->memory);
    struct joining side[2] = {{.kept = INMO_NO_TAPE}, {.kept = INMO_NO_TAPE}};
    struct inmo_tape lines = INMO_NO_TAPE, seen = INMO_NO_TAPE, old;
    struct inmo_tape_reader line_reader = {0}, seen_reader = {0};
    enum inmo_status status = INMO_OK;
    int64_t line_at = 0, seen_at = 0;
    for (int s = 0; s < 2 && status == INMO_OK; s++)
        status = prepare_side(spill, s, &side[s], error);
    if (status == INMO_OK)
        status = inmo_spill_check(spill->memory, side[0].different, side[1].different, error);
    if (status == INMO_OK)
        status = inmo_tape_open(&lines, &spill->scratch, buffer, error);
    if (status == INMO_OK)
        status = inmo_tape_open(&seen, &spill->scratch, buffer, error);
    if (status == INMO_OK)
        status = inmo_tape_read(&line_reader, &spill->lines, 0, inmo_tape_size(&spill->lines), buffer, error);
    if (status == INMO_OK)
        status = inmo_tape_read(&seen_reader, &spill->seen, 0, inmo_tape_size(&spill->seen), buffer, error);
    for (size_t g = 0; g < spill->generations && status == INMO_OK; g++) {
        const struct inmo_generation *now = &spill->generation[g];
        for (int s = 0; s < 2 && status == INMO_OK; s++)
            status = next_map(&side[s], now->count[s], error);
        if (status == INMO_OK)
            status = renumber(&line_reader, now->lines - line_at, spill->words, side, &lines, error);
        if (status == INMO_OK)
            status = renumber(&seen_reader, now->seen - seen_at, 1, side, &seen, error);
        line_at = now->lines;
        seen_at = now->seen;
    }
    if (status == INMO_OK) { /* the old tapes are closed below */
        old = spill->lines, spill->lines = lines, lines = old;
        old = spill->seen, spill->seen = seen, seen = old;
        for (int s = 0; s < 2; s++) {
            old = spill->side[s].names, spill->side[s].names = side[s].kept, side[s].kept = old;
            spill->side[s].count = side[s].numbered;
            inmo_tape_close(&spill->side[s].sorted);
        }
    }
    inmo_tape_read_end(&seen_reader);
    inmo_tape_read_end(&line_reader);
    inmo_tape_close(&seen);
    inmo_tape_close(&lines);
    for (int s = 0; s < 2; s++) {
        inmo_free(side[s].map);
        inmo_free(side[s].number);
        inmo_tape_close(&side[s].kept);
        inmo_tape_read_end(&side[s].names);
        inmo_sorter_free(&side[s].sorter);
    }
    return status;
}

/* Ends the tapes, so that they can be read. */
static enum inmo_status end_tapes(struct inmo_spill *spill, struct inmo_error *error)
{
    enum inmo_status status = inmo_tape_end(&spill->lines, error);
    if (status == INMO_OK)
        status = inmo_tape_end(&spill->seen, error);
    for (int s = 0; s < 2 && status == INMO_OK; s++) {
        status = inmo_tape_end(&spill->side[s].names, error);
        if (status == INMO_OK && spill->side[s].sorted.file >= 0)
            status = inmo_tape_end(&spill->side[s].sorted, error);
    }
    return status;
}

enum inmo_status inmo_spill_end(struct inmo_spill *spill, struct inmo_log *log, struct inmo_error *error)
{
    int many = spill->generations > 0;
    enum inmo_status status = inmo_spill_turn(spill, log, !many, error);
    if (status == INMO_OK)
        status = end_tapes(spill, error);
    if (status == INMO_OK && many)
        status = join(spill, error);
    else if (status == INMO_OK)
        for (int s = 0; s < 2; s++)
            spill->side[s].count = spill->generation[0].count[s];
    if (status == INMO_OK && many)
        status = end_tapes(spill, error);
    return status;
}
