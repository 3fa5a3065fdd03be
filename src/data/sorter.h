/* sorter.h - sorts more records than fit into memory.
 *
 *     add  ->  buffer  --sorted when full-->  run  run  run  ...  --merged-->  next
 *
 * A record is 1 to INMO_SORT_WORDS words of 64 bits. The first has the key in its upper 62 bits and two bits that
 * are only carried along. The sort is stable: records of the same key come out in the order in which they went in.
 * What fits into the buffer is never written to a file. */
#ifndef INMO_DATA_SORTER_H
#define INMO_DATA_SORTER_H

#include "base/scratch.h"

enum { INMO_SORT_WORDS = 3 };

/* (a, b) as a key, with c in the two bits; a and b are below 2^31. */
static inline uint64_t inmo_sort_key(int32_t a, int32_t b, unsigned c)
{
    return (uint64_t)(uint32_t)a << 33 | (uint64_t)(uint32_t)b << 2 | c;
}
static inline int32_t inmo_sort_first(uint64_t key)
{
    return (int32_t)(key >> 33);
}
static inline int32_t inmo_sort_second(uint64_t key)
{
    return (int32_t)(key >> 2 & 0x7fffffff);
}

struct inmo_sorter { /* starts as {0} */
    const struct inmo_scratch *scratch;
    int words;
    size_t capacity, count;    // of record, in records
    uint64_t *record, *spare;  // (capacity * words)
    uint64_t any, all;         // OR and AND of the keys in the buffer
    int64_t added;             // records in all
    struct inmo_tape runs;     // one after the other
    int64_t *run;              // (run_count + 1) where each begins
    size_t run_count, run_capacity;
    struct inmo_tape_reader *source;  // (sources) while merging
    struct inmo_sort_head *heap;      // (alive of sources)
    size_t sources, alive;
    int taken;     // the head of the heap has been given out
    size_t given;  // records of the buffer, when there are no runs
};

/* memory: bytes of the buffer and of the one beside it that sorting needs. */
enum inmo_status inmo_sorter_make(struct inmo_sorter *sorter, const struct inmo_scratch *scratch, int words,
                                  size_t memory, struct inmo_error *error);
void inmo_sorter_free(struct inmo_sorter *sorter);

/* Sorts the buffer and writes it as a run. */
enum inmo_status inmo_sorter_flush(struct inmo_sorter *sorter, struct inmo_error *error);

static inline enum inmo_status inmo_sorter_add(struct inmo_sorter *sorter, const uint64_t *record,
                                               struct inmo_error *error)
{
    uint64_t *to;
    if (sorter->count == sorter->capacity) {
        enum inmo_status status = inmo_sorter_flush(sorter, error);
        if (status != INMO_OK)
            return status;
    }
    to = sorter->record + sorter->count++ * (size_t)sorter->words;
    for (int n = 0; n < sorter->words; n++)
        to[n] = record[n];
    sorter->any |= record[0];
    sorter->all &= record[0];
    sorter->added++;
    return INMO_OK;
}

/* After the last record. kept: bytes that may stay in memory; more goes to a file. merging: bytes for merging. */
enum inmo_status inmo_sorter_end(struct inmo_sorter *sorter, size_t kept, size_t merging, struct inmo_error *error);
/* The next record in order, valid until the next call; NULL after the last. */
enum inmo_status inmo_sorter_next(struct inmo_sorter *sorter, const uint64_t **record, struct inmo_error *error);

/* Sorts records in memory: *record is the result, *spare the other buffer; they may have been exchanged. any and
 * all are the OR and the AND of the keys. */
void inmo_sort_records(uint64_t **record, uint64_t **spare, size_t count, int words, uint64_t any, uint64_t all);

#endif
