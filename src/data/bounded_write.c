/* bounded_write.c - the ids of a bounded preparation, and the directory; see bounded.h.
 *
 * Names are on a tape in the order of the log. When the data set has another order, they are gathered for as many
 * of its numbers at a time as a buffer takes: mostly all at once, with a small bound in a few passes over the
 * tape. */
#include "base/memory.h"
#include "base/tensorfile.h"
#include "data/bounded.h"

#include <stdio.h>

/* One list of ids that is written from its beginning to its end. */
struct list {
    struct inmo_tape *offset, *text;
    int64_t bytes;
};

static enum inmo_status begin_list(struct inmo_bounded *b, int n, struct list *list, struct inmo_error *error)
{
    int64_t zero = 0;
    enum inmo_status status;
    *list = (struct list){&b->id_offset[n], &b->id_text[n], 0};
    status = inmo_tape_open(list->offset, &b->spill->scratch, inmo_spill_buffer(b->memory), error);
    if (status == INMO_OK)
        status = inmo_tape_open(list->text, &b->spill->scratch, inmo_spill_buffer(b->memory), error);
    if (status == INMO_OK)
        status = inmo_tape_add(list->offset, &zero, sizeof zero, error);
    return status;
}

static enum inmo_status add_id(struct list *list, const char *text, size_t length, struct inmo_error *error)
{
    enum inmo_status status = inmo_tape_add(list->text, text, length, error);
    list->bytes += (int64_t)length + 1;
    if (status == INMO_OK)
        status = inmo_tape_add(list->text, "", 1, error);
    if (status == INMO_OK)
        status = inmo_tape_add(list->offset, &list->bytes, sizeof list->bytes, error);
    return status;
}

static enum inmo_status end_list(struct list *list, struct inmo_error *error)
{
    enum inmo_status status = inmo_tape_end(list->offset, error);
    return status == INMO_OK ? inmo_tape_end(list->text, error) : status;
}

static enum inmo_status read_names(const struct inmo_bounded *b, int s, struct inmo_tape_reader *reader,
                                   struct inmo_error *error)
{
    const struct inmo_tape *names = &b->spill->side[s].names;
    return inmo_tape_read(reader, names, 0, inmo_tape_size(names), inmo_spill_buffer(b->memory), error);
}

/* All ids of the log, as they are. */
static enum inmo_status copy_names(struct inmo_bounded *b, int s, struct list *list, struct inmo_error *error)
{
    struct inmo_tape_reader reader = {0};
    const char *text = "";
    uint16_t length = 0;
    enum inmo_status status = read_names(b, s, &reader, error);
    while (status == INMO_OK && text) {
        status = inmo_spill_next_name(&reader, &text, &length, error);
        if (status == INMO_OK && text)
            status = add_id(list, text, length, error);
    }
    inmo_tape_read_end(&reader);
    return status;
}

/* Lengths by number in the data set. */
static enum inmo_status measure(struct inmo_bounded *b, int s, uint16_t *lengths, struct inmo_error *error)
{
    struct inmo_tape_reader reader = {0};
    int32_t ids = s ? b->items : b->users;
    enum inmo_status status = read_names(b, s, &reader, error);
    for (int32_t n = 0; n < ids && status == INMO_OK; n++) {
        const char *text;
        uint16_t length;
        status = inmo_spill_next_name(&reader, &text, &length, error);
        if (status == INMO_OK && b->number[s][n] >= 0)
            lengths[b->number[s][n]] = length;
    }
    inmo_tape_read_end(&reader);
    return status;
}

/* Puts the names of the numbers [first, last) into the buffer, one after the other. */
static enum inmo_status gather(struct inmo_bounded *b, int s, int32_t first, int32_t last, const uint16_t *lengths,
                               uint32_t *place, char *buffer, struct inmo_error *error)
{
    struct inmo_tape_reader reader = {0};
    int32_t ids = s ? b->items : b->users;
    enum inmo_status status = read_names(b, s, &reader, error);
    uint32_t at = 0;
    for (int32_t n = first; n < last; n++) {
        place[n - first] = at;
        at += lengths[n];
    }
    for (int32_t n = 0; n < ids && status == INMO_OK; n++) {
        const char *text;
        uint16_t length;
        int32_t number = b->number[s][n];
        status = inmo_spill_next_name(&reader, &text, &length, error);
        if (status == INMO_OK && number >= first && number < last)
            memcpy(buffer + place[number - first], text, length);
    }
    inmo_tape_read_end(&reader);
    return status;
}

