/* overlay.c - see overlay.h. An event costs a hash lookup and a scan of that user's changes since the snapshot;
 * forgetting an item scans all changes. */
#include "view/overlay.h"

#include "base/memory.h"

#include <string.h>

enum { LEAST_SLOTS = 64 };

static int push(struct inmo_numbers *list, int32_t number)
{
    if (list->count == list->capacity) {
        int32_t capacity = list->capacity > 0 ? 2 * list->capacity : 4;
        int32_t *grown = inmo_resize(list->number, (size_t)list->count, (size_t)capacity, sizeof *grown);
        if (!grown)
            return -1;
        list->number = grown;
        list->capacity = capacity;
    }
    list->number[list->count++] = number;
    return 0;
}

static int32_t position(const struct inmo_numbers *list, int32_t number)
{
    for (int32_t n = 0; n < list->count; n++)
        if (list->number[n] == number)
            return n;
    return -1;
}

static int take_out(struct inmo_numbers *list, int32_t number)
{
    int32_t at = position(list, number);
    if (at < 0)
        return 0;
    memmove(list->number + at, list->number + at + 1, (size_t)(list->count - at - 1) * sizeof *list->number);
    list->count--;
    return 1;
}

static void drop(struct inmo_numbers *list)
{
    inmo_free(list->number);
    *list = (struct inmo_numbers){0};
}

enum inmo_status inmo_overlay_make(const struct inmo_snapshot *snapshot, struct inmo_overlay *overlay,
                                   struct inmo_error *error)
{
    *overlay = (struct inmo_overlay){.snapshot = snapshot, .slot_mask = LEAST_SLOTS - 1};
    overlay->slot = inmo_alloc_zero(LEAST_SLOTS, sizeof *overlay->slot);
    return overlay->slot ? INMO_OK : inmo_fail_memory(error, "the events");
}

void inmo_overlay_free(struct inmo_overlay *overlay)
{
    for (int32_t n = 0; n < overlay->newcomers; n++) {
        inmo_free(overlay->newcomer[n].r);
        drop(&overlay->newcomer[n].users);
    }
    for (int32_t n = 0; n < overlay->changes; n++) {
        drop(&overlay->change[n].removed);
        drop(&overlay->change[n].added);
    }
    drop(&overlay->gone);
    inmo_free(overlay->newcomer);
    inmo_free(overlay->slot);
    inmo_free(overlay->change);
    *overlay = (struct inmo_overlay){0};
}

/* The slot of the user, or the empty slot where it belongs. */
static uint32_t probe(const struct inmo_overlay *overlay, int32_t user)
{
    uint32_t at = (uint32_t)user * 0x9E3779B1u;
    for (at = (at ^ at >> 15) & overlay->slot_mask; overlay->slot[at]; at = (at + 1) & overlay->slot_mask)
        if (overlay->change[overlay->slot[at] - 1].user == user)
            break;
    return at;
}

const struct inmo_change *inmo_overlay_change(const struct inmo_overlay *overlay, int32_t user)
{
    int32_t number = overlay->slot[probe(overlay, user)];
    return number ? overlay->change + number - 1 : NULL;
}

/* Makes room for one more change. */
static int grow(struct inmo_overlay *overlay)
{
    if (overlay->changes == overlay->change_capacity) {
        int32_t capacity = overlay->change_capacity > 0 ? 2 * overlay->change_capacity : 16;
        struct inmo_change *grown =
            inmo_resize(overlay->change, (size_t)overlay->changes, (size_t)capacity, sizeof *grown);
        if (!grown)
            return -1;
        overlay->change = grown;
        overlay->change_capacity = capacity;
    }
    if (2 * ((uint32_t)overlay->changes + 1) > overlay->slot_mask) {
        uint32_t mask = 2 * overlay->slot_mask + 1;
        int32_t *slot = inmo_alloc_zero((size_t)mask + 1, sizeof *slot);
        if (!slot)
            return -1;
        inmo_free(overlay->slot);
        overlay->slot = slot;
        overlay->slot_mask = mask;
        for (int32_t n = 0; n < overlay->changes; n++)
            slot[probe(overlay, overlay->change[n].user)] = n + 1;
    }
    return 0;
}

