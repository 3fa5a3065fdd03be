/* seen.c - see seen.h. An event costs a hash lookup and moving part of that user's list. */
#include "view/seen.h"

#include "base/memory.h"
#include "graph/graph.h"
#include "view/snapshot.h"

#include <string.h>

enum { LEAST_SLOTS = 64 };

static enum inmo_status add_names(const struct inmo_idmap *extra, struct inmo_names *names,
                                  struct inmo_error *error)
{
    for (int32_t n = 0; n < extra->count; n++) {
        int32_t expected = inmo_names_count(names), number = inmo_names_intern(names, inmo_idmap_id(extra, n));
        if (number < 0)
            return inmo_fail_memory(error, "the ids");
        if (number != expected)
            return inmo_fail(error, INMO_FORMAT, "the model has the id '%s' twice", inmo_idmap_id(extra, n));
    }
    return INMO_OK;
}

enum inmo_status inmo_seen_make(const struct inmo_model *model, struct inmo_names *users, struct inmo_names *items,
                                struct inmo_seen *seen, struct inmo_error *error)
{
    enum inmo_status status = add_names(&model->extra_users, users, error);
    if (!status)
        status = add_names(&model->extra_items, items, error);
    if (status)
        return status;
    *seen = (struct inmo_seen){.model = model, .slot_mask = LEAST_SLOTS - 1};
    seen->slot = inmo_alloc_zero(LEAST_SLOTS, sizeof *seen->slot);
    return seen->slot ? INMO_OK : inmo_fail_memory(error, "what was seen");
}

void inmo_seen_free(struct inmo_seen *seen)
{
    for (int32_t n = 0; n < seen->lists; n++)
        inmo_free(seen->list[n].item);
    inmo_free(seen->slot);
    inmo_free(seen->list);
    *seen = (struct inmo_seen){0};
}

/* The slot of the user, or the empty slot where it belongs. */
static uint32_t probe(const struct inmo_seen *seen, int32_t user)
{
    uint32_t at = (uint32_t)user * 0x9E3779B1u;
    for (at = (at ^ at >> 15) & seen->slot_mask; seen->slot[at]; at = (at + 1) & seen->slot_mask)
        if (seen->list[seen->slot[at] - 1].user == user)
            break;
    return at;
}

static struct inmo_seen_list *find(const struct inmo_seen *seen, int32_t user)
{
    int32_t number = seen->lists > 0 ? seen->slot[probe(seen, user)] : 0;
    return number ? seen->list + number - 1 : NULL;
}

const int32_t *inmo_seen_in_model(const struct inmo_model *model, int32_t user, int32_t *count)
{
    int has = model->seen.offset && user >= 0 && user < model->seen.rows;
    *count = has ? (int32_t)inmo_csr_degree(&model->seen, user) : 0;
    return has ? model->seen.column + model->seen.offset[user] : NULL;
}

const int32_t *inmo_seen_of(const struct inmo_seen *seen, int32_t user, int32_t *count)
{
    const struct inmo_seen_list *own = user >= 0 ? find(seen, user) : NULL;
    if (!own)
        return inmo_seen_in_model(seen->model, user, count);
    *count = own->count;
    return own->item;
}

int inmo_seen_has_changed(const struct inmo_seen *seen, int32_t user)
{
    return find(seen, user) != NULL;
}

int inmo_seen_knows(const struct inmo_seen *seen, int32_t user)
{
    const struct inmo_seen_list *own = find(seen, user);
    int32_t extra = user - seen->model->users.count;
    return own ? own->is_known : extra >= 0 && extra < seen->model->extra_users.count;
}

/* Makes room for one more list. */
static int grow(struct inmo_seen *seen)
{
    if (seen->lists == seen->list_capacity) {
        int32_t capacity = seen->list_capacity > 0 ? 2 * seen->list_capacity : 16;
        struct inmo_seen_list *grown =
            inmo_resize(seen->list, (size_t)seen->lists, (size_t)capacity, sizeof *grown);
        if (!grown)
            return -1;
        seen->list = grown;
        seen->list_capacity = capacity;
    }
    if (2 * ((uint32_t)seen->lists + 1) > seen->slot_mask) {
        uint32_t mask = 2 * seen->slot_mask + 1;
        int32_t *slot = inmo_alloc_zero((size_t)mask + 1, sizeof *slot);
        if (!slot)
            return -1;
        inmo_free(seen->slot);
        seen->slot = slot;
        seen->slot_mask = mask;
        for (int32_t n = 0; n < seen->lists; n++)
            slot[probe(seen, seen->list[n].user)] = n + 1;
    }
    return 0;
}

