/* export.c - see export.h. */
#include "train/export.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers the users (or, with item_degree, the items) that have a training interaction; -1 for the others. Returns
 * how many there are. */
static int32_t renumber(const struct inmo_csr *train, const int32_t *item_degree, int32_t count, int32_t *number)
{
    int32_t kept = 0;
    for (int32_t n = 0; n < count; n++) {
        int64_t degree = item_degree ? item_degree[n] : inmo_csr_degree(train, n);
        number[n] = degree > 0 ? kept++ : -1;
    }
    return kept;
}

/* Copies the ids whose number is from first on, which are first, first + 1, ... in order of both maps together.
 * more (may be NULL) follows `from`, and so do its numbers. */
static enum inmo_status copy_ids(const struct inmo_idmap *from, const struct inmo_idmap *more,
                                 const int32_t *number, int32_t first, int32_t kept, struct inmo_idmap *to,
                                 struct inmo_error *error)
{
    const struct inmo_idmap *const map[2] = {from, more};
    int64_t *offset = inmo_alloc((size_t)kept + 1, sizeof *offset), size = 0;
    char *text = NULL;
    if (!offset)
        return inmo_fail_memory(error, "the ids");
    for (int m = 0; m < 2 && map[m]; m++)
        for (int32_t n = 0; n < map[m]->count; n++) {
            int32_t place = number[n + (m ? from->count : 0)] - first;
            if (place >= 0 && place < kept) {
                offset[place] = size;
                size += (int64_t)strlen(inmo_idmap_id(map[m], n)) + 1;
            }
        }
    offset[kept] = size;
    text = inmo_alloc((size_t)size, 1);
    if (!text) {
        inmo_free(offset);
        return inmo_fail_memory(error, "the ids");
    }
    for (int m = 0; m < 2 && map[m]; m++)
        for (int32_t n = 0; n < map[m]->count; n++) {
            int32_t place = number[n + (m ? from->count : 0)] - first;
            if (place >= 0 && place < kept)
                strcpy(text + offset[place], inmo_idmap_id(map[m], n));
        }
    *to = (struct inmo_idmap){.count = kept, .offset = offset, .text = text};
    return INMO_OK;
}

/* Copies the interactions between users and items that are kept. */
static enum inmo_status copy_list(const struct inmo_csr *from, const int32_t *user, const int32_t *item,
                                  int32_t users, int32_t items, struct inmo_csr *to, struct inmo_error *error)
{
    int64_t *offset = inmo_alloc_zero((size_t)users + 1, sizeof *offset), count = 0;
    int32_t *column = inmo_alloc((size_t)inmo_csr_count(from), sizeof *column);
    float *weight = from->weight ? inmo_alloc((size_t)inmo_csr_count(from), sizeof *weight) : NULL;
    if (!offset || !column || (from->weight && !weight)) {
        inmo_free(weight);
        inmo_free(column);
        inmo_free(offset);
        return inmo_fail_memory(error, "the interactions");
    }
    for (int32_t u = 0; from->offset && u < from->rows; u++) {
        if (user[u] < 0)
            continue;
        for (int64_t e = from->offset[u]; e < from->offset[u + 1]; e++)
            if (item[from->column[e]] >= 0) {
                if (weight)
                    weight[count] = from->weight[e];
                column[count++] = item[from->column[e]];
            }
        offset[user[u] + 1] = count;
    }
    *to = (struct inmo_csr){users, items, offset, column, weight};
    return INMO_OK;
}

/* Numbers everybody: those with training interactions as they are numbered already, the others after them. Returns
 * how many others there are. */
static int32_t number_all(const int32_t *number, int32_t count, int32_t kept, int32_t extras, int32_t *all)
{
    int32_t next = kept;
    for (int32_t n = 0; n < count; n++)
        all[n] = number[n] >= 0 ? number[n] : next++;
    for (int32_t n = 0; n < extras; n++)
        all[count + n] = next++;
    return next - kept;
}

/* Adds the pairs of a list to the model's seen ones, which are counted in offset (column NULL) or filled in.
 * Validation pairs are added only where the model has no place for them among its own. */
static void add_seen(const struct inmo_csr *list, int only_extras, const struct inmo_model *model,
                     const int32_t *user, const int32_t *item, int64_t *offset, int32_t *column)
{
    for (int32_t u = 0; list->offset && u < list->rows; u++)
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; e++) {
            int32_t i = item[list->column[e]];
            if (only_extras && user[u] < model->users.count && i < model->items.count)
                continue;
            if (column)
                column[offset[user[u] + 1]++] = i;
            else
                offset[user[u] + 2]++;
        }
}