/* The user's change, created if there is none; NULL when memory is short. */
static struct inmo_change *change_of(struct inmo_overlay *overlay, int32_t user)
{
    uint32_t at = probe(overlay, user);
    if (overlay->slot[at])
        return overlay->change + overlay->slot[at] - 1;
    if (grow(overlay) != 0)
        return NULL;
    at = probe(overlay, user);
    overlay->change[overlay->changes] = (struct inmo_change){.user = user};
    overlay->slot[at] = ++overlay->changes;
    return overlay->change + overlay->changes - 1;
}

static int has_past(const struct inmo_overlay *overlay, int32_t user, const struct inmo_change *change)
{
    return user < overlay->snapshot->graph->users && !inmo_snapshot_is_gone(overlay->snapshot, user) &&
           !(change && change->forgotten);
}

static int in_past(const struct inmo_overlay *overlay, int32_t user, const struct inmo_change *change, int32_t item)
{
    const struct inmo_graph *graph = overlay->snapshot->graph;
    struct inmo_csr rows = {graph->nodes, graph->nodes, graph->offset, graph->neighbour, NULL};
    return item < graph->items && has_past(overlay, user, change) && !inmo_overlay_is_gone(overlay, item) &&
           inmo_csr_has(&rows, user, graph->users + item);
}

int inmo_overlay_has_past(const struct inmo_overlay *overlay, int32_t user)
{
    return has_past(overlay, user, inmo_overlay_change(overlay, user));
}

int inmo_overlay_has_user(const struct inmo_overlay *overlay, int32_t user)
{
    const struct inmo_change *change = inmo_overlay_change(overlay, user);
    return has_past(overlay, user, change) || (change && change->added.count > 0);
}

int inmo_overlay_is_gone(const struct inmo_overlay *overlay, int32_t item)
{
    return inmo_holds(overlay->gone.number, overlay->gone.count, item);
}

int inmo_overlay_has_item(const struct inmo_overlay *overlay, int32_t item)
{
    const struct inmo_graph *graph = overlay->snapshot->graph;
    int32_t n = item - graph->items;
    if (n >= 0)
        return n < overlay->newcomers && overlay->newcomer[n].users.count > 0;
    return !inmo_overlay_is_gone(overlay, item) && !inmo_snapshot_is_gone(overlay->snapshot, graph->users + item);
}

/* The newcomer for the item, created if there is none. NULL for an item of the snapshot, or when memory is short
 * (*failed is set). */
static struct inmo_newcomer *newcomer_of(struct inmo_overlay *overlay, int32_t item, int *failed)
{
    int32_t n = item - overlay->snapshot->graph->items;
    if (n < 0)
        return NULL;
    if (n >= overlay->newcomer_capacity) {
        int32_t capacity = n < 8 ? 16 : 2 * n;
        struct inmo_newcomer *grown =
            inmo_resize(overlay->newcomer, (size_t)overlay->newcomers, (size_t)capacity, sizeof *grown);
        if (!grown) {
            *failed = 1;
            return NULL;
        }
        overlay->newcomer = grown;
        overlay->newcomer_capacity = capacity;
    }
    while (overlay->newcomers <= n)
        overlay->newcomer[overlay->newcomers++] = (struct inmo_newcomer){0};
    return overlay->newcomer + n;
}

static void mark_stale(struct inmo_overlay *overlay, struct inmo_newcomer *newcomer)
{
    overlay->stale += !newcomer->stale;
    newcomer->stale = 1;
}

static int observe(struct inmo_overlay *overlay, struct inmo_happening *happening)
{
    int32_t user = happening->user, item = happening->item;
    int failed = 0;
    struct inmo_newcomer *newcomer = newcomer_of(overlay, item, &failed);
    struct inmo_change *change = failed ? NULL : change_of(overlay, user);
    if (!change)
        return -1;
    happening->effect = take_out(&change->removed, item) ? INMO_RESTORED : INMO_NO_EFFECT;
    if (happening->effect == INMO_RESTORED || in_past(overlay, user, change, item) ||
        position(&change->added, item) >= 0)
        return 0;
    if (newcomer && push(&newcomer->users, user) != 0)
        return -1;
    if (push(&change->added, item) != 0) {
        if (newcomer)
            newcomer->users.count--;
        return -1;
    }
    if (newcomer)
        mark_stale(overlay, newcomer);
    happening->effect = INMO_ADDED;
    return 0;
}

/* Takes the item from the user. A newcomer that loses a user becomes stale. */
static void part(struct inmo_overlay *overlay, struct inmo_change *change, int32_t item)
{
    int32_t n = item - overlay->snapshot->graph->items;
    if (take_out(&change->added, item) && n >= 0 && n < overlay->newcomers &&
        take_out(&overlay->newcomer[n].users, change->user))
        mark_stale(overlay, overlay->newcomer + n);
}

