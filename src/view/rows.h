/* rows.h - lists for people given by numbers. Private to rows.c and rows_many.c. */
#ifndef INMO_VIEW_ROWS_H
#define INMO_VIEW_ROWS_H

#include "view/gather.h"

/* Answers for some people of the query like requests; person[n] is a place in it. */
enum inmo_status inmo_rows_answer(const struct inmo_view *view, const struct inmo_rows_query *query,
                                  struct inmo_work *work, const int64_t *person, size_t count, int32_t *top_item,
                                  float *top_score, struct inmo_error *error);
/* Marks entries from .. k - 1 of a list as empty. */
void inmo_rows_put_nothing(int32_t *item, float *score, int from, int k);

/* Answers for all people of a query, which has been checked, by all worker threads. */
enum inmo_status inmo_rows_rank(const struct inmo_view *view, const struct inmo_rows_query *query,
                                const struct inmo_hooks *hooks, int32_t *item, float *score,
                                struct inmo_error *error);

#endif
