/* top.c - the k best of a stream of scores. O(log k) for a score that gets in, one comparison for others. */
#include "kernel/top.h"

#include <math.h>

/* 1 if a ranks below b. */
static int worse(float a_score, int32_t a_item, float b_score, int32_t b_item)
{
    return a_score < b_score || (a_score == b_score && a_item > b_item);
}

static void put(struct inmo_top *top, int32_t at, float score, int32_t item)
{
    top->score[at] = score;
    top->item[at] = item;
}

/* Inserts (score, item) into the heap of the first count entries, from the hole at its top. */
static void sift_down(struct inmo_top *top, int32_t count, float score, int32_t item)
{
    int32_t hole = 0;
    for (;;) {
        int32_t child = 2 * hole + 1;
        if (child >= count)
            break;
        if (child + 1 < count &&
            worse(top->score[child + 1], top->item[child + 1], top->score[child], top->item[child]))
            child++;
        if (!worse(top->score[child], top->item[child], score, item))
            break;
        put(top, hole, top->score[child], top->item[child]);
        hole = child;
    }
    put(top, hole, score, item);
}

static void sift_up(struct inmo_top *top, int32_t hole, float score, int32_t item)
{
    while (hole > 0) {
        int32_t parent = (hole - 1) / 2;
        if (!worse(score, item, top->score[parent], top->item[parent]))
            break;
        put(top, hole, top->score[parent], top->item[parent]);
        hole = parent;
    }
    put(top, hole, score, item);
}

float inmo_top_bound(const struct inmo_top *top)
{
    return top->count < top->k ? -INFINITY : top->score[0];
}

void inmo_top_add(struct inmo_top *top, float score, int32_t item)
{
    float bound = inmo_top_bound(top);
    if (!(score > bound) && !(top->count == top->k && score == bound && item < top->item[0]))
        return;
    if (top->count < top->k)
        sift_up(top, top->count++, score, item);
    else
        sift_down(top, top->count, score, item);
}

void inmo_top_sort(struct inmo_top *top)
{
    for (int32_t count = top->count; count > 1; count--) {
        float score = top->score[0];
        int32_t item = top->item[0];
        sift_down(top, count - 1, top->score[count - 1], top->item[count - 1]);
        put(top, count - 1, score, item);
    }
}
