/* head_source.c - see head_source.h. */
#include "score/head_source.h"

#include <string.h>

static size_t user_bytes(const struct inmo_head *head, int width)
{
    return (size_t)head->users * (size_t)width * sizeof(float);
}

static void fill_scores(const void *context, const int32_t *who, int32_t count, void *scratch, float *score)
{
    const struct inmo_head_source *source = context;
    size_t width = (size_t)source->width;
    float *user = scratch;  // (users, width), followed by the head's own scratch
    for (int32_t n = 0; n < count; n++)
        memcpy(user + (size_t)n * width, source->user + (size_t)who[n] * width, width * sizeof *user);
    source->head->score(source->scores, user, count, (char *)scratch + user_bytes(source->head, source->width),
                        score);
}

enum inmo_status inmo_head_source_open(struct inmo_head_source *source, const struct inmo_head *head, int width,
                                       const float *own, const float *r, int32_t users, int32_t items,
                                       struct inmo_error *error)
{
    *source = (struct inmo_head_source){.head = head, .width = width, .user = r};
    source->scores = head->open(width, own, r + (size_t)users * (size_t)width, items);
    if (!source->scores)
        return inmo_fail_memory(error, "the scores");
    source->fill =
        (struct inmo_fill){fill_scores, source, user_bytes(head, width) + head->scratch_bytes(width), head->users};
    return INMO_OK;
}

void inmo_head_source_close(struct inmo_head_source *source)
{
    if (source->scores)
        source->head->close(source->scores);
    *source = (struct inmo_head_source){0};
}
