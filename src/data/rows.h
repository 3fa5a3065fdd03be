/* rows.h - interactions by user while they are being prepared. Inside data/ only.
 *
 *     log  ->  collect  ->  merge  ->  core  ->  number
 *              by user      one a      k-core    in order of first appearance,
 *                           pair                 each row ascending */
#ifndef INMO_DATA_ROWS_H
#define INMO_DATA_ROWS_H

#include "base/status.h"
#include "data/log.h"

#include <stdint.h>

/* User u has offset[u] .. offset[u + 1] - 1. Owns its arrays; starts as {0}, ends with inmo_rows_free. */
struct inmo_rows {
    int32_t users, items;
    int64_t *offset;  // (users + 1)
    int32_t *item;    // (offset[users])
    int64_t *time;    // (offset[users]) or NULL
    uint8_t *part;    // (offset[users]) enum inmo_part of split.h, or NULL
};

void inmo_rows_free(struct inmo_rows *rows);

/* The log by user, in the log's numbers, each row in the order of the log. */
enum inmo_status inmo_rows_collect(const struct inmo_log *log, int with_time, int with_part, struct inmo_rows *rows,
                                   struct inmo_error *error);
/* Keeps one interaction a pair: the earliest if there are times, of equal ones the first. */
enum inmo_status inmo_rows_merge(struct inmo_rows *rows, int64_t *merged, struct inmo_error *error);
/* Keeps the largest set of interactions in which every user and item that has any has k. */
enum inmo_status inmo_rows_core(struct inmo_rows *rows, int k, int64_t *removed, struct inmo_error *error);
/* Renames users and items to 0, 1, ... in the order in which the log first has them among what is kept, and sorts
 * each row. Times are dropped. The orders give each new number its number in the log; freed with inmo_free. */
enum inmo_status inmo_rows_number(const struct inmo_log *log, struct inmo_rows *rows, int32_t **user_order,
                                  int32_t **item_order, struct inmo_error *error);

#endif