static enum inmo_status reorder_names(struct inmo_bounded *b, int s, struct list *kept, struct list *extra,
                                      struct inmo_error *error)
{
    int32_t total = b->count[s] + b->extras[s], most;
    size_t room = b->memory / 8 < UINT32_MAX / 2 ? b->memory / 8 : UINT32_MAX / 2;
    uint16_t *lengths = inmo_alloc((size_t)total, sizeof *lengths);
    uint32_t *place = NULL;
    char *buffer = NULL;
    enum inmo_status status = INMO_OK;
    most = (int32_t)(room / 16) < total ? (int32_t)(room / 16) : total;
    place = inmo_alloc((size_t)most, sizeof *place);
    buffer = inmo_alloc(room, 1);
    if (!lengths || !place || !buffer)
        status = inmo_fail_memory(error, "the ids");
    if (status == INMO_OK)
        status = measure(b, s, lengths, error);
    for (int32_t first = 0, last; first < total && status == INMO_OK; first = last) {
        size_t bytes = 0;
        const char *text = buffer;
        for (last = first; last < total && last - first < most && bytes + lengths[last] <= room; last++)
            bytes += lengths[last];
        status = gather(b, s, first, last, lengths, place, buffer, error);
        for (int32_t n = first; n < last && status == INMO_OK; n++) {
            status = add_id(n < b->count[s] ? kept : extra, text, lengths[n], error);
            text += lengths[n];
        }
    }
    inmo_free(buffer);
    inmo_free(place);
    inmo_free(lengths);
    return status;
}

enum inmo_status inmo_bounded_ids(struct inmo_bounded *b, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (int s = 0; s < 2 && status == INMO_OK; s++) {
        struct list kept, extra;
        status = begin_list(b, s, &kept, error);
        if (status == INMO_OK)
            status = begin_list(b, 2 + s, &extra, error);
        if (status == INMO_OK)
            status = b->number[s] ? reorder_names(b, s, &kept, &extra, error) : copy_names(b, s, &kept, error);
        if (status == INMO_OK)
            status = end_list(&kept, error);
        if (status == INMO_OK)
            status = end_list(&extra, error);
    }
    return status;
}

struct job {
    const struct inmo_bounded *b;
    const struct inmo_dataset_info *info;
};

/* The arrays of dataset.c, in its order; tests compare the files. */
static enum inmo_status write_data(const void *context, const char *path, struct inmo_error *error)
{
    static const char *const LIST[INMO_ID_LISTS] = {"users", "items", "extra_users", "extra_items"};
    static const enum inmo_part ORDER[INMO_PARTS] = {INMO_TRAIN, INMO_VALID, INMO_TEST, INMO_LATER, INMO_ASIDE};
    static const char *const PART[INMO_PARTS] = {"train", "valid", "test", "later", "aside"};
    enum { ARRAYS = 3 * INMO_ID_LISTS + 2 * INMO_PARTS + 2, NAME = 24 };
    const struct job *job = context;
    const struct inmo_bounded *b = job->b;
    const struct inmo_metadata metadata[] = {{"scenario", job->info->scenario},
                                             {"description", job->info->description}};
    int has_seen = b->p.log->seen && (b->seen_count > 0 || b->extras[0] > 0 || b->extras[1] > 0);
    struct inmo_tensor tensor[ARRAYS];
    char name[ARRAYS][NAME];
    int file[ARRAYS];
    size_t n = 0;
#define ARRAY(first, last, dtype, rows, data, descriptor)                                                          \
    snprintf(name[n], NAME, "%s.%s", first, last);                                                                 \
    file[n] = descriptor;                                                                                          \
    tensor[n] = (struct inmo_tensor){name[n], dtype, rows, 0, data};                                               \
    n++
    for (int list = 0; list < 2; list++) {
        ARRAY(LIST[list], "offset", INMO_I64, (int64_t)b->count[list] + 1, NULL, b->id_offset[list].file);
        ARRAY(LIST[list], "text", INMO_U8, inmo_tape_size(&b->id_text[list]), NULL, b->id_text[list].file);
        ARRAY(LIST[list], "new", INMO_U8, b->count[list], b->is_new[list], -1);
    }
    for (int part = 0; part < INMO_PARTS; part++) {
        ARRAY(PART[part], "offset", INMO_I64, (int64_t)b->count[0] + 1, NULL, b->part_offset[ORDER[part]].file);
        ARRAY(PART[part], "item", INMO_I32, b->part_count[ORDER[part]], NULL, b->part_item[ORDER[part]].file);
    }
    for (int list = 2; list < INMO_ID_LISTS && has_seen; list++) {
        ARRAY(LIST[list], "offset", INMO_I64, (int64_t)b->extras[list - 2] + 1, NULL, b->id_offset[list].file);
        ARRAY(LIST[list], "text", INMO_U8, inmo_tape_size(&b->id_text[list]), NULL, b->id_text[list].file);
    }
    if (has_seen) {
        ARRAY("seen", "offset", INMO_I64, (int64_t)b->count[0] + b->extras[0] + 1, NULL, b->seen_offset.file);
        ARRAY("seen", "item", INMO_I32, b->seen_count, NULL, b->seen_item.file);
    }
#undef ARRAY
    return inmo_tensorfile_write_from(path, 1, INMO_DATASET_KIND, INMO_DATASET_VERSION, metadata, 2, tensor, file,
                                      n, error);
}

enum inmo_status inmo_bounded_write(const struct inmo_bounded *b, const struct inmo_dataset_info *info,
                                    const char *directory, int force, struct inmo_error *error)
{
    const struct job job = {b, info};
    return inmo_dataset_save_by(info, write_data, &job, directory, force, error);
}
