/* rows.c - see rows.h. Only counting sorts and passes in place: linear in the interactions. Bytes per interaction
 * besides the log: 4 for the item, 8 for the time and 1 for the part if they are needed, and 4 or 5 more while the
 * lists by item exist; with the 8 to 17 of the log, 16 to 34. Single-threaded. */
#include "data/rows.h"

#include "base/memory.h"

#include <string.h>

/* Markers while numbers are assigned. */
enum { WAITING = -1, DROPPED = -2 };

/* On entry offset[r + 1] holds the length of row r; on return offset[r] is its beginning. */
static void add_up(int64_t *offset, int32_t rows)
{
    offset[0] = 0;
    for (int32_t r = 0; r < rows; r++)
        offset[r + 1] += offset[r];
}

void inmo_rows_free(struct inmo_rows *rows)
{
    inmo_free(rows->weight);
    inmo_free(rows->part);
    inmo_free(rows->time);
    inmo_free(rows->item);
    inmo_free(rows->offset);
    *rows = (struct inmo_rows){0};
}

enum inmo_status inmo_rows_collect(const struct inmo_log *log, int with_time, int with_part, struct inmo_rows *rows,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int64_t *next = NULL;

    rows->users = inmo_idtable_map(log->users).count;
    rows->items = inmo_idtable_map(log->items).count;
    rows->offset = inmo_alloc_zero((size_t)rows->users + 1, sizeof *rows->offset);
    rows->item = inmo_alloc((size_t)log->count, sizeof *rows->item);
    rows->time = with_time ? inmo_alloc((size_t)log->count, sizeof *rows->time) : NULL;
    rows->part = with_part ? inmo_alloc((size_t)log->count, sizeof *rows->part) : NULL;
    next = inmo_alloc((size_t)rows->users, sizeof *next);
    if (!rows->offset || !rows->item || (with_time && !rows->time) || (with_part && !rows->part) || !next) {
        status = inmo_fail_memory(error, "the interactions by user");
        goto done;
    }
    for (int64_t n = 0; n < log->count; n++)
        rows->offset[inmo_log_user(log, n) + 1]++;
    add_up(rows->offset, rows->users);
    memcpy(next, rows->offset, (size_t)rows->users * sizeof *next);
    for (int64_t n = 0; n < log->count; n++) {
        const struct inmo_log_block *block = log->block[n / INMO_LOG_BLOCK];
        int64_t in_block = n % INMO_LOG_BLOCK, at = next[block->user[in_block]]++;
        rows->item[at] = block->item[in_block];
        if (with_time)
            rows->time[at] = block->time[in_block];
        if (with_part)
            rows->part[at] = block->part[in_block];
    }
done:
    inmo_free(next);
    return status;
}

static void move_interaction(struct inmo_rows *rows, int64_t to, int64_t from)
{
    rows->item[to] = rows->item[from];
    if (rows->time)
        rows->time[to] = rows->time[from];
    if (rows->part)
        rows->part[to] = rows->part[from];
}

void inmo_rows_close_gaps(struct inmo_rows *rows)
{
    int64_t kept = 0, e = 0;
    for (int32_t u = 0; u < rows->users; u++) {
        int64_t end = rows->offset[u + 1];
        rows->offset[u] = kept;
        for (; e < end; e++)
            if (rows->item[e] >= 0)
                move_interaction(rows, kept++, e);
    }
    rows->offset[rows->users] = kept;
}

