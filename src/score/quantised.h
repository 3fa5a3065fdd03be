/* quantised.h - exact search for the k best rows of a query, with a first pass over rows quantised to bytes.
 *
 * A row x is stored as x ≈ s·c, c bytes, with the length of the error, ρ = ‖x − s·c‖. The query q is rounded to 7
 * bits, q ≈ t·b. Then
 *
 *     |q·x − s·t·(b·c)|  ≤  ‖q‖·ρ + ‖q − t·b‖·‖s·c‖        (Cauchy-Schwarz, twice)
 *
 * which gives each row a lower and an upper bound. Rows whose upper bound is below the k-th largest lower bound
 * cannot be among the k best; the few others are scored in float. The result is that of scoring every row, bit for
 * bit. With d = 64 it reads less than a third of the memory: d + 12 bytes a row instead of 4 d, once.
 *
 *     bytes: blocks of 16 rows; in a block, for each group of 4 numbers, 16 rows x 4 bytes (kernel.h) */
#ifndef INMO_SCORE_QUANTISED_H
#define INMO_SCORE_QUANTISED_H

#include "base/status.h"
#include "kernel/kernel.h"
#include "score/rank.h"

struct inmo_quantised {
    int64_t rows;
    int dim;
    const float *exact;       // (rows, dim) not owned
    struct inmo_bytes bytes;  // left_out includes a margin for the rounding of float scores
};

enum inmo_status inmo_quantised_make(const float *rows, int64_t count, int dim, struct inmo_quantised **quantised,
                                     struct inmo_error *error);
void inmo_quantised_free(struct inmo_quantised *quantised);

/* One query of a pass. Rows in closed are skipped; boost[n] is added to the score of row boosted[n]. Both lists
 * are ascending. */
struct inmo_scan_query {
    const float *vector;     // (dim)
    const int32_t *closed;   // (closed_count)
    const int32_t *boosted;  // (boosted_count)
    const float *boost;      // (boosted_count)
    int32_t closed_count, boosted_count;
    struct inmo_top top; /* has room for k; filled and sorted, best first */
    int64_t scored;      /* out: how many rows had to be scored in float */
};

/* Reusable memory for passes. Starts out empty. */
struct inmo_scan_space {
    struct inmo_scan_pass *pass;
    size_t passes;
    void *memory;
    size_t bytes;
};
void inmo_scan_space_free(struct inmo_scan_space *space);

/* Finds the k best rows of each query in one pass over the bytes. left_out: (rows) 1 for rows to skip in all
 * queries, or NULL. Allocates only if it needs more memory than any call before. */
enum inmo_status inmo_quantised_scan(const struct inmo_quantised *quantised, const uint8_t *left_out,
                                     struct inmo_scan_query *query, size_t count, struct inmo_scan_space *space,
                                     struct inmo_error *error);

/* A single query with a temporary space: puts the k best rows that are not closed (closed NULL: none is) into top,
 * which has room for k, sorted best first. scored (may be NULL): how many rows had to be scored in float. */
enum inmo_status inmo_quantised_top(const struct inmo_quantised *quantised, const float *query,
                                    const uint8_t *closed, struct inmo_top *top, int64_t *scored,
                                    struct inmo_error *error);

/* The naive twin: scores every row in float. */
void inmo_scan_top(const float *rows, int64_t count, int dim, const float *query, const uint8_t *closed,
                   struct inmo_top *top);

#endif
