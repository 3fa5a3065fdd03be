/* sorter.c - see sorter.h. Runs are made by a radix sort, digits of 11 bits, from the lowest; digits that all
 * keys share cost nothing, and most do: a log in the order of its users has few of them in one run. Merging takes
 * the smallest head by a heap; a tie goes to the earlier run, which makes the whole stable. When there are more
 * runs than buffers for them, neighbours are merged into longer ones first.
 *
 * Cost: for each digit one pass over the buffer; each record is written and read once (or a few times, with
 * thousands of runs). Single-threaded. */
#include "data/sorter.h"

#include "base/memory.h"
#include "data/heap.h"

enum { DIGIT = 11, BUCKETS = 1 << DIGIT, LEAST_BUFFER = 16 << 10, MOST_BUFFER = 4 << 20 };

/* The first record of a run that is left. */
struct inmo_sort_head {
    uint64_t key;
    size_t slot; /* of its run: the order of records with the same key */
    const uint64_t *record;
};

/* ---- In memory ----------------------------------------------------------------------------------------------- */

/* Inlined with a fixed number of words, so that a record moves in registers. */
__attribute__((always_inline)) static inline void pass(const uint64_t *from, uint64_t *to, size_t count, int words,
                                                       int shift)
{
    size_t at[BUCKETS] = {0}, sum = 0;
    for (size_t n = 0; n < count; n++)
        at[from[n * (size_t)words] >> shift & (BUCKETS - 1)]++;
    for (int b = 0; b < BUCKETS; b++) {
        size_t size = at[b];
        at[b] = sum;
        sum += size;
    }
    for (size_t n = 0; n < count; n++) {
        const uint64_t *record = from + n * (size_t)words;
        uint64_t *place = to + at[record[0] >> shift & (BUCKETS - 1)]++ * (size_t)words;
        for (int w = 0; w < words; w++)
            place[w] = record[w];
    }
}

void inmo_sort_records(uint64_t **record, uint64_t **spare, size_t count, int words, uint64_t any, uint64_t all)
{
    uint64_t differs = (any & ~all) & ~UINT64_C(3);
    while (count > 1 && differs) {
        int shift = __builtin_ctzll(differs);
        uint64_t *sorted = *spare;
        if (words == 1)
            pass(*record, *spare, count, 1, shift);
        else if (words == 2)
            pass(*record, *spare, count, 2, shift);
        else
            pass(*record, *spare, count, 3, shift);
        *spare = *record;
        *record = sorted;
        differs = shift + DIGIT < 64 ? differs >> (shift + DIGIT) << (shift + DIGIT) : 0;
    }
}

/* ---- Runs ---------------------------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum inmo_status inmo_sorter_make(struct inmo_sorter *sorter, const struct inmo_scratch *scratch, int words,
                                  size_t memory, struct inmo_error *error)
{
    size_t size = (size_t)words * sizeof(uint64_t);
    *sorter = (struct inmo_sorter){.scratch = scratch, .words = words, .runs = INMO_NO_TAPE, .all = UINT64_MAX};
    sorter->capacity = memory / (2 * size) > 16 ? memory / (2 * size) : 16;
    sorter->record = inmo_alloc(sorter->capacity, size);
    sorter->spare = inmo_alloc(sorter->capacity, size);
    if (!sorter->record || !sorter->spare) {
        inmo_sorter_free(sorter);
        return inmo_fail_memory(error, "sorting");
    }
    return INMO_OK;
}

static void free_sources(struct inmo_sorter *sorter)
{
    for (size_t n = 0; n < sorter->sources; n++)
        inmo_tape_read_end(&sorter->source[n]);
    inmo_free(sorter->heap);
    inmo_free(sorter->source);
    sorter->heap = NULL;
    sorter->source = NULL;
    sorter->sources = sorter->alive = 0;
    sorter->taken = 0;
}

void inmo_sorter_free(struct inmo_sorter *sorter)
{
    if (!sorter->words)
        return;
    free_sources(sorter);
    inmo_free(sorter->run);
    inmo_tape_close(&sorter->runs);
    inmo_free(sorter->spare);
    inmo_free(sorter->record);
    *sorter = (struct inmo_sorter){0};
}

/* Notes that a run ends at the end of the tape. */
static enum inmo_status note_run(struct inmo_sorter *sorter, struct inmo_error *error)
{
    if (sorter->run_count + 2 > sorter->run_capacity) {
        size_t capacity = 2 * sorter->run_capacity + 16;
        int64_t *run =
            inmo_resize(sorter->run, sorter->run_count ? sorter->run_count + 1 : 0, capacity, sizeof *run);
        if (!run)
            return inmo_fail_memory(error, "sorting");
        run[0] = 0;
        sorter->run = run;
        sorter->run_capacity = capacity;
    }
    sorter->run[++sorter->run_count] = inmo_tape_size(&sorter->runs);
    return INMO_OK;
}