enum inmo_status inmo_rows_cancel(struct inmo_rows *rows, const struct inmo_log *seen, int64_t *cancelled,
                                  struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int64_t before = rows->offset[rows->users], *next = inmo_alloc_zero((size_t)rows->users + 2, sizeof *next);
    int32_t *item = inmo_alloc((size_t)seen->count, sizeof *item);
    int32_t *taken_by = inmo_alloc((size_t)rows->items, sizeof *taken_by);  // the last user who took it back
    if (!next || !item || !taken_by) {
        status = inmo_fail_memory(error, "what was taken back");
        goto done;
    }
    for (int64_t n = 0; n < seen->count; n++)
        next[inmo_log_user(seen, n) + 2] +=
            seen->block[n / INMO_LOG_BLOCK]->part[n % INMO_LOG_BLOCK] == INMO_CANCELLED;
    add_up(next + 1, rows->users);
    for (int64_t n = 0; n < seen->count; n++)
        if (seen->block[n / INMO_LOG_BLOCK]->part[n % INMO_LOG_BLOCK] == INMO_CANCELLED)
            item[next[inmo_log_user(seen, n) + 1]++] = inmo_log_item(seen, n);
    memset(taken_by, 0xff, (size_t)rows->items * sizeof *taken_by);
    for (int32_t u = 0; u < rows->users; u++) {
        for (int64_t n = next[u]; n < next[u + 1]; n++)
            taken_by[item[n]] = u;
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++)
            if (taken_by[rows->item[e]] == u)
                rows->item[e] = -1;
    }
    inmo_rows_close_gaps(rows);
    *cancelled = before - rows->offset[rows->users];
done:
    inmo_free(taken_by);
    inmo_free(item);
    inmo_free(next);
    return status;
}

/* Stores for each item where it was last seen, so no row needs sorting. */
enum inmo_status inmo_rows_merge(struct inmo_rows *rows, int64_t *merged, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int64_t before = rows->offset[rows->users];
    int64_t *seen_at = inmo_alloc((size_t)rows->items, sizeof *seen_at);
    if (!seen_at) {
        status = inmo_fail_memory(error, "merging duplicates");
        goto done;
    }
    for (int32_t i = 0; i < rows->items; i++)
        seen_at[i] = -1;
    for (int32_t u = 0; u < rows->users; u++)
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++) {
            int32_t i = rows->item[e];
            /* Seen before this row began: it belongs to another user. */
            if (seen_at[i] < rows->offset[u]) {
                seen_at[i] = e;
            } else if (rows->time && rows->time[e] < rows->time[seen_at[i]]) {
                rows->item[seen_at[i]] = -1;
                seen_at[i] = e;
            } else {
                rows->item[e] = -1;
            }
        }
    inmo_rows_close_gaps(rows);
    *merged = before - rows->offset[rows->users];
done:
    inmo_free(seen_at);
    return status;
}

/* The same interactions by item: item i has user[offset[i]] .. user[offset[i + 1] - 1]. */
struct by_item {
    int64_t *offset;  // (items + 1, and one to build it)
    int32_t *user;
    uint8_t *part;
};

static void free_by_item(struct by_item *lists)
{
    inmo_free(lists->part);
    inmo_free(lists->user);
    inmo_free(lists->offset);
    *lists = (struct by_item){0};
}

/* Transposes rows to lists by item. user_number (may be NULL) renumbers the users. */
static enum inmo_status turn(const struct inmo_rows *rows, int with_part, const int32_t *user_number,
                             struct by_item *lists, struct inmo_error *error)
{
    size_t count = (size_t)rows->offset[rows->users];
    lists->offset = inmo_alloc_zero((size_t)rows->items + 2, sizeof *lists->offset);
    lists->user = inmo_alloc(count, sizeof *lists->user);
    lists->part = with_part ? inmo_alloc(count, sizeof *lists->part) : NULL;
    if (!lists->offset || !lists->user || (with_part && !lists->part))
        return inmo_fail_memory(error, "the interactions by item");
    /* Counting two places ahead makes offset[i + 1] the next free place of item i during filling, and its end (the
     * beginning of i + 1) afterwards. */
    for (size_t e = 0; e < count; e++)
        lists->offset[rows->item[e] + 2]++;
    add_up(lists->offset + 1, rows->items);
    for (int32_t u = 0; u < rows->users; u++)
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++) {
            int64_t at = lists->offset[rows->item[e] + 1]++;
            lists->user[at] = user_number ? user_number[u] : u;
            if (with_part)
                lists->part[at] = rows->part[e];
        }
    return INMO_OK;
}

