/* bounded.h - a preparation whose interactions do not fit into memory. Used only by bounded*.c.
 *
 *     lines  --sort by (user, item)-->  merged  [--> k-core --> numbered --sort again-->]  rows  -->  parts
 *
 * The numbers of users and items are arrays in memory, at most 20 bytes for each; interactions, ids and everything
 * that is written are in temporary files (base/scratch.h). Rows pass through in chunks of some users, in which
 * split.c works as on all of them. The brackets are left out when nobody can be dropped. */
#ifndef INMO_DATA_BOUNDED_H
#define INMO_DATA_BOUNDED_H

#include "data/preparation.h"
#include "data/sorter.h"
#include "data/spill.h"

enum { INMO_PARTS = INMO_ASIDE + 1, INMO_ID_LISTS = 4 }; /* users, items, extra users, extra items */

/* Rows of some users on their way into the parts. */
struct inmo_chunk {
    struct inmo_rows rows;                 // item and part have the capacity
    size_t capacity, user_capacity, most;  // most: entries at which it is passed on
    const uint64_t *seen;                  // the next pair that was seen, NULL: none
    int32_t last;                          // user of the last row; -1: none
};

struct inmo_bounded {
    struct inmo_preparation p;
    struct inmo_spill *spill;
    size_t memory;
    int32_t users, items;          // of the log
    int64_t merged;                // interactions after merging duplicates
    int64_t kept;                  // and after the k-core
    int32_t *number[2];            // (users, items) of the data set; negative: dropped; NULL: as in the log
    int32_t count[2], extras[2];   // users and items of the data set, and those known by name only
    uint8_t *is_new[2], *trained;  // (count[0]), (count[1]), (count[1])
    int64_t part_count[INMO_PARTS], seen_count, untrained_users;
    struct inmo_sorter seen;  // pairs in the numbers of the data set
    struct inmo_chunk chunk;
    struct inmo_tape part_offset[INMO_PARTS], part_item[INMO_PARTS], seen_offset, seen_item;
    struct inmo_tape id_offset[INMO_ID_LISTS], id_text[INMO_ID_LISTS];
    double began, reported;
};

/* Bytes for sorting beside arrays of so many bytes a node. */
size_t inmo_bounded_room(const struct inmo_bounded *b, int64_t node_bytes);
/* Progress, now and then. */
void inmo_bounded_report(struct inmo_bounded *b, const char *stage, int64_t done, int64_t total);

/* bounded.c. From the lines of the spill to the parts. */
enum inmo_status inmo_bounded_parts(struct inmo_bounded *b, struct inmo_error *error);

/* bounded_core.c. Which users and items (users first) are not in the k-core of the interactions on a tape, which
 * are sorted; b->kept counts what is. degree: (users + items). The tape may be replaced by a shorter one. */
enum inmo_status inmo_bounded_core(struct inmo_bounded *b, struct inmo_tape *edges, int words, int32_t *degree,
                                   uint8_t *gone, struct inmo_error *error);
/* Numbers users and items by first appearance in the lines among those that are not gone (NULL: nobody is). */
enum inmo_status inmo_bounded_number(struct inmo_bounded *b, const uint8_t *gone, struct inmo_error *error);
/* Numbers those known only from what was seen, and sorts those pairs. */
enum inmo_status inmo_bounded_see(struct inmo_bounded *b, struct inmo_error *error);

/* bounded_rows.c. Interactions in the numbers of the data set, sorted, become the parts. */
enum inmo_status inmo_bounded_rows_begin(struct inmo_bounded *b, struct inmo_error *error);
enum inmo_status inmo_bounded_rows_add(struct inmo_bounded *b, int32_t user, int32_t item, uint8_t part,
                                       struct inmo_error *error);
enum inmo_status inmo_bounded_rows_end(struct inmo_bounded *b, struct inmo_error *error);

/* bounded_write.c. The ids in the order of the data set; then all of it into a directory. */
enum inmo_status inmo_bounded_ids(struct inmo_bounded *b, struct inmo_error *error);
enum inmo_status inmo_bounded_write(const struct inmo_bounded *b, const struct inmo_dataset_info *info,
                                    const char *directory, int force, struct inmo_error *error);

#endif