/* The user's own list, a copy of the model's if there was none. NULL when memory is short. */
static struct inmo_seen_list *own_list(struct inmo_seen *seen, int32_t user)
{
    struct inmo_seen_list *own = find(seen, user), fresh = {.user = user, .is_known = inmo_seen_knows(seen, user)};
    const int32_t *item;
    if (own)
        return own;
    item = inmo_seen_in_model(seen->model, user, &fresh.count);
    fresh.capacity = fresh.count + 4;
    if (grow(seen) != 0)
        return NULL;
    fresh.item = inmo_alloc((size_t)fresh.capacity, sizeof *fresh.item);
    if (!fresh.item)
        return NULL;
    if (fresh.count > 0)
        memcpy(fresh.item, item, (size_t)fresh.count * sizeof *item);
    seen->list[seen->lists] = fresh;
    seen->slot[probe(seen, user)] = seen->lists + 1;
    return seen->list + seen->lists++;
}

/* Where the item stands or belongs. */
static int32_t place_of(const struct inmo_seen_list *own, int32_t item)
{
    int32_t low = 0, high = own->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (own->item[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int inmo_seen_add(struct inmo_seen *seen, int32_t user, int32_t item)
{
    struct inmo_seen_list *own = own_list(seen, user);
    int32_t at;
    if (!own)
        return -1;
    at = place_of(own, item);
    if (at < own->count && own->item[at] == item)
        return 0;
    if (own->count == own->capacity) {
        int32_t capacity = 2 * own->capacity;
        int32_t *grown = inmo_resize(own->item, (size_t)own->count, (size_t)capacity, sizeof *grown);
        if (!grown)
            return -1;
        own->item = grown;
        own->capacity = capacity;
    }
    memmove(own->item + at + 1, own->item + at, (size_t)(own->count - at) * sizeof *own->item);
    own->item[at] = item;
    own->count++;
    own->is_known = 1;
    return 1;
}

int inmo_seen_forget(struct inmo_seen *seen, int32_t user, int32_t item)
{
    struct inmo_seen_list *own = own_list(seen, user);
    int32_t at;
    if (!own)
        return -1;
    if (item < 0) {
        own->count = 0;
        own->is_known = 0;
        return 0;
    }
    at = place_of(own, item);
    if (at < own->count && own->item[at] == item) {
        memmove(own->item + at, own->item + at + 1, (size_t)(own->count - at - 1) * sizeof *own->item);
        own->count--;
    }
    return 0;
}

enum inmo_status inmo_seen_mask(const struct inmo_seen *seen, const struct inmo_graph *graph, int all,
                                struct inmo_csr *mask, struct inmo_error *error)
{
    struct inmo_csr rows = {graph->nodes, graph->nodes, graph->offset, graph->neighbour, NULL};
    int64_t *offset = NULL, most = 0, kept = 0;
    int32_t *column = NULL, count;
    if (!seen->model->seen.offset && seen->lists == 0)
        return INMO_OK;
    for (int32_t u = 0; u < graph->users; u++) {
        inmo_seen_of(seen, u, &count);
        most += count;
    }
    offset = inmo_alloc((size_t)graph->users + 1, sizeof *offset);
    column = inmo_alloc((size_t)most, sizeof *column);
    if (!offset || !column) {
        inmo_free(column);
        inmo_free(offset);
        return inmo_fail_memory(error, "what was seen");
    }
    for (int32_t u = 0; u < graph->users; u++) {
        const int32_t *item = inmo_seen_of(seen, u, &count);
        offset[u] = kept;
        for (int32_t n = 0; n < count && item[n] < graph->items; n++)
            if (!all || !inmo_csr_has(&rows, u, graph->users + item[n]))
                column[kept++] = item[n];
    }
    offset[graph->users] = kept;
    *mask = (struct inmo_csr){graph->users, graph->items, offset, column, NULL};
    return INMO_OK;
}

enum inmo_status inmo_seen_fates(const struct inmo_model *model, const struct inmo_graph *graph, uint8_t **out,
                                 struct inmo_error *error)
{
    uint8_t *fate = NULL;
    for (int32_t v = 0; v < graph->nodes; v++) {
        int is_known = v < graph->users ? v < model->users.count : v - graph->users < model->items.count;
        if (is_known || inmo_graph_degree(graph, v) > 0)
            continue;
        if (!fate)
            fate = inmo_alloc_zero((size_t)graph->nodes, 1);
        if (!fate)
            return inmo_fail_memory(error, "the view");
        fate[v] = INMO_GONE;
    }
    *out = fate;
    return INMO_OK;
}
