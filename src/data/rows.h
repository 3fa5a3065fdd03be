/* rows.h - interactions by user during preparation. Used only inside data/.
 *
 *     log  ->  collect  ->  merge  ->  core  ->  number
 *              by user      one per    k-core    in order of first appearance,
 *                           pair                 each row ascending */
#ifndef INMO_DATA_ROWS_H
#define INMO_DATA_ROWS_H

#include "base/csr.h"
#include "base/status.h"
#include "data/log.h"

#include <stdint.h>

/* User u has entries offset[u] .. offset[u + 1] - 1. Owns its arrays; starts as {0}, freed by inmo_rows_free. */
struct inmo_rows {
    int32_t users, items;
    int32_t first;    // number of the first user: above 0 where these are some rows of many (bounded.h)
    int64_t *offset;  // (users + 1)
    int32_t *item;    // (offset[users])
    int64_t *time;    // (offset[users]) or NULL
    uint8_t *part;    // (offset[users]) enum inmo_part of split.h, or NULL
    float *weight;    // (offset[users]) once the rows are numbered (weights.h), or NULL
};

void inmo_rows_free(struct inmo_rows *rows);

/* The log by user, in the log's numbers, each row in the order of the log. */
enum inmo_status inmo_rows_collect(const struct inmo_log *log, int with_time, int with_part, struct inmo_rows *rows,
                                   struct inmo_error *error);
/* Removes, in place, the interactions whose item is negative. */
void inmo_rows_close_gaps(struct inmo_rows *rows);
/* Removes the pairs that seen has as INMO_CANCELLED. */
enum inmo_status inmo_rows_cancel(struct inmo_rows *rows, const struct inmo_log *seen, int64_t *cancelled,
                                  struct inmo_error *error);
/* Keeps one interaction per pair: the earliest if there are times, else the first. */
enum inmo_status inmo_rows_merge(struct inmo_rows *rows, int64_t *merged, struct inmo_error *error);
/* Applies the k-core: keeps the largest set of interactions in which every user and item has at least k. */
enum inmo_status inmo_rows_core(struct inmo_rows *rows, int k, int64_t *removed, struct inmo_error *error);
/* Renumbers users and items 0, 1, ... by first appearance in the log among what is kept, and sorts each row. Drops
 * times. The orders map new numbers to those of the log; free them with inmo_free. */
enum inmo_status inmo_rows_number(const struct inmo_log *log, struct inmo_rows *rows, int32_t **user_order,
                                  int32_t **item_order, struct inmo_error *error);
/* Copies the interactions of one part, with their weights if there are any and they are asked for; the rows must be
 * ascending. csr owns its arrays. */
enum inmo_status inmo_rows_part(const struct inmo_rows *rows, uint8_t part, int with_weights, struct inmo_csr *csr,
                                struct inmo_error *error);

#endif
