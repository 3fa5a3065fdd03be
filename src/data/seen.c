/* seen.c - see seen.h. Two counting sorts: linear. Bytes per pair besides the log: 8. Single-threaded. */
#include "data/seen.h"

#include "base/memory.h"

#include <string.h>

/* One side of the data set: log's number -> data set's number, extras after the others. */
struct side {
    int32_t count;   /* in the data set */
    int32_t extras;  /* after them */
    int32_t *number; /* (ids of the log) -1: left out */
    int32_t *order;  /* (extras) -> number in the log */
};

static void free_side(struct side *side)
{
    inmo_free(side->order);
    inmo_free(side->number);
}

static int make_side(struct side *side, int32_t ids, int32_t count, const int32_t *order)
{
    side->count = count;
    side->number = inmo_alloc((size_t)ids, sizeof *side->number);
    side->order = inmo_alloc((size_t)(ids - count), sizeof *side->order);
    if (!side->number || !side->order)
        return -1;
    memset(side->number, 0xff, (size_t)ids * sizeof *side->number);
    for (int32_t n = 0; n < count; n++)
        side->number[order[n]] = n;
    return 0;
}

static void add_extra(struct side *side, int32_t in_log)
{
    if (side->number[in_log] < 0) {
        side->order[side->extras] = in_log;
        side->number[in_log] = side->count + side->extras++;
    }
}

void inmo_drop_ids(struct inmo_idmap *ids)
{
    inmo_free((void *)ids->text);
    inmo_free((void *)ids->offset);
    *ids = (struct inmo_idmap){0};
}

enum inmo_status inmo_copy_ids(const struct inmo_idmap *from, const int32_t *order, int32_t count,
                               struct inmo_idmap *to, struct inmo_error *error)
{
    int64_t *offset = inmo_alloc_zero((size_t)count + 1, sizeof *offset);
    char *text = NULL;
    enum inmo_status status = INMO_OK;
    for (int32_t n = 0; n < count && offset; n++)
        offset[n + 1] = offset[n] + from->offset[order[n] + 1] - from->offset[order[n]];
    if (offset)
        text = inmo_alloc((size_t)offset[count], 1);
    if (!offset || !text) {
        status = inmo_fail_memory(error, "the ids");
        goto done;
    }
    for (int32_t n = 0; n < count; n++)
        memcpy(text + offset[n], inmo_idmap_id(from, order[n]), (size_t)(offset[n + 1] - offset[n]));
    *to = (struct inmo_idmap){.count = count, .offset = offset, .text = text};
    text = NULL;
    offset = NULL;
done:
    inmo_free(text);
    inmo_free(offset);
    return status;
}

/* Drops repeats of an ascending row and what the user has chosen (ascending), and moves it to `to`. Returns its
 * length. */
static int64_t settle_row(const int32_t *row, int64_t count, const int32_t *chosen, int64_t chosen_count,
                          int32_t *to)
{
    int64_t kept = 0, at = 0;
    for (int64_t n = 0; n < count; n++) {
        while (at < chosen_count && chosen[at] < row[n])
            at++;
        if ((at == chosen_count || chosen[at] != row[n]) && (kept == 0 || to[kept - 1] != row[n]))
            to[kept++] = row[n];
    }
    return kept;
}

/* The pairs of the log by user, in the numbers of the data set: sorted by item, and then by user, so that rows come
 * out ascending. Counting two places ahead, as in rows.c, leaves the beginnings of rows in the offsets. */
static enum inmo_status list_pairs(const struct inmo_log *seen, const struct side *user, const struct side *item,
                                   const struct inmo_rows *rows, struct inmo_csr *list, struct inmo_error *error)
{
    int32_t users = user->count + user->extras, items = item->count + item->extras;
    int64_t *offset = inmo_alloc_zero((size_t)users + 2, sizeof *offset), written = 0;
    int64_t *item_offset = inmo_alloc_zero((size_t)items + 2, sizeof *item_offset);
    int32_t *column = inmo_alloc((size_t)seen->count, sizeof *column);
    int32_t *who = inmo_alloc((size_t)seen->count, sizeof *who);
    enum inmo_status status = INMO_OK;
    if (!offset || !item_offset || !column || !who) {
        status = inmo_fail_memory(error, "what was seen");
        goto done;
    }
    for (int64_t n = 0; n < seen->count; n++) {
        int32_t u = user->number[inmo_log_user(seen, n)], i = item->number[inmo_log_item(seen, n)];
        if (u >= 0 && i >= 0) {
            offset[u + 2]++;
            item_offset[i + 2]++;
        }
    }
    for (int32_t u = 0; u < users; u++)
        offset[u + 2] += offset[u + 1];
    for (int32_t i = 0; i < items; i++)
        item_offset[i + 2] += item_offset[i + 1];
    for (int64_t n = 0; n < seen->count; n++) {
        int32_t u = user->number[inmo_log_user(seen, n)], i = item->number[inmo_log_item(seen, n)];
        if (u >= 0 && i >= 0)
            who[item_offset[i + 1]++] = u;
    }
    for (int32_t i = 0; i < items; i++)
        for (int64_t n = item_offset[i]; n < item_offset[i + 1]; n++)
            column[offset[who[n] + 1]++] = i;
    for (int32_t u = 0; u < users; u++) {
        int64_t begin = offset[u], chosen = u < rows->users ? rows->offset[u] : 0;
        int64_t chosen_count = u < rows->users ? rows->offset[u + 1] - chosen : 0, count = offset[u + 1] - begin;
        offset[u] = written;
        written += settle_row(column + begin, count, rows->item + chosen, chosen_count, column + written);
    }
    offset[users] = written;
    *list = (struct inmo_csr){users, items, offset, column, NULL};
    offset = NULL;
    column = NULL;
done:
    inmo_free(who);
    inmo_free(column);
    inmo_free(item_offset);
    inmo_free(offset);
    return status;
}

enum inmo_status inmo_seen_collect(const struct inmo_log *log, const struct inmo_rows *rows,
                                   const int32_t *user_order, const int32_t *item_order, int with_extras,
                                   struct inmo_dataset *dataset, struct inmo_error *error)
{
    struct inmo_idmap users = inmo_idtable_map(log->users), items = inmo_idtable_map(log->items);
    struct side user = {0}, item = {0};
    enum inmo_status status = INMO_OK;
    if (!log->seen)
        return INMO_OK;
    if (make_side(&user, users.count, rows->users, user_order) != 0 ||
        make_side(&item, items.count, rows->items, item_order) != 0) {
        status = inmo_fail_memory(error, "what was seen");
        goto done;
    }
    for (int64_t n = 0; n < log->seen->count && with_extras; n++) {
        add_extra(&user, inmo_log_user(log->seen, n));
        add_extra(&item, inmo_log_item(log->seen, n));
    }
    status = list_pairs(log->seen, &user, &item, rows, &dataset->seen, error);
    if (status == INMO_OK)
        status = inmo_copy_ids(&users, user.order, user.extras, &dataset->extra_users, error);
    if (status == INMO_OK)
        status = inmo_copy_ids(&items, item.order, item.extras, &dataset->extra_items, error);
    /* A k-core may have left nothing of it. */
    if (status == INMO_OK && inmo_csr_count(&dataset->seen) == 0 && user.extras == 0 && item.extras == 0) {
        inmo_csr_free(&dataset->seen);
        inmo_drop_ids(&dataset->extra_items);
        inmo_drop_ids(&dataset->extra_users);
    }
done:
    free_side(&item);
    free_side(&user);
    return status;
}
