/* bounded.c - lines on a tape become the parts of a data set, in a bounded memory; see bounded.h. The steps, and
 * what they decide, are those of filter_and_split in prepare.c. */
#include "data/bounded.h"

#include "base/memory.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>

size_t inmo_bounded_room(const struct inmo_bounded *b, int64_t node_bytes)
{
    int64_t nodes = node_bytes * ((int64_t)b->users + b->items), all = (int64_t)(b->memory - b->memory / 8);
    return all - nodes > (int64_t)(b->memory / 16) ? (size_t)(all - nodes) : b->memory / 16;
}

void inmo_bounded_report(struct inmo_bounded *b, const char *stage, int64_t done, int64_t total)
{
    double now = inmo_now();
    struct inmo_progress progress = {.stage = stage,
                                     .unit = "interactions",
                                     .done = (double)done,
                                     .total = (double)total,
                                     .seconds = now - b->began,
                                     .loss = NAN,
                                     .score = NAN,
                                     .best_score = NAN};
    if (now - b->reported > 0.2) {
        b->reported = now;
        inmo_report_progress(b->spill->scratch.hooks, &progress);
    }
}

/* ---- Interactions by user, each pair once -------------------------------------------------------------------- */

/* What a record of the sort has beside its key depends on what is needed later: the time, if it decides which of
 * two duplicates stays; time and place in the log, for the split by time. */
static int words_of(const struct inmo_bounded *b)
{
    if (strcmp(b->p.options.by, "time") == 0)
        return 3;
    return strcmp(b->p.options.by, "column") == 0 && b->p.log->has_time ? 2 : 1;
}

/* Sorts the lines by user and item, in the numbers of the data set if they are known already. */
static enum inmo_status sort_lines(struct inmo_bounded *b, struct inmo_sorter *sorter, struct inmo_error *error)
{
    enum { SOME = 1 << 20 };
    const struct inmo_tape *lines = &b->spill->lines;
    size_t size = (size_t)b->spill->words * sizeof(uint64_t);
    int words = words_of(b), by_column = strcmp(b->p.options.by, "column") == 0;
    int renumber = b->number[0] != NULL;
    struct inmo_tape_reader reader = {0};
    uint64_t record[3] = {0};
    enum inmo_status status = inmo_sorter_make(sorter, &b->spill->scratch, words, inmo_bounded_room(b, 8), error);
    if (status == INMO_OK)
        status = inmo_tape_read(&reader, lines, 0, inmo_tape_size(lines), inmo_spill_buffer(b->memory), error);
    for (int64_t n = 0; status == INMO_OK; n++) {
        const void *data;
        int32_t u, i;
        status = inmo_tape_next(&reader, size, &data, error);
        if (status != INMO_OK || !data)
            break;
        memcpy(record, data, size);
        u = inmo_sort_first(record[0]);
        i = inmo_sort_second(record[0]);
        record[0] = inmo_sort_key(renumber ? b->number[0][u] : u, renumber ? b->number[1][i] : i,
                                  by_column ? record[0] & 3 : 0);
        record[2] = (uint64_t)n;
        status = inmo_sorter_add(sorter, record, error);
        if (n % SOME == 0)
            inmo_bounded_report(b, "sorting", n, b->p.log->count);
    }
    inmo_tape_read_end(&reader);
    if (status == INMO_OK)
        status = inmo_sorter_end(sorter, b->memory / 4, b->memory / 8, error);
    return status;
}

/* The pairs that were taken back, sorted, in the numbers of the log. */
static enum inmo_status sort_cancelled(struct inmo_bounded *b, struct inmo_sorter *sorter, struct inmo_error *error)
{
    const struct inmo_tape *seen = &b->spill->seen;
    struct inmo_tape_reader reader = {0};
    enum inmo_status status = inmo_sorter_make(sorter, &b->spill->scratch, 1, inmo_bounded_room(b, 0), error);
    if (status == INMO_OK)
        status = inmo_tape_read(&reader, seen, 0, inmo_tape_size(seen), inmo_spill_buffer(b->memory), error);
    while (status == INMO_OK) {
        const void *data;
        uint64_t key;
        status = inmo_tape_next(&reader, sizeof key, &data, error);
        if (status != INMO_OK || !data)
            break;
        memcpy(&key, data, sizeof key);
        if ((key & 3) == INMO_CANCELLED)
            status = inmo_sorter_add(sorter, &key, error);
    }
    inmo_tape_read_end(&reader);
    if (status == INMO_OK)
        status = inmo_sorter_end(sorter, b->memory / 32, b->memory / 16, error);
    return status;
}

