/* bounded_prepare.c - inmo_prepare_bounded: reads, prepares (bounded.c) and writes; see bounded.h. */
#include "base/memory.h"
#include "base/setting.h"
#include "base/threads.h"
#include "data/bounded.h"
#include "data/record.h"

struct inmo_prepared {
    struct inmo_dataset_info info;
    int64_t untrained_users, untrained_items;
};

void inmo_prepared_info(const struct inmo_prepared *prepared, struct inmo_dataset_info *info,
                        int64_t *untrained_users, int64_t *untrained_items)
{
    *info = prepared->info;
    *untrained_users = prepared->untrained_users;
    *untrained_items = prepared->untrained_items;
}

void inmo_prepared_free(struct inmo_prepared *prepared)
{
    if (!prepared)
        return;
    inmo_free((void *)prepared->info.description);
    inmo_free(prepared);
}

/* The folder that a directory is in: there is room for it, so there may be room for temporary files. */
static char *folder_of(const char *directory)
{
    char *folder = inmo_copy_string(directory);
    size_t length = folder ? strlen(folder) : 0;
    while (length > 1 && folder[length - 1] == '/')
        length--;
    while (length > 0 && folder[length - 1] != '/')
        length--;
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (folder && length > 0)
        folder[length] = 0;
    else if (folder)
        memcpy(folder, ".", 2); /* a name of at least one character */
    return folder;
}

static int32_t count_ones(const uint8_t *flag, int32_t count)
{
    int32_t ones = 0;
    for (int32_t n = 0; n < count; n++)
        ones += flag[n];
    return ones;
}

static enum inmo_status describe(const struct inmo_bounded *b, struct inmo_prepared *prepared,
                                 struct inmo_error *error)
{
    int64_t all = 0;
    prepared->info = (struct inmo_dataset_info){
        .users = b->count[0],
        .items = b->count[1],
        .new_users = count_ones(b->is_new[0], b->count[0]),
        .new_items = count_ones(b->is_new[1], b->count[1]),
        .train = b->part_count[INMO_TRAIN],
        .valid = b->part_count[INMO_VALID],
        .test = b->part_count[INMO_TEST],
        .later = b->part_count[INMO_LATER],
        .aside = b->part_count[INMO_ASIDE],
        .scenario = inmo_scenario_name(b->p.scenario),
        .description = inmo_preparation_describe(&b->p, b->seen_count, b->extras[0], b->extras[1]),
    };
    prepared->untrained_users = b->untrained_users + b->extras[0];
    prepared->untrained_items = b->count[1] - count_ones(b->trained, b->count[1]) + b->extras[1];
    for (int part = 0; part < INMO_PARTS; part++)
        all += b->part_count[part];
    if (!prepared->info.description)
        return inmo_fail_memory(error, "the data set");
    return prepared->info.train == 0
               ? inmo_preparation_fail_untrained(all, prepared->info.valid, prepared->info.test,
                                                 prepared->info.later, error)
               : INMO_OK;
}

static void release(struct inmo_bounded *b)
{
    for (int n = 0; n < INMO_ID_LISTS; n++) {
        inmo_tape_close(&b->id_text[n]);
        inmo_tape_close(&b->id_offset[n]);
    }
    inmo_tape_close(&b->seen_item);
    inmo_tape_close(&b->seen_offset);
    for (int part = 0; part < INMO_PARTS; part++) {
        inmo_tape_close(&b->part_item[part]);
        inmo_tape_close(&b->part_offset[part]);
    }
    inmo_rows_free(&b->chunk.rows);
    inmo_sorter_free(&b->seen);
    inmo_free(b->trained);
    for (int s = 0; s < 2; s++) {
        inmo_free(b->is_new[s]);
        inmo_free(b->number[s]);
    }
    inmo_free(b);
}

static struct inmo_bounded *begin(const struct inmo_prepare_options *options, struct inmo_spill *spill,
                                  size_t memory)
{
    struct inmo_bounded *b = inmo_alloc_zero(1, sizeof *b);
    if (!b)
        return NULL;
    b->p.options = *options;
    b->spill = spill;
    b->memory = memory;
    b->began = b->reported = inmo_now();
    b->seen_offset = b->seen_item = INMO_NO_TAPE;
    for (int part = 0; part < INMO_PARTS; part++)
        b->part_offset[part] = b->part_item[part] = INMO_NO_TAPE;
    for (int n = 0; n < INMO_ID_LISTS; n++)
        b->id_offset[n] = b->id_text[n] = INMO_NO_TAPE;
    return b;
}

enum inmo_status inmo_prepare_bounded(const char *const *paths, size_t path_count, const struct inmo_source *source,
                                      const struct inmo_read_options *read,
                                      const struct inmo_prepare_options *options, uint64_t memory,
                                      const char *directory, int force, const struct inmo_hooks *hooks,
                                      struct inmo_prepared **result, struct inmo_error *error)
{
    struct inmo_prepare_options defaults;
    struct inmo_prepared *prepared = inmo_alloc_zero(1, sizeof *prepared);
    struct inmo_bounded *b = NULL;
    struct inmo_spill *spill = NULL;
    struct inmo_log *log = NULL;
    char *folder = folder_of(directory);
    enum inmo_status status = INMO_OK;
    inmo_prepare_options_init(&defaults);
    options = options ? options : &defaults;
    status = inmo_sized_check(options, sizeof *options, "inmo_prepare_options", error);
    if (status == INMO_OK && memory < INMO_LEAST_MEMORY)
        status = inmo_fail(error, INMO_USAGE, "`memory` is %llu bytes; it must be at least %d MB",
                           (unsigned long long)memory, INMO_LEAST_MEMORY >> 20);
    if (status == INMO_OK && (!prepared || !folder))
        status = inmo_fail_memory(error, "the data set");
    if (status == INMO_OK)
        status = inmo_spill_new(folder, (size_t)memory, hooks, &spill, error);
    if (status == INMO_OK)
        status = inmo_log_read_into(source ? &source->name : paths, source ? 1 : path_count, source, spill, read,
                                    hooks, &log, error);
    if (status == INMO_OK)
        status = inmo_spill_end(spill, log, error);
    if (status == INMO_OK && !(b = begin(options, spill, (size_t)memory)))
        status = inmo_fail_memory(error, "the data set");
    if (status == INMO_OK) {
        b->p.log = log;
        b->users = spill->side[0].count;
        b->items = spill->side[1].count;
        status = inmo_spill_check((size_t)memory, b->users, b->items, error);
    }
    if (status == INMO_OK)
        status = inmo_preparation_check(&b->p, error);
    if (status == INMO_OK)
        status = inmo_bounded_parts(b, error);
    if (status == INMO_OK)
        status = inmo_bounded_ids(b, error);
    if (status == INMO_OK)
        status = describe(b, prepared, error);
    if (status == INMO_OK)
        status = inmo_bounded_write(b, &prepared->info, directory, force, error);
    if (status == INMO_OK) {
        *result = prepared;
        prepared = NULL;
    }
    if (b)
        release(b);
    inmo_log_free(log);
    inmo_spill_free(spill);
    inmo_free(folder);
    inmo_prepared_free(prepared);
    return status;
}
