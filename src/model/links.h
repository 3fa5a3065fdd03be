/* links.h - item links as a model keeps them: a sparse matrix of what an item of a history adds to the scores of
 * other items. How they are found and used: score/link_solve.h, score/links.h. */
#ifndef INMO_MODEL_LINKS_H
#define INMO_MODEL_LINKS_H

#include "base/status.h"

/* Default number of items that an item is predicted from. */
enum { INMO_LINK_NEIGHBOURS = 200 };

struct inmo_link_rule {
    int32_t k;           /* most neighbours of an item */
    double ridge, share; /* added to the diagonal: ridge + share · G_jj */
    double popularity;   /* γ */
    double spectrum;     /* weight of what singular vectors add (score/link_spectrum.h); 0: nothing */
};

struct inmo_link_rule inmo_link_rule_default(double popularity);

/* By the item of the history: item j adds to item[offset[j]] .. item[offset[j + 1] - 1], ascending. */
struct inmo_links {
    int32_t items;
    float factor;
    const int64_t *offset;  // (items + 1)
    const int32_t *item;
    const float *weight;
    void *owned; /* the memory of the three arrays; NULL: they are somebody else's */
};

/* An empty set of links with room for so many; the caller fills the arrays that owned points to. */
struct inmo_links *inmo_links_new(int32_t items, int64_t count);
void inmo_links_free(struct inmo_links *links);

static inline int64_t inmo_links_count(const struct inmo_links *links)
{
    return links->offset[links->items];
}
/* 1 if offsets, items and weights are those of links among so many items. */
int inmo_links_are_sound(const struct inmo_links *links);

#endif