/* Where merged interactions go. */
typedef enum inmo_status take_record(struct inmo_bounded *b, void *context, const uint64_t *record,
                                     struct inmo_error *error);

/* Passes on one record of each pair: the earliest if there are times, else the first. */
static enum inmo_status merge(struct inmo_bounded *b, struct inmo_sorter *sorter, struct inmo_sorter *cancelled,
                              take_record *take, void *context, struct inmo_error *error)
{
    int words = words_of(b), waiting = 0;
    uint64_t kept[3] = {0};
    const uint64_t *record, *back = NULL;
    enum inmo_status status = cancelled ? inmo_sorter_next(cancelled, &back, error) : INMO_OK;
    while (status == INMO_OK) {
        status = inmo_sorter_next(sorter, &record, error);
        if (status != INMO_OK || !record)
            break;
        while (back && *back >> 2 < record[0] >> 2 && status == INMO_OK)
            status = inmo_sorter_next(cancelled, &back, error);
        if (status == INMO_OK && back && *back >> 2 == record[0] >> 2) {
            b->p.cancelled++;
            continue;
        }
        if (status == INMO_OK && waiting && kept[0] >> 2 == record[0] >> 2) {
            b->p.duplicates++;
            if (words == 1 || (int64_t)record[1] >= (int64_t)kept[1])
                continue;
        } else if (status == INMO_OK && waiting) {
            b->merged++;
            status = take(b, context, kept, error);
        }
        for (int w = 0; w < words; w++)
            kept[w] = record[w];
        waiting = 1;
    }
    if (status == INMO_OK && waiting) {
        b->merged++;
        status = take(b, context, kept, error);
    }
    return status;
}

/* ---- The split by time, one user after the other ------------------------------------------------------------- */

struct moment {
    int64_t time;
    uint64_t place; /* in the log */
    int32_t at;     /* in the row */
};

