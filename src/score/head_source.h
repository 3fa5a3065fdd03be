/* head_source.h - a head's scores as a source of full rankings. */
#ifndef INMO_SCORE_HEAD_SOURCE_H
#define INMO_SCORE_HEAD_SOURCE_H

#include "model/head.h"
#include "score/rank.h"

/* Scores of the users of a graph, for inmo_rank. Its address must not change while fill is in use. */
struct inmo_head_source {
    const struct inmo_head *head;
    int width;
    const float *user;  // (users, width)
    struct inmo_head_scores *scores;
    struct inmo_fill fill;
};
/* r (users + items, width). MEMORY. */
enum inmo_status inmo_head_source_open(struct inmo_head_source *source, const struct inmo_head *head, int width,
                                       const float *own, const float *r, int32_t users, int32_t items,
                                       struct inmo_error *error);
void inmo_head_source_close(struct inmo_head_source *source);

#endif