/* The names without training interactions, and what was seen. */
static enum inmo_status fill_seen(const struct inmo_dataset *data, const int32_t *user, const int32_t *item,
                                  struct inmo_model *model, struct inmo_error *error)
{
    int32_t users = data->users.count + data->extra_users.count,
            items = data->items.count + data->extra_items.count;
    int32_t extra_users, extra_items, *all_users = inmo_alloc((size_t)users, sizeof *all_users), *column = NULL;
    int32_t *all_items = inmo_alloc((size_t)items, sizeof *all_items);
    int64_t *offset = inmo_alloc_zero((size_t)users + 2, sizeof *offset), written = 0;
    enum inmo_status status = INMO_OK;
    if (!all_users || !all_items || !offset) {
        status = inmo_fail_memory(error, "the model");
        goto done;
    }
    extra_users = number_all(user, data->users.count, model->users.count, data->extra_users.count, all_users);
    extra_items = number_all(item, data->items.count, model->items.count, data->extra_items.count, all_items);
    add_seen(&data->seen, 0, model, all_users, all_items, offset, NULL);
    add_seen(&data->valid, 1, model, all_users, all_items, offset, NULL);
    for (int32_t u = 0; u < users; u++)
        offset[u + 2] += offset[u + 1];
    if (extra_users == 0 && extra_items == 0 && offset[users + 1] == 0)
        goto done;
    column = inmo_alloc((size_t)offset[users + 1], sizeof *column);
    if (!column) {
        status = inmo_fail_memory(error, "the model");
        goto done;
    }
    add_seen(&data->seen, 0, model, all_users, all_items, offset, column);
    add_seen(&data->valid, 1, model, all_users, all_items, offset, column);
    for (int32_t u = 0; u < users; u++) {
        int64_t begin = offset[u], kept = inmo_ascending(column + begin, offset[u + 1] - begin);
        memmove(column + written, column + begin, (size_t)kept * sizeof *column);
        offset[u] = written;
        written += kept;
    }
    offset[users] = written;
    model->seen = (struct inmo_csr){users, items, offset, column, NULL};
    offset = NULL;
    column = NULL;
    status = copy_ids(&data->users, &data->extra_users, all_users, model->users.count, extra_users,
                      &model->extra_users, error);
    if (!status)
        status = copy_ids(&data->items, &data->extra_items, all_items, model->items.count, extra_items,
                          &model->extra_items, error);
done:
    inmo_free(column);
    inmo_free(offset);
    inmo_free(all_items);
    inmo_free(all_users);
    return status;
}