/* A row in the order of its items, and where it goes when it is complete. */
struct timed_row {
    uint64_t *key;         // (capacity)
    struct moment *order;  // (capacity)
    int32_t *sequence;     // (capacity)
    uint8_t *part;         // (capacity)
    size_t count, capacity;
    take_record *next;
    void *context;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static enum inmo_status end_row(struct inmo_bounded *b, struct timed_row *row, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    if (row->count == 0)
        return INMO_OK;
    qsort(row->order, row->count, sizeof *row->order, compare_moments);
    for (size_t n = 0; n < row->count; n++)
        row->sequence[n] = row->order[n].at;
    inmo_split_label(row->part, row->sequence, (int64_t)row->count, &b->p.split);
    for (size_t n = 0; n < row->count && status == INMO_OK; n++) {
        uint64_t record = row->key[n] | row->part[n];
        status = row->next(b, row->context, &record, error);
    }
    row->count = 0;
    return status;
}

static enum inmo_status grow_row(struct timed_row *row, struct inmo_error *error)
{
    size_t capacity = row->capacity + row->capacity / 2 + 1024;
    uint64_t *key = inmo_resize(row->key, row->count, capacity, sizeof *key);
    struct moment *order = inmo_resize(row->order, row->count, capacity, sizeof *order);
    int32_t *sequence = inmo_resize(row->sequence, 0, capacity, sizeof *sequence);
    uint8_t *part = inmo_resize(row->part, 0, capacity, sizeof *part);
    row->key = key ? key : row->key;
    row->order = order ? order : row->order;
    row->sequence = sequence ? sequence : row->sequence;
    row->part = part ? part : row->part;
    if (!key || !order || !sequence || !part)
        return inmo_fail_memory(error, "splitting by time");
    row->capacity = capacity;
    return INMO_OK;
}

static enum inmo_status take_timed(struct inmo_bounded *b, void *context, const uint64_t *record,
                                   struct inmo_error *error)
{
    struct timed_row *row = context;
    enum inmo_status status = INMO_OK;
    if (row->count > 0 && inmo_sort_first(row->key[0]) != inmo_sort_first(record[0]))
        status = end_row(b, row, error);
    if (status == INMO_OK && row->count == row->capacity)
        status = grow_row(row, error);
    if (status == INMO_OK) {
        row->key[row->count] = record[0] & ~UINT64_C(3);
        row->order[row->count] = (struct moment){(int64_t)record[1], record[2], (int32_t)row->count};
        row->count++;
    }
    return status;
}

static void free_row(struct timed_row *row)
{
    inmo_free(row->part);
    inmo_free(row->sequence);
    inmo_free(row->order);
    inmo_free(row->key);
}

/* ---- The two ways -------------------------------------------------------------------------------------------- */

static enum inmo_status take_row(struct inmo_bounded *b, void *context, const uint64_t *record,
                                 struct inmo_error *error)
{
    (void)context;
    return inmo_bounded_rows_add(b, inmo_sort_first(record[0]), inmo_sort_second(record[0]),
                                 (uint8_t)(record[0] & 3), error);
}

/* Nobody is dropped, so the numbers are known before the sort: those of the log, unless it also names what was only
 * seen. */
static enum inmo_status keep_all(struct inmo_bounded *b, struct inmo_error *error)
{
    struct inmo_sorter sorter = {0};
    struct timed_row row = {.next = take_row};
    int by_time = strcmp(b->p.options.by, "time") == 0;
    enum inmo_status status = INMO_OK;
    if (b->p.log->count == 0)
        return inmo_preparation_fail_empty(&b->p, error);
    b->count[0] = b->users;
    b->count[1] = b->items;
    if (b->p.log->seen)
        status = inmo_bounded_number(b, NULL, error);
    if (status == INMO_OK && b->p.log->seen)
        status = inmo_bounded_see(b, error);
    if (status == INMO_OK)
        status = sort_lines(b, &sorter, error);
    if (status == INMO_OK)
        status = inmo_bounded_rows_begin(b, error);
    if (status == INMO_OK)
        status = merge(b, &sorter, NULL, by_time ? take_timed : take_row, &row, error);
    if (status == INMO_OK)
        status = end_row(b, &row, error);
    b->kept = b->merged;
    free_row(&row);
    inmo_sorter_free(&sorter);
    return status;
}

/* Merged interactions on a tape, and how many each user and item has. */
struct edges {
    struct inmo_tape tape;
    int words;
    int32_t *degree;  // (users + items)
};

static enum inmo_status take_edge(struct inmo_bounded *b, void *context, const uint64_t *record,
                                  struct inmo_error *error)
{
    struct edges *edges = context;
    edges->degree[inmo_sort_first(record[0])]++;
    edges->degree[(int64_t)b->users + inmo_sort_second(record[0])]++;
    return inmo_tape_add(&edges->tape, record, (size_t)edges->words * sizeof *record, error);
}

static enum inmo_status take_numbered(struct inmo_bounded *b, void *context, const uint64_t *record,
                                      struct inmo_error *error)
{
    uint64_t key = inmo_sort_key(b->number[0][inmo_sort_first(record[0])],
                                 b->number[1][inmo_sort_second(record[0])], record[0] & 3);
    return inmo_sorter_add(context, &key, error);
}

/* The interactions of those who stay, in the numbers of the data set, sorted. Numbers of those who do not are
 * negative, or those of somebody known by name only. */
static enum inmo_status sort_kept(struct inmo_bounded *b, const struct edges *edges, struct inmo_sorter *sorter,
                                  struct inmo_error *error)
{
    size_t size = (size_t)edges->words * sizeof(uint64_t);
    struct timed_row row = {.next = take_numbered, .context = sorter};
    struct inmo_tape_reader reader = {0};
    int by_time = strcmp(b->p.options.by, "time") == 0;
    enum inmo_status status = inmo_sorter_make(sorter, &b->spill->scratch, 1, inmo_bounded_room(b, 8), error);
    if (status == INMO_OK)
        status = inmo_tape_read(&reader, &edges->tape, 0, inmo_tape_size(&edges->tape),
                                inmo_spill_buffer(b->memory), error);
    while (status == INMO_OK) {
        const void *data;
        uint64_t record[3];
        int32_t u, i;
        status = inmo_tape_next(&reader, size, &data, error);
        if (status != INMO_OK || !data)
            break;
        memcpy(record, data, size);
        u = b->number[0][inmo_sort_first(record[0])];
        i = b->number[1][inmo_sort_second(record[0])];
        if (u >= 0 && u < b->count[0] && i >= 0 && i < b->count[1])
            status = by_time ? take_timed(b, &row, record, error) : take_numbered(b, sorter, record, error);
    }
    if (status == INMO_OK)
        status = end_row(b, &row, error);
    if (status == INMO_OK)
        status = inmo_sorter_end(sorter, b->memory / 4, b->memory / 8, error);
    free_row(&row);
    inmo_tape_read_end(&reader);
    return status;
}

/* Merges what the log has of each pair, and finds out who stays. */
static enum inmo_status filter(struct inmo_bounded *b, struct edges *edges, struct inmo_error *error)
{
    struct inmo_sorter sorter = {0}, cancelled = {0};
    size_t nodes = (size_t)b->users + (size_t)b->items;
    uint8_t *gone = NULL;
    enum inmo_status status = INMO_OK;
    edges->words = words_of(b);
    if (b->p.log->cancelled_lines > 0)
        status = sort_cancelled(b, &cancelled, error);
    if (status == INMO_OK)
        status = sort_lines(b, &sorter, error);
    if (status == INMO_OK)
        status = inmo_tape_open(&edges->tape, &b->spill->scratch, inmo_spill_buffer(b->memory), error);
    if (status == INMO_OK && !(edges->degree = inmo_alloc_zero(nodes, sizeof *edges->degree)))
        status = inmo_fail_memory(error, "the k-core");
    if (status == INMO_OK)
        status = merge(b, &sorter, cancelled.words ? &cancelled : NULL, take_edge, edges, error);
    if (status == INMO_OK)
        status = inmo_tape_end(&edges->tape, error);
    inmo_sorter_free(&sorter);
    inmo_sorter_free(&cancelled);
    if (status == INMO_OK && !(gone = inmo_alloc(nodes, sizeof *gone)))
        status = inmo_fail_memory(error, "the k-core");
    if (status == INMO_OK)
        status = inmo_bounded_core(b, &edges->tape, edges->words, edges->degree, gone, error);
    inmo_free(edges->degree);
    edges->degree = NULL;
    if (status == INMO_OK && b->kept == 0)
        status = inmo_preparation_fail_empty(&b->p, error);
    if (status == INMO_OK)
        status = inmo_bounded_number(b, gone, error);
    inmo_free(gone);
    return status;
}

static enum inmo_status keep_some(struct inmo_bounded *b, struct inmo_error *error)
{
    struct edges edges = {.tape = INMO_NO_TAPE};
    struct inmo_sorter sorter = {0};
    const uint64_t *record = NULL;
    enum inmo_status status = filter(b, &edges, error);
    if (status == INMO_OK && b->p.log->seen)
        status = inmo_bounded_see(b, error);
    if (status == INMO_OK)
        status = sort_kept(b, &edges, &sorter, error);
    inmo_free(edges.degree);
    inmo_tape_close(&edges.tape);
    if (status == INMO_OK)
        status = inmo_bounded_rows_begin(b, error);
    while (status == INMO_OK && (status = inmo_sorter_next(&sorter, &record, error)) == INMO_OK && record)
        status = take_row(b, NULL, record, error);
    inmo_sorter_free(&sorter);
    return status;
}

enum inmo_status inmo_bounded_parts(struct inmo_bounded *b, struct inmo_error *error)
{
    int drops = b->p.options.k_core > 1 || b->p.log->cancelled_lines > 0;
    enum inmo_status status = drops ? keep_some(b, error) : keep_all(b, error);
    return status == INMO_OK ? inmo_bounded_rows_end(b, error) : status;
}