/* Peeling: a node that falls below k is queued once and decrements each remaining neighbour. The result does not
 * depend on the order. */
enum inmo_status inmo_rows_core(struct inmo_rows *rows, int k, int64_t *removed, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct by_item lists = {0};
    size_t users = (size_t)rows->users, nodes = users + (size_t)rows->items, queued = 0;
    int64_t before = rows->offset[rows->users];
    int32_t *degree = NULL;  // (nodes) users, then items
    uint32_t *queue = NULL;  // (nodes)
    uint8_t *gone = NULL;    // (nodes)

    if (k <= 1) { /* every node has at least one */
        *removed = 0;
        return INMO_OK;
    }
    status = turn(rows, 0, NULL, &lists, error);
    if (status != INMO_OK)
        goto done;
    degree = inmo_alloc(nodes, sizeof *degree);
    queue = inmo_alloc(nodes, sizeof *queue);
    gone = inmo_alloc_zero(nodes, sizeof *gone);
    if (!degree || !queue || !gone) {
        status = inmo_fail_memory(error, "the k-core");
        goto done;
    }
    for (size_t v = 0; v < nodes; v++) {
        const int64_t *offset = v < users ? rows->offset + v : lists.offset + (v - users);
        degree[v] = (int32_t)(offset[1] - offset[0]);
        if (degree[v] < k) {
            gone[v] = 1;
            queue[queued++] = (uint32_t)v;
        }
    }
    for (size_t taken = 0; taken < queued; taken++) {
        size_t v = queue[taken];
        const int64_t *offset = v < users ? rows->offset + v : lists.offset + (v - users);
        for (int64_t e = offset[0]; e < offset[1]; e++) {
            size_t w = v < users ? users + (size_t)rows->item[e] : (size_t)lists.user[e];
            if (!gone[w] && --degree[w] < k) {
                gone[w] = 1;
                queue[queued++] = (uint32_t)w;
            }
        }
    }
    for (size_t u = 0; u < users; u++)
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++)
            if (gone[u] || gone[users + (size_t)rows->item[e]])
                rows->item[e] = -1;
    inmo_rows_close_gaps(rows);
    *removed = before - rows->offset[rows->users];
done:
    inmo_free(gone);
    inmo_free(queue);
    inmo_free(degree);
    free_by_item(&lists);
    return status;
}

/* One pass over the log, which has the order of first appearance. */
static void number_by_appearance(const struct inmo_log *log, int32_t users, int32_t items, int32_t *user_number,
                                 int32_t *item_number, int32_t *user_order, int32_t *item_order)
{
    int32_t numbered_users = 0, numbered_items = 0;
    for (int64_t n = 0; n < log->count && (numbered_users < users || numbered_items < items); n++) {
        int32_t u = inmo_log_user(log, n), i = inmo_log_item(log, n);
        /* All interactions between a kept user and a kept item are kept. */
        if (user_number[u] == DROPPED || item_number[i] == DROPPED)
            continue;
        if (user_number[u] == WAITING) {
            user_order[numbered_users] = u;
            user_number[u] = numbered_users++;
        }
        if (item_number[i] == WAITING) {
            item_order[numbered_items] = i;
            item_number[i] = numbered_items++;
        }
    }
}

/* Refills the rows from the lists by item in the order of the new numbers, so each row is ascending. */
static void fill_ascending(struct inmo_rows *rows, const struct by_item *lists, const int32_t *item_order,
                           int64_t *next)
{
    memcpy(next, rows->offset, (size_t)rows->users * sizeof *next);
    for (int32_t j = 0; j < rows->items; j++) {
        int32_t i = item_order[j];
        for (int64_t e = lists->offset[i]; e < lists->offset[i + 1]; e++) {
            int64_t at = next[lists->user[e]]++;
            rows->item[at] = j;
            if (rows->part)
                rows->part[at] = lists->part[e];
        }
    }
}