/* How the data was split: the options in its description that decide it, alike for logs and matrices. */
static enum inmo_status fill_preparation(const struct inmo_dataset *data, struct inmo_model *model,
                                         struct inmo_error *error)
{
    static const char *const key[] = {"k-core",    "split", "by",   "hold-out",     "seed",     "scenario",
                                      "new-share", "cut",   "last", "weight-scale", "half-life"};
    json_t *json = NULL, *options, *kept = NULL;
    enum inmo_status status = INMO_OK;
    char *text = NULL;
    if (!data->description)
        return INMO_OK;
    if (inmo_json_parse(data->description, strlen(data->description), 0, &json, NULL) == INMO_MEMORY)
        return inmo_fail_memory(error, "the model");
    options = json_object_get(json, "options");
    if (json_is_object(options)) {
        static const char *const later[] = {"new-choice", "hold-out-by"}; /* kept where they are not random */
        int failed = !(kept = json_object());
        for (size_t n = 0; n < sizeof key / sizeof *key && !failed; n++)
            if (strcmp(key[n], "last") == 0 && json_integer_value(json_object_get(options, key[n])) == 0)
                continue; /* not used: files have always been without it */
            else if (json_is_string(json_object_get(options, key[n])) ||
                     json_is_number(json_object_get(options, key[n])))
                failed = json_object_set(kept, key[n], json_object_get(options, key[n])) != 0;
            else if (strcmp(key[n], "by") == 0)
                failed = json_object_set_new(kept, key[n], json_string("random")) != 0;
        for (size_t n = 0; n < sizeof later / sizeof *later && !failed; n++) {
            json_t *choice = json_object_get(options, later[n]);
            if (json_is_string(choice) && strcmp(json_string_value(choice), "random") != 0)
                failed = json_object_set(kept, later[n], choice) != 0;
        }
        text = failed ? NULL : json_dumps(kept, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
        model->preparation = text ? inmo_copy_string(text) : NULL;
        if (!model->preparation)
            status = inmo_fail_memory(error, "the model");
    }
    free(text);
    json_decref(kept);
    json_decref(json);
    return status;
}

/* Sets user and item to the model's numbers of the data set's users and items, or -1. */
static enum inmo_status fill_model(const struct inmo_dataset *data, const struct inmo_train_options *options,
                                   const struct inmo_model_kind *kind, int32_t *user, int32_t *item,
                                   struct inmo_model *model, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t setting_count;
    const struct inmo_setting *settings = inmo_train_settings(&setting_count);
    int32_t *item_degree = inmo_alloc_zero((size_t)data->items.count, sizeof *item_degree), users, items;
    if (!item_degree)
        return inmo_fail_memory(error, "the model");
    for (int64_t e = 0; e < inmo_csr_count(&data->train); e++)
        item_degree[data->train.column[e]]++;
    users = renumber(&data->train, NULL, data->users.count, user);
    items = renumber(NULL, item_degree, data->items.count, item);
    inmo_free(item_degree);
    model->kind = kind;
    model->dim = kind->provider || kind->system->vectors ? inmo_head_embedding(kind->head, options->dim) : 1;
    model->layers = kind->backbone && kind->backbone->needs_all ? options->layers : 0;
    model->alpha_one = strcmp(options->eval_alpha, "one") == 0;
    model->popularity = options->popularity;
    model->walk_neighbours = options->walk_neighbours;
    model->shared_attention =
        kind->provider && kind->provider->frozen_from && strcmp(options->attention, "shared") == 0;
    model->configuration = inmo_settings_json(settings, inmo_train_settings_of_model(), options);
    if (!model->configuration)
        return inmo_fail_memory(error, "the model");
    status = copy_ids(&data->users, NULL, user, 0, users, &model->users, error);
    if (!status)
        status = copy_ids(&data->items, NULL, item, 0, items, &model->items, error);
    if (!status)
        status = copy_list(&data->train, user, item, users, items, &model->train, error);
    if (!status)
        status = copy_list(&data->valid, user, item, users, items, &model->valid, error);
    if (!status)
        status = fill_seen(data, user, item, model, error);
    if (!status)
        status = fill_preparation(data, model, error);
    return status;
}

enum inmo_status inmo_export_model(const struct inmo_dataset *data, const struct inmo_csr *untrained,
                                   const struct inmo_train_options *options, const struct inmo_model_kind *kind,
                                   int32_t *node, struct inmo_model **out, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_model *model = inmo_alloc_zero(1, sizeof *model);
    int32_t *user = inmo_alloc((size_t)data->users.count, sizeof *user);
    int32_t *item = inmo_alloc((size_t)data->items.count, sizeof *item);
    if (!model || !user || !item)
        status = inmo_fail_memory(error, "the model");
    else
        status = fill_model(data, options, kind, user, item, model, error);
    if (!status && untrained)
        status = copy_list(untrained, user, item, model->users.count, model->items.count, &model->untrained, error);
    for (int32_t u = 0; !status && node && u < data->users.count; u++)
        node[u] = user[u];
    for (int32_t i = 0; !status && node && i < data->items.count; i++)
        node[data->users.count + i] = item[i] < 0 ? -1 : model->users.count + item[i];
    if (!status) {
        *out = model;
        model = NULL;
    }
    inmo_free(item);
    inmo_free(user);
    inmo_model_free(model);
    return status;
}

enum inmo_status inmo_export_stamp(struct inmo_model *model, double alpha_reached, const char *epochs,
                                   struct inmo_error *error)
{
    size_t size = strlen(epochs) + 3;
    model->alpha_reached = alpha_reached;
    model->record = inmo_alloc(size, 1);
    if (!model->record)
        return inmo_fail_memory(error, "the model");
    snprintf(model->record, size, "[%s]", epochs);
    return INMO_OK;
}

/* Appends a member of the description, if it is there. */
static void add_member(struct inmo_text *text, const json_t *description, const char *name)
{
    json_t *member = json_object_get(description, name);
    char *dumped = member ? json_dumps(member, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)) : NULL;
    text->failed |= member && !dumped;
    if (dumped) {
        inmo_text_format(text, "%s\"%s\": ", text->data ? ", " : "{", name);
        inmo_text_add(text, dumped, strlen(dumped));
    }
    free(dumped);
}

enum inmo_status inmo_export_origin(struct inmo_model *model, const struct inmo_dataset *data, uint64_t from,
                                    struct inmo_error *error)
{
    struct inmo_text text = {0};
    json_t *description = NULL;
    const char *words = data->description ? data->description : "{}";
    enum inmo_status status = inmo_json_parse(words, strlen(words), 0, &description, NULL);
    if (status == INMO_MEMORY)
        return inmo_fail_memory(error, "the model");
    if (json_object_get(description, "reading")) {
        add_member(&text, description, "reading");
        add_member(&text, description, "options");
    }
    if (from)
        inmo_text_format(&text, "%s\"from\": \"%016llx\"", text.data ? ", " : "{", (unsigned long long)from);
    json_decref(description);
    if (!text.data && !text.failed)
        return INMO_OK;
    inmo_text_add(&text, "}", 1);
    model->origin = inmo_text_take(&text);
    return model->origin ? INMO_OK : inmo_fail_memory(error, "the model");
}
