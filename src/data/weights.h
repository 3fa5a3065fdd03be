/* weights.h - how much each interaction of a data set counts (docs/math.md, "Weights and time"). Used only by
 * prepare.c.
 *
 *     c_ui = Σ of the weights of the pair's lines         a_ui = c_ui, or log2(1 + c_ui)
 *     w_ui = a_ui / (mean of a_uj over the user's j) · 2^-(age of the pair's latest line / half-life)
 *
 * The user's mean is over training and validation; the age is relative to the newest line of training. Lines that a
 * model could not know do not count: of a pair in training, those from the moment on when validation begins; of a
 * pair in validation, those of the time of the test. */
#ifndef INMO_DATA_WEIGHTS_H
#define INMO_DATA_WEIGHTS_H

#include "data/log.h"
#include "data/rows.h"

/* Pairs older than this many half-lives weigh no less: a weight stays above 0. */
#define INMO_HALF_LIVES_MOST 20.0

struct inmo_weight_rule {
    int plain;          /* a = c; else the logarithm */
    double half_life;   /* in the log's unit of time; 0: none */
    int by_column;      /* the log's own split column says which lines belong to which part */
    int by_time;        /* each user has moments of their own: the first line of validation, of the test */
    const int64_t *cut; /* (2) or NULL: when validation and test begin, for everybody */
};

/* Parses "90d", "12h", "3600": a number and s, min, h, d, w or y; without one of them, in the log's unit. newest is
 * the newest time of the log, which tells seconds from milliseconds. Errors: USAGE. */
enum inmo_status inmo_half_life_parse(const char *text, int64_t newest, double *half_life,
                                      struct inmo_error *error);
/* How many of the log's units of time a second has: 1, or for times too large to be seconds 1000, 10^6, 10^9. */
int64_t inmo_time_unit(int64_t newest);
/* The newest time of the log; 0 if it has none. */
int64_t inmo_log_newest(const struct inmo_log *log);

/* Sets rows->weight, one for each interaction. rows are numbered and have their parts; the orders map their numbers
 * to the log's. Errors: MEMORY. */
enum inmo_status inmo_weights_make(const struct inmo_log *log, const int32_t *user_order, const int32_t *item_order,
                                   const struct inmo_weight_rule *rule, struct inmo_rows *rows,
                                   struct inmo_error *error);

#endif