static int forget_pair(struct inmo_overlay *overlay, int32_t user, int32_t item)
{
    struct inmo_change *change = change_of(overlay, user);
    if (!change)
        return -1;
    if (in_past(overlay, user, change, item) && position(&change->removed, item) < 0 &&
        push(&change->removed, item) != 0)
        return -1;
    part(overlay, change, item);
    return 0;
}

static int forget_user(struct inmo_overlay *overlay, int32_t user)
{
    struct inmo_change *change = change_of(overlay, user);
    if (!change)
        return -1;
    while (change->added.count > 0)
        part(overlay, change, change->added.number[change->added.count - 1]);
    change->removed.count = 0;
    change->forgotten = 1;
    return 0;
}

static int forget_item(struct inmo_overlay *overlay, int32_t item)
{
    int32_t at = 0;
    if (item < overlay->snapshot->graph->items && !inmo_overlay_is_gone(overlay, item)) {
        if (push(&overlay->gone, item) != 0)
            return -1;
        for (at = overlay->gone.count - 1; at > 0 && overlay->gone.number[at - 1] > item; at--)
            overlay->gone.number[at] = overlay->gone.number[at - 1];
        overlay->gone.number[at] = item;
    }
    for (int32_t n = 0; n < overlay->changes; n++) {
        part(overlay, overlay->change + n, item);
        take_out(&overlay->change[n].removed, item); /* nothing is left that could be restored */
    }
    return 0;
}

enum inmo_status inmo_overlay_apply(struct inmo_overlay *overlay, struct inmo_happening *happening,
                                    struct inmo_error *error)
{
    int failed;
    if (happening->deed == INMO_OBSERVED)
        failed = observe(overlay, happening);
    else if (happening->item < 0)
        failed = forget_user(overlay, happening->user);
    else if (happening->user < 0)
        failed = forget_item(overlay, happening->item);
    else
        failed = forget_pair(overlay, happening->user, happening->item);
    return failed ? inmo_fail_memory(error, "an event") : INMO_OK;
}

void inmo_overlay_revert(struct inmo_overlay *overlay, const struct inmo_happening *happening)
{
    struct inmo_change *change = change_of(overlay, happening->user); /* always there: the observation made it */
    if (happening->effect == INMO_ADDED)
        part(overlay, change, happening->item);
    else if (happening->effect == INMO_RESTORED)
        change->removed.number[change->removed.count++] = happening->item; /* there is room: it was there before */
}

/* ---- Everything together ------------------------------------------------------------------------------------- */

/* Writes the user's history, ascending, to item (may be NULL). Returns its length. */
static int64_t write_history(const struct inmo_overlay *overlay, int32_t user, int32_t *scratch, int32_t *item)
{
    const struct inmo_graph *graph = overlay->snapshot->graph;
    const struct inmo_change *change = inmo_overlay_change(overlay, user);
    int64_t count = 0;
    if (has_past(overlay, user, change))
        for (int64_t e = graph->offset[user]; e < graph->offset[user + 1]; e++) {
            int32_t i = graph->neighbour[e] - graph->users;
            if ((overlay->gone.count == 0 || !inmo_overlay_is_gone(overlay, i)) &&
                (!change || position(&change->removed, i) < 0))
                scratch[count++] = i;
        }
    if (change && change->added.count > 0) {
        memcpy(scratch + count, change->added.number, (size_t)change->added.count * sizeof *scratch);
        count = inmo_ascending(scratch, count + change->added.count);
    }
    if (item)
        memcpy(item, scratch, (size_t)count * sizeof *item);
    return count;
}

/* The weights of the user's history as it was written: those of the snapshot, 1 for what came later. */
static void write_weights(const struct inmo_graph *graph, int32_t user, const int32_t *item, int64_t count,
                          float *weight)
{
    int64_t at = user < graph->users ? graph->offset[user] : 0,
            end = user < graph->users ? graph->offset[user + 1] : 0;
    for (int64_t n = 0; n < count; n++) {
        while (at < end && graph->neighbour[at] - graph->users < item[n])
            at++;
        weight[n] = at < end && graph->neighbour[at] - graph->users == item[n] ? graph->weight[at] : 1;
    }
}

