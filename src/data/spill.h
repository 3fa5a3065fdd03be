/* spill.h - a log that is written to temporary files while it is read, because it may not fit into memory.
 *
 * The tables of ids may not fit either. When they are full, they are written out, and empty ones begin to number
 * ids from 0 again: a generation. At the end the generations are brought together: every id gets the number that
 * one large table would have given it, and the lines are renumbered.
 *
 *     lines   (user, item, part)[, time]   in the order of the log
 *     seen    (user, item, kind)
 *     names   length and text of each id, in the order of its number
 *
 * Memory: half of the bound for the tables; at the end 4 bytes an id, and 4 an id of the largest generation. */
#ifndef INMO_DATA_SPILL_H
#define INMO_DATA_SPILL_H

#include "base/scratch.h"
#include "data/log.h"
#include "data/sorter.h"

struct inmo_spill_side {      /* users or items */
    struct inmo_tape names;   // of all generations, one after the other; in the end, of each id once
    struct inmo_tape sorted;  // hash, number, length and text, by hash in each generation
    int32_t count;            // in the end
};

/* Where a generation ends. */
struct inmo_generation {
    int64_t lines, seen;  // bytes
    int64_t sorted[2];
    int32_t count[2];
};

struct inmo_spill {
    struct inmo_scratch scratch;
    size_t memory;
    struct inmo_tape lines, seen;
    int words; /* of a line: 1, or 2 with times */
    struct inmo_spill_side side[2];
    struct inmo_generation *generation;  // (generations)
    size_t generations, generation_capacity;
    int32_t known[2];  // ids of the tables, as far as lines have named them
    int grown;         // since the tables were last looked at
};

/* folder: for the temporary files. memory: bytes that everything after this may take, at least
 * INMO_LEAST_MEMORY. */
enum { INMO_LEAST_MEMORY = 4 << 20 };
enum inmo_status inmo_spill_new(const char *folder, size_t memory, const struct inmo_hooks *hooks,
                                struct inmo_spill **spill, struct inmo_error *error);
void inmo_spill_free(struct inmo_spill *spill);

/* Whether the tables of the log must be written out before the next line. */
int inmo_spill_look(struct inmo_spill *spill, const struct inmo_log *log);
static inline int inmo_spill_is_full(struct inmo_spill *spill, const struct inmo_log *log)
{
    return spill->grown && inmo_spill_look(spill, log);
}
/* Writes them out and gives the log empty ones: numbers from before are no longer those of the tables. only: there
 * is no other generation to be brought together with this one. */
enum inmo_status inmo_spill_turn(struct inmo_spill *spill, struct inmo_log *log, int only,
                                 struct inmo_error *error);
/* Adds a line, in the numbers of the tables. Counts it in the log. */
enum inmo_status inmo_spill_add(struct inmo_spill *spill, struct inmo_log *log, int32_t user, int32_t item,
                                int64_t time, uint8_t part, enum inmo_kind kind, struct inmo_error *error);
/* After the last line: brings the generations together. The tables of the log are empty afterwards. */
enum inmo_status inmo_spill_end(struct inmo_spill *spill, struct inmo_log *log, struct inmo_error *error);

/* The next name of a reader of names: *text is not NUL-terminated, NULL after the last. */
enum inmo_status inmo_spill_next_name(struct inmo_tape_reader *reader, const char **text, uint16_t *length,
                                      struct inmo_error *error);
/* Buffers that grow with the bound, within reason. */
size_t inmo_spill_buffer(size_t memory);
/* Arrays with an entry for each user and item take up to 20 bytes an entry: MEMORY, with a sentence that says how
 * much would do, if they leave too little of the bound. */
enum inmo_status inmo_spill_check(size_t memory, int64_t users, int64_t items, struct inmo_error *error);

#endif