enum inmo_status inmo_sorter_flush(struct inmo_sorter *sorter, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t size = (size_t)sorter->words * sizeof(uint64_t), total = sorter->count * size, most = MOST_BUFFER;
    if (sorter->count == 0)
        return INMO_OK;
    if (sorter->runs.file < 0)
        status = inmo_tape_open(&sorter->runs, sorter->scratch, LEAST_BUFFER, error);
    inmo_sort_records(&sorter->record, &sorter->spare, sorter->count, sorter->words, sorter->any, sorter->all);
    /* The buffer is written as it is, without a copy, in pieces between which Ctrl-C is heard. */
    for (size_t done = 0; status == INMO_OK && done < total; done += smaller(most, total - done)) {
        struct inmo_tape piece = sorter->runs;
        piece.buffer = (char *)sorter->record + done;
        piece.used = smaller(most, total - done);
        status = inmo_tape_flush(&piece, error);
        sorter->runs.written = piece.written;
    }
    sorter->count = 0;
    sorter->any = 0;
    sorter->all = UINT64_MAX;
    if (status == INMO_OK)
        status = note_run(sorter, error);
    return status;
}

/* ---- Merging ------------------------------------------------------------------------------------------------- */

/* The next record of a source, which has one iff *found. */
static enum inmo_status advance(struct inmo_sorter *sorter, struct inmo_sort_head *head, int *found,
                                struct inmo_error *error)
{
    size_t size = (size_t)sorter->words * sizeof(uint64_t);
    struct inmo_tape_reader *reader = &sorter->source[head->slot];
    const void *record;
    enum inmo_status status = inmo_tape_next(reader, size, &record, error);
    *found = status == INMO_OK && record;
    if (*found) {
        head->record = record;
        memcpy(&head->key, record, sizeof head->key);
        head->key >>= 2;
    } else {
        inmo_tape_read_end(reader);
    }
    return status;
}

static int comes_before(const struct inmo_sort_head *a, const struct inmo_sort_head *b)
{
    return a->key < b->key || (a->key == b->key && a->slot < b->slot);
}

INMO_SIFT_DOWN(sift_down, struct inmo_sort_head, comes_before)

/* Opens runs [first, last) for merging. */
static enum inmo_status open_sources(struct inmo_sorter *sorter, size_t first, size_t last, size_t memory,
                                     struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t size = (size_t)sorter->words * sizeof(uint64_t);
    size_t buffer = memory / (last - first + 1);
    buffer = buffer < LEAST_BUFFER ? LEAST_BUFFER : buffer > MOST_BUFFER ? MOST_BUFFER : buffer;
    buffer -= buffer % size;
    sorter->source = inmo_alloc_zero(last - first, sizeof *sorter->source);
    sorter->heap = inmo_alloc(last - first, sizeof *sorter->heap);
    if (!sorter->source || !sorter->heap)
        status = inmo_fail_memory(error, "merging");
    for (size_t r = first; r < last && status == INMO_OK; r++) {
        struct inmo_sort_head *head = &sorter->heap[sorter->alive];
        int found = 0;
        head->slot = sorter->sources++;
        status = inmo_tape_read(&sorter->source[head->slot], &sorter->runs, sorter->run[r], sorter->run[r + 1],
                                buffer, error);
        if (status == INMO_OK)
            status = advance(sorter, head, &found, error);
        sorter->alive += (size_t)found;
    }
    for (size_t n = sorter->alive / 2; n > 0 && status == INMO_OK; n--)
        sift_down(sorter->heap, sorter->alive, n - 1);
    return status;
}

