/* work.c - see work.h. The arena is a list of blocks. If a call needed several, they are merged into one block of
 * their total size, so that the next such call allocates nothing. */
#include "view/work.h"

#include "base/memory.h"

#include <string.h>

enum { LEAST_BLOCK = 1 << 16, LINE = 64 };

struct inmo_work_block {
    struct inmo_work_block *next;
    size_t used, size;
    char *bytes;
};

enum inmo_status inmo_work_create(struct inmo_work **out, struct inmo_error *error)
{
    struct inmo_work *work = inmo_alloc_zero(1, sizeof *work);
    if (!work)
        return inmo_fail_memory(error, "a work space");
    *out = work;
    return INMO_OK;
}

static void free_blocks(struct inmo_work *work)
{
    while (work->block) {
        struct inmo_work_block *next = work->block->next;
        inmo_free(work->block->bytes);
        inmo_free(work->block);
        work->block = next;
    }
}

void inmo_work_free(struct inmo_work *work)
{
    if (!work)
        return;
    inmo_free(work->scratch);
    inmo_free(work->score);
    inmo_sums_free(&work->sums);
    inmo_scan_space_free(&work->scan);
    free_blocks(work);
    inmo_free(work);
}

/* 0, or -1 when memory is short. */
static int add_block(struct inmo_work *work, size_t size)
{
    struct inmo_work_block *block = inmo_alloc(1, sizeof *block);
    char *bytes = inmo_alloc(size, 1);
    if (!block || !bytes) {
        inmo_free(bytes);
        inmo_free(block);
        return -1;
    }
    *block = (struct inmo_work_block){work->block, 0, size, bytes};
    work->block = block;
    return 0;
}

void inmo_work_empty(struct inmo_work *work)
{
    if (work->block && work->block->next) {
        size_t needed = work->needed;
        free_blocks(work);
        if (add_block(work, needed) != 0)
            work->block = NULL; /* inmo_work_take will try again */
    }
    if (work->block)
        work->block->used = 0;
    work->needed = 0;
}

void *inmo_work_take(struct inmo_work *work, size_t count, size_t size)
{
    size_t bytes;
    char *taken;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    bytes = (bytes + LINE) / LINE * LINE; /* never empty */
    if (!work->block || work->block->size - work->block->used < bytes) {
        size_t least = work->block ? 2 * work->block->size : LEAST_BLOCK;
        if (add_block(work, bytes > least ? bytes : least) != 0)
            return NULL;
    }
    taken = work->block->bytes + work->block->used;
    work->block->used += bytes;
    work->needed += bytes;
    return taken;
}

int inmo_work_sums(struct inmo_work *work, int32_t items)
{
    if (work->sums.items >= items && work->sums.sum)
        return 0;
    inmo_sums_free(&work->sums);
    if (inmo_sums_make(&work->sums, items) == 0)
        return 0;
    inmo_sums_free(&work->sums);
    return -1;
}

int inmo_work_score_space(struct inmo_work *work, const struct inmo_snapshot *snapshot, int32_t people)
{
    size_t size = (size_t)people * (size_t)snapshot->graph->items, bytes = snapshot->scorer.fill.scratch_bytes;
    if (size > work->score_size || !work->score) {
        inmo_free(work->score);
        work->score = inmo_alloc(size, sizeof *work->score);
        work->score_size = work->score ? size : 0;
    }
    if (work->scratch_of != snapshot->serial || bytes > work->scratch_bytes || !work->scratch) {
        inmo_free(work->scratch); /* another snapshot may use another layout */
        work->scratch = inmo_alloc_zero(bytes, 1);
        work->scratch_bytes = work->scratch ? bytes : 0;
        work->scratch_of = snapshot->serial;
    }
    return work->score && work->scratch ? 0 : -1;
}

struct inmo_work *inmo_view_borrow(const struct inmo_view *view)
{
    struct inmo_view *own = (struct inmo_view *)view; /* the list of idle work spaces has its own lock */
    struct inmo_work *work;
    pthread_mutex_lock(&own->idle_lock);
    work = own->idle;
    if (work)
        own->idle = work->next;
    pthread_mutex_unlock(&own->idle_lock);
    if (!work && inmo_work_create(&work, NULL))
        return NULL;
    inmo_work_empty(work);
    return work;
}

void inmo_view_give_back(const struct inmo_view *view, struct inmo_work *work)
{
    struct inmo_view *own = (struct inmo_view *)view;
    if (!work)
        return;
    pthread_mutex_lock(&own->idle_lock);
    work->next = own->idle;
    own->idle = work;
    pthread_mutex_unlock(&own->idle_lock);
}
