/* stored.c - see stored.h. One pass over each array; nothing is copied. */
#include "data/stored.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Valid offsets start at 0, never decrease, and end at `last`. */
static int offsets_are_sound(const int64_t *offset, int64_t rows, int64_t last)
{
    int sound = offset[0] == 0 && offset[rows] == last;
    for (int64_t r = 0; r < rows; r++)
        sound &= offset[r] <= offset[r + 1];
    return sound;
}

enum inmo_status inmo_stored_ids(const struct inmo_tensorfile *file, const char *side, const char *path,
                                 struct inmo_idmap *ids, struct inmo_error *error)
{
    char name[2][32];
    struct inmo_tensor offset, text;
    enum inmo_status status;
    const int64_t *at;
    snprintf(name[0], sizeof name[0], "%s.offset", side);
    snprintf(name[1], sizeof name[1], "%s.text", side);
    status = inmo_tensorfile_get(file, name[0], INMO_I64, -1, 0, &offset, error);
    if (status == INMO_OK && (offset.rows < 1 || offset.rows > INT32_MAX))
        status = inmo_fail(error, INMO_FORMAT, "%s: %s has %" PRId64 " entries, which no file of ours has", path,
                           name[0], offset.rows);
    if (status == INMO_OK)
        status = inmo_tensorfile_get(file, name[1], INMO_U8, -1, 0, &text, error);
    if (status != INMO_OK)
        return status;
    at = offset.data;
    if (!offsets_are_sound(at, offset.rows - 1, text.rows))
        return inmo_fail(error, INMO_FORMAT, "%s: %s does not fit %s", path, name[0], name[1]);
    for (int64_t n = 0; n < offset.rows - 1; n++) {
        const char *id = (const char *)text.data + at[n];
        /* The only NUL of an id is its last byte. */
        if (at[n] == at[n + 1] || memchr(id, 0, (size_t)(at[n + 1] - at[n])) != id + (at[n + 1] - at[n] - 1))
            return inmo_fail(error, INMO_FORMAT, "%s: id %" PRId64 " of %s is not a string", path, n, name[1]);
    }
    *ids = (struct inmo_idmap){.count = (int32_t)(offset.rows - 1), .offset = at, .text = text.data};
    return INMO_OK;
}

/* PART.weight, if the file has it. */
static enum inmo_status stored_weights(const struct inmo_tensorfile *file, const char *part, const char *path,
                                       struct inmo_csr *csr, struct inmo_error *error)
{
    char name[32];
    struct inmo_tensor weight;
    const float *value;
    enum inmo_status status;
    snprintf(name, sizeof name, "%s.weight", part);
    if (!inmo_tensorfile_has(file, name))
        return INMO_OK;
    status = inmo_tensorfile_get(file, name, INMO_F32, inmo_csr_count(csr), 0, &weight, error);
    if (status != INMO_OK)
        return status;
    value = weight.data;
    for (int64_t e = 0; e < weight.rows; e++)
        if (!(value[e] > 0 && value[e] < INFINITY))
            return inmo_fail(error, INMO_FORMAT, "%s: entry %" PRId64 " of %s is %g, expected a number above 0",
                             path, e, name, (double)value[e]);
    csr->weight = value;
    return INMO_OK;
}

enum inmo_status inmo_stored_list(const struct inmo_tensorfile *file, const char *part, const char *path,
                                  int32_t users, int32_t items, struct inmo_csr *csr, struct inmo_error *error)
{
    char name[2][32];
    struct inmo_tensor offset, item;
    enum inmo_status status;
    const int64_t *at;
    const int32_t *column;
    snprintf(name[0], sizeof name[0], "%s.offset", part);
    snprintf(name[1], sizeof name[1], "%s.item", part);
    status = inmo_tensorfile_get(file, name[0], INMO_I64, (int64_t)users + 1, 0, &offset, error);
    if (status == INMO_OK)
        status = inmo_tensorfile_get(file, name[1], INMO_I32, -1, 0, &item, error);
    if (status != INMO_OK)
        return status;
    at = offset.data;
    column = item.data;
    if (!offsets_are_sound(at, users, item.rows))
        return inmo_fail(error, INMO_FORMAT, "%s: %s does not fit %s", path, name[0], name[1]);
    for (int32_t u = 0; u < users; u++) {
        int32_t before = -1;
        int ascending = 1;
        for (int64_t e = at[u]; e < at[u + 1]; e++) {
            ascending &= column[e] > before;
            before = column[e];
        }
        if (!ascending || before >= items)
            return inmo_fail(error, INMO_FORMAT,
                             "%s: row %" PRId32 " of %s is not ascending or has an item that is not there", path, u,
                             name[1]);
    }
    *csr = (struct inmo_csr){.rows = users, .columns = items, .offset = at, .column = column};
    return stored_weights(file, part, path, csr, error);
}

enum inmo_status inmo_stored_seen(const struct inmo_tensorfile *file, const char *path, int32_t users,
                                  int32_t items, struct inmo_idmap *extra_users, struct inmo_idmap *extra_items,
                                  struct inmo_csr *seen, struct inmo_error *error)
{
    enum inmo_status status;
    if (!inmo_tensorfile_has(file, "seen.offset"))
        return INMO_OK;
    status = inmo_stored_ids(file, "extra_users", path, extra_users, error);
    if (status == INMO_OK)
        status = inmo_stored_ids(file, "extra_items", path, extra_items, error);
    if (status == INMO_OK && (extra_users->count > INT32_MAX - users || extra_items->count > INT32_MAX - items))
        status = inmo_fail(error, INMO_FORMAT, "%s: found more ids than numbers for them", path);
    if (status == INMO_OK)
        status = inmo_stored_list(file, "seen", path, users + extra_users->count, items + extra_items->count, seen,
                                  error);
    return status;
}