static enum inmo_status merge_lists(const struct inmo_overlay *overlay, int32_t users, int32_t items,
                                    struct inmo_csr *list, struct inmo_error *error)
{
    int64_t *offset = inmo_alloc((size_t)users + 1, sizeof *offset);
    int32_t *scratch = inmo_alloc((size_t)items, sizeof *scratch), *column = NULL;
    const struct inmo_graph *graph = overlay->snapshot->graph;
    float *weight = NULL;
    enum inmo_status status = INMO_OK;
    if (!offset || !scratch) {
        status = inmo_fail_memory(error, "the observed interactions");
        goto done;
    }
    offset[0] = 0;
    for (int32_t u = 0; u < users; u++)
        offset[u + 1] = offset[u] + write_history(overlay, u, scratch, NULL);
    column = inmo_alloc((size_t)offset[users], sizeof *column);
    weight = graph->weight ? inmo_alloc((size_t)offset[users], sizeof *weight) : NULL;
    if (!column || (graph->weight && !weight)) {
        status = inmo_fail_memory(error, "the observed interactions");
        goto done;
    }
    for (int32_t u = 0; u < users; u++) {
        int64_t count = write_history(overlay, u, scratch, column + offset[u]);
        if (weight)
            write_weights(graph, u, column + offset[u], count, weight + offset[u]);
    }
    *list = (struct inmo_csr){users, items, offset, column, weight};
    offset = NULL;
    column = NULL;
    weight = NULL;
done:
    inmo_free(weight);
    inmo_free(column);
    inmo_free(scratch);
    inmo_free(offset);
    return status;
}

/* Whether nothing is known of the node: it has no interactions, and the model does not know it. */
static int is_nothing(const struct inmo_model *model, const struct inmo_graph *graph, int32_t v, uint8_t fate)
{
    int is_known = v < graph->users ? v < model->users.count : v - graph->users < model->items.count;
    return inmo_graph_degree(graph, v) == 0 && (!is_known || (fate & INMO_DROPPED));
}

/* Carries the snapshot's flags over. A node with interactions again is no longer gone. NULL: no flag is set. */
static enum inmo_status decide_fates(const struct inmo_overlay *overlay, const struct inmo_graph *graph,
                                     uint8_t **out, struct inmo_error *error)
{
    const struct inmo_snapshot *old = overlay->snapshot;
    int any = old->fate != NULL || overlay->gone.count > 0;
    uint8_t *fate;
    for (int32_t n = 0; n < overlay->changes; n++)
        any |= overlay->change[n].forgotten;
    for (int32_t v = 0; v < graph->nodes && !any; v++)
        any = is_nothing(old->model, graph, v, 0);
    if (!any)
        return INMO_OK;
    fate = inmo_alloc_zero((size_t)graph->nodes, 1);
    if (!fate)
        return inmo_fail_memory(error, "the view");
    for (int32_t v = 0; old->fate && v < old->graph->nodes; v++)
        fate[v < old->graph->users ? v : graph->users + (v - old->graph->users)] = old->fate[v];
    for (int32_t n = 0; n < overlay->changes; n++)
        if (overlay->change[n].forgotten)
            fate[overlay->change[n].user] = INMO_GONE | INMO_DROPPED;
    for (int32_t n = 0; n < overlay->gone.count; n++)
        fate[graph->users + overlay->gone.number[n]] = INMO_GONE | INMO_DROPPED;
    for (int32_t v = 0; v < graph->nodes; v++)
        if (inmo_graph_degree(graph, v) > 0)
            fate[v] &= (uint8_t)~INMO_GONE;
        else if (is_nothing(old->model, graph, v, fate[v]))
            fate[v] |= INMO_GONE;
    *out = fate;
    return INMO_OK;
}

enum inmo_status inmo_overlay_merge(const struct inmo_overlay *overlay, int32_t users, int32_t items,
                                    struct inmo_graph **out, uint8_t **fate, struct inmo_error *error)
{
    struct inmo_csr list = {0};
    const struct inmo_csr *lists[1] = {&list};
    struct inmo_graph *graph = NULL;
    enum inmo_status status = merge_lists(overlay, users, items, &list, error);
    if (!status)
        status = inmo_graph_build(users, items, lists, 1, &graph, error);
    if (!status)
        status = decide_fates(overlay, graph, fate, error);
    if (!status) {
        *out = graph;
        graph = NULL;
    }
    inmo_graph_free(graph);
    inmo_csr_free(&list);
    return status;
}