enum inmo_status inmo_rows_number(const struct inmo_log *log, struct inmo_rows *rows, int32_t **user_order_out,
                                  int32_t **item_order_out, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct by_item lists = {0};
    int32_t users = 0, items = 0;
    int32_t *user_number = inmo_alloc((size_t)rows->users, sizeof *user_number);
    int32_t *item_number = inmo_alloc((size_t)rows->items, sizeof *item_number);
    int32_t *user_order = inmo_alloc((size_t)rows->users, sizeof *user_order);
    int32_t *item_order = inmo_alloc((size_t)rows->items, sizeof *item_order);
    int64_t *offset = NULL, *next = NULL;

    if (!user_number || !item_number || !user_order || !item_order) {
        status = inmo_fail_memory(error, "numbering users and items");
        goto done;
    }
    for (int32_t i = 0; i < rows->items; i++)
        item_number[i] = DROPPED;
    for (int32_t u = 0; u < rows->users; u++) {
        user_number[u] = rows->offset[u] < rows->offset[u + 1] ? WAITING : DROPPED;
        users += user_number[u] == WAITING;
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++) {
            items += item_number[rows->item[e]] == DROPPED;
            item_number[rows->item[e]] = WAITING;
        }
    }
    number_by_appearance(log, users, items, user_number, item_number, user_order, item_order);
    status = turn(rows, rows->part != NULL, user_number, &lists, error);
    if (status != INMO_OK)
        goto done;
    offset = inmo_alloc_zero((size_t)users + 1, sizeof *offset);
    next = inmo_alloc((size_t)users, sizeof *next);
    if (!offset || !next) {
        status = inmo_fail_memory(error, "numbering users and items");
        goto done;
    }
    for (int32_t u = 0; u < users; u++)
        offset[u + 1] = rows->offset[user_order[u] + 1] - rows->offset[user_order[u]];
    add_up(offset, users);
    inmo_free(rows->time);
    inmo_free(rows->offset);
    rows->time = NULL;
    rows->offset = offset;
    rows->users = users;
    rows->items = items;
    fill_ascending(rows, &lists, item_order, next);
    *user_order_out = user_order;
    *item_order_out = item_order;
    user_order = item_order = NULL;
    offset = NULL;
done:
    inmo_free(next);
    inmo_free(offset);
    free_by_item(&lists);
    inmo_free(item_order);
    inmo_free(user_order);
    inmo_free(item_number);
    inmo_free(user_number);
    return status;
}

enum inmo_status inmo_rows_part(const struct inmo_rows *rows, uint8_t part, int with_weights, struct inmo_csr *csr,
                                struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int64_t *offset = inmo_alloc((size_t)rows->users + 1, sizeof *offset);
    int32_t *column = NULL;
    float *weight = NULL;
    int64_t count = 0;
    with_weights = with_weights && rows->weight;
    for (int64_t e = 0; e < rows->offset[rows->users]; e++)
        count += rows->part[e] == part;
    column = inmo_alloc((size_t)count, sizeof *column);
    weight = with_weights ? inmo_alloc((size_t)count, sizeof *weight) : NULL;
    if (!offset || !column || (with_weights && !weight)) {
        status = inmo_fail_memory(error, "the parts of the data set");
        goto done;
    }
    count = 0;
    for (int32_t u = 0; u < rows->users; u++) {
        offset[u] = count;
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++)
            if (rows->part[e] == part) {
                if (weight)
                    weight[count] = rows->weight[e];
                column[count++] = rows->item[e];
            }
    }
    offset[rows->users] = count;
    *csr = (struct inmo_csr){rows->users, rows->items, offset, column, weight};
    weight = NULL;
    column = NULL;
    offset = NULL;
done:
    inmo_free(weight);
    inmo_free(column);
    inmo_free(offset);
    return status;
}