/* *record is the smallest head, in the buffer of its source: valid until the next call, which takes the one after
 * it. NULL when nothing is left. */
static enum inmo_status take(struct inmo_sorter *sorter, const uint64_t **record, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int found = 1;
    *record = NULL;
    if (sorter->taken && sorter->alive > 0) {
        status = advance(sorter, &sorter->heap[0], &found, error);
        if (status == INMO_OK && !found)
            sorter->heap[0] = sorter->heap[--sorter->alive];
        if (status == INMO_OK && sorter->alive > 1)
            sift_down(sorter->heap, sorter->alive, 0);
    }
    sorter->taken = 1;
    if (status == INMO_OK && sorter->alive > 0)
        *record = sorter->heap[0].record;
    return status;
}

/* Merges neighbouring runs until there are at most so many. */
static enum inmo_status reduce_runs(struct inmo_sorter *sorter, size_t most, size_t memory,
                                    struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t size = (size_t)sorter->words * sizeof(uint64_t);
    while (status == INMO_OK && sorter->run_count > most) {
        struct inmo_sorter longer = {.words = sorter->words, .runs = INMO_NO_TAPE};
        status = inmo_tape_open(&longer.runs, sorter->scratch,
                                MOST_BUFFER < memory / 4 ? MOST_BUFFER : LEAST_BUFFER, error);
        for (size_t first = 0; first < sorter->run_count && status == INMO_OK; first += most) {
            const uint64_t *record;
            status = open_sources(sorter, first, smaller(first + most, sorter->run_count), memory, error);
            while (status == INMO_OK && (status = take(sorter, &record, error)) == INMO_OK && record)
                status = inmo_tape_add(&longer.runs, record, size, error);
            free_sources(sorter);
            if (status == INMO_OK)
                status = note_run(&longer, error);
        }
        if (status == INMO_OK)
            status = inmo_tape_end(&longer.runs, error);
        if (status == INMO_OK) {
            struct inmo_tape old = sorter->runs;
            int64_t *run = sorter->run;
            sorter->runs = longer.runs;
            sorter->run = longer.run;
            sorter->run_count = longer.run_count;
            sorter->run_capacity = longer.run_capacity;
            longer.runs = old;
            longer.run = run;
        }
        inmo_tape_close(&longer.runs);
        inmo_free(longer.run);
    }
    return status;
}

enum inmo_status inmo_sorter_end(struct inmo_sorter *sorter, size_t kept, size_t merging, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t size = (size_t)sorter->words * sizeof(uint64_t), most;
    if (sorter->run_count == 0 && sorter->count * size <= kept) {
        inmo_sort_records(&sorter->record, &sorter->spare, sorter->count, sorter->words, sorter->any, sorter->all);
        inmo_free(sorter->spare);
        sorter->spare = NULL;
        return INMO_OK;
    }
    status = inmo_sorter_flush(sorter, error);
    inmo_free(sorter->spare);
    inmo_free(sorter->record);
    sorter->record = sorter->spare = NULL;
    most = merging / LEAST_BUFFER > 2 ? merging / LEAST_BUFFER : 2;
    if (status == INMO_OK)
        status = reduce_runs(sorter, most, merging, error);
    if (status == INMO_OK && sorter->run_count > 0)
        status = open_sources(sorter, 0, sorter->run_count, merging, error);
    return status;
}

enum inmo_status inmo_sorter_next(struct inmo_sorter *sorter, const uint64_t **record, struct inmo_error *error)
{
    if (sorter->run_count > 0)
        return take(sorter, record, error);
    *record = NULL;
    if (sorter->given < sorter->count)
        *record = sorter->record + sorter->given++ * (size_t)sorter->words;
    return INMO_OK;
}
