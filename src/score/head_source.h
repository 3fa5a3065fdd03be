/* head_source.h - lets a full ranking (rank.h) take its scores from a head. */
#ifndef INMO_SCORE_HEAD_SOURCE_H
#define INMO_SCORE_HEAD_SOURCE_H

#include "model/head.h"
#include "score/rank.h"

/* Scores the users of a graph, for inmo_rank. Do not move it while fill is in use. */
struct inmo_head_source {
    const struct inmo_head *head;
    int width;
    const float *user;  // (users, width)
    struct inmo_head_scores *scores;
    struct inmo_fill fill;
};
/* r: (users + items, width). Errors: MEMORY. */
enum inmo_status inmo_head_source_open(struct inmo_head_source *source, const struct inmo_head *head, int width,
                                       const float *own, const float *r, int32_t users, int32_t items,
                                       struct inmo_error *error);
void inmo_head_source_close(struct inmo_head_source *source);

#endif
