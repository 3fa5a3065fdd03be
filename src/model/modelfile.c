/* modelfile.c - a model in one file (tensorfile kind "model", version 1; layout: docs/formats.md).
 *
 *     users.offset users.text items.offset items.text      external ids
 *     train.offset train.item valid.offset valid.item      interactions among them, by user
 *     untrained.offset untrained.item                      of those in train, what parameters never saw, if any
 *     extra_users.* extra_items.* seen.offset seen.item    names without training interactions, and what was only
 *                                                          seen, by user; if there are any
 *     titles                                               the file of titles as one block, if it was kept
 *     links.offset links.item links.weight                 item links, by item of the history, if it has any
 *     template.users template.items                        inmo models: numbers of the templates, ascending
 *     parameters (rows + extra, dim)                       template users, template items, t_user, t_item, w;
 *                                                          or the table, users then items
 *     PROVIDER.NAME, BACKBONE.NAME, HEAD.NAME              their own parameters, one array each
 *     NAME.*                                               standalone models: their tensors, by their rules
 *
 * Everything is checked before use: a file with a valid checksum may still have been written by another program. */
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/stored.h"
#include "data/titles.h"
#include "model/modelfile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum inmo_status bad(const char *path, const char *what, struct inmo_error *error)
{
    return inmo_fail(error, INMO_FORMAT, "%s is not a model this program can use: %s", path, what);
}

/* Copies the template numbers of one side as nodes; the list must be ascending and in range. */
static enum inmo_status load_templates(const char *path, const struct inmo_tensor *list, int32_t count,
                                       int32_t first, int32_t *node, struct inmo_error *error)
{
    const int32_t *number = list->data;
    for (int64_t n = 0; n < list->rows; n++) {
        if (number[n] < 0 || number[n] >= count || (n > 0 && number[n] <= number[n - 1]))
            return bad(path, "its templates are inconsistent", error);
        node[n] = first + number[n];
    }
    return INMO_OK;
}

/* Loads the tensors of a system: names and types by its rules, the rest by its own check. */
static enum inmo_status load_tensors(const char *path, struct inmo_model *model, struct inmo_error *error)
{
    const struct inmo_system *system = model->kind->system;
    enum inmo_status status = INMO_OK;
    const char *wrong;
    model->tensor = inmo_alloc_zero(system->tensors, sizeof *model->tensor);
    if (!model->tensor)
        return inmo_fail_memory(error, "the model");
    for (; model->tensors < system->tensors && !status; model->tensors++) {
        const struct inmo_tensor_rule *rule = system->tensor + model->tensors;
        status = inmo_tensorfile_get(model->file, rule->name, rule->dtype, -1, rule->matrix ? -1 : 0,
                                     model->tensor + model->tensors, error);
    }
    wrong = !status && system->check ? system->check(model) : NULL;
    return wrong ? bad(path, wrong, error) : status;
}

/* Copies the extra parameters, which are separate arrays in the file, into one block. */
static enum inmo_status load_parts(struct inmo_model *model, struct inmo_error *error)
{
    struct inmo_tensor tensor[INMO_MODEL_MOST_PARTS], found;
    struct inmo_part part[INMO_MODEL_MOST_PARTS];
    size_t rows = (size_t)inmo_own_rows(model->kind, model->dim, model->layers), count;
    enum inmo_status status = INMO_OK;
    float *at;
    model->own = inmo_alloc_zero(rows * (size_t)model->dim, sizeof *model->own);
    if (!model->own)
        return inmo_fail_memory(error, "the model");
    at = model->own;
    count = inmo_model_list_parts(model, part, tensor);
    for (size_t n = 0; n < count && !status; n++) {
        size_t size = (size_t)inmo_part_size(part + n, model->dim);
        status = inmo_tensorfile_get(model->file, tensor[n].name, INMO_F32, tensor[n].rows, tensor[n].columns,
                                     &found, error);
        if (!status)
            memcpy(at, found.data, size * sizeof *at);
        at += size;
    }
    return status;
}

static enum inmo_status load_parameters(const char *path, struct inmo_model *model, int32_t **nodes,
                                        struct inmo_error *error)
{
    const struct inmo_provider *provider = model->kind->provider;
    struct inmo_tensor users = {0}, items = {0}, parameters;
    int64_t rows = (int64_t)model->users.count + model->items.count;
    enum inmo_status status = INMO_OK;
    if (model->kind->system)
        return load_tensors(path, model, error);
    if (provider->templates) {
        status = inmo_tensorfile_get(model->file, "template.users", INMO_I32, -1, 0, &users, error);
        if (!status)
            status = inmo_tensorfile_get(model->file, "template.items", INMO_I32, -1, 0, &items, error);
        if (status)
            return status;
        if (users.rows > model->users.count || items.rows > model->items.count)
            return bad(path, "its templates are inconsistent", error);
        rows = users.rows + items.rows;
        *nodes = inmo_alloc((size_t)rows, sizeof **nodes);
        if (!*nodes)
            return inmo_fail_memory(error, "the model");
        model->node_of_row = *nodes;
        status = load_templates(path, &users, model->users.count, 0, *nodes, error);
        if (!status)
            status =
                load_templates(path, &items, model->items.count, model->users.count, *nodes + users.rows, error);
        if (status)
            return status;
    }
    status = inmo_tensorfile_get(model->file, "parameters", INMO_F32, rows + provider->extra_rows, model->dim,
                                 &parameters, error);
    if (status)
        return status;
    model->rows = (int32_t)rows;
    model->parameter = parameters.data;
    return load_parts(model, error);
}

/* 0 if the text is not a number within the bounds. */
static int real_number(const char *text, double least, double most, double *number)
{
    char *end = NULL;
    *number = inmo_real(text, &end);
    return end != text && !*end && *number >= least && *number <= most;
}

static int whole_number(const char *text, int least, int most, int *number)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    *number = (int)value;
    return end != text && !*end && value >= least && value <= most;
}

static enum inmo_status load_configuration(const char *path, struct inmo_model *model, struct inmo_error *error)
{
    const char *name = inmo_tensorfile_metadata(model->file, "model");
    const char *dim = inmo_tensorfile_metadata(model->file, "dim");
    const char *layers = inmo_tensorfile_metadata(model->file, "layers");
    const char *alpha = inmo_tensorfile_metadata(model->file, "alpha_reached");
    const char *popularity = inmo_tensorfile_metadata(model->file, "popularity");
    const char *walks = inmo_tensorfile_metadata(model->file, "walks");
    const char *neighbours = inmo_tensorfile_metadata(model->file, "walk_neighbours");
    const char *links = inmo_tensorfile_metadata(model->file, "links");
    const char *prior = inmo_tensorfile_metadata(model->file, "prior");
    const char *link_neighbours = inmo_tensorfile_metadata(model->file, "link_neighbours");
    const char *link_ridge = inmo_tensorfile_metadata(model->file, "link_ridge");
    const char *link_share = inmo_tensorfile_metadata(model->file, "link_share");
    const char *link_popularity = inmo_tensorfile_metadata(model->file, "link_popularity");
    const char *eval_alpha = inmo_tensorfile_metadata(model->file, "eval_alpha");
    const char *configuration = inmo_tensorfile_metadata(model->file, "configuration");
    const char *record = inmo_tensorfile_metadata(model->file, "record");
    const char *attention = inmo_tensorfile_metadata(model->file, "attention");
    const char *origin = inmo_tensorfile_metadata(model->file, "origin");
    const char *preparation = inmo_tensorfile_metadata(model->file, "preparation");
    const char *refit = inmo_tensorfile_metadata(model->file, "refit");
    if (!name || !dim || !layers || !alpha || !eval_alpha || !configuration || !record)
        return bad(path, "its description is incomplete", error);
    model->kind = inmo_model_kind_find(name);
    if (!model->kind)
        return inmo_fail(error, INMO_FORMAT, "%s holds a '%s', which this program does not know", path, name);
    model->alpha_one = strcmp(eval_alpha, "one") == 0;
    model->shared_attention = attention && strcmp(attention, "shared") == 0;
    model->refitted = !refit ? INMO_REFIT_NONE : strcmp(refit, "graph") == 0 ? INMO_REFIT_GRAPH : INMO_REFIT_TRAIN;
    /* Files written before --popularity, --walks and --links lack these values. */
    if (!whole_number(dim, 1, 8192, &model->dim) || !whole_number(layers, 0, 16, &model->layers) ||
        !real_number(alpha, 0, 1, &model->alpha_reached) ||
        (popularity && !real_number(popularity, -2, 2, &model->popularity)) ||
        (walks && !real_number(walks, 0, 1e6, &model->walks)) ||
        (neighbours && !whole_number(neighbours, 1, 100000, &model->walk_neighbours)) ||
        (links && !real_number(links, 0, 1e6, &model->links)) ||
        (prior && !real_number(prior, 0, 1e6, &model->prior)) ||
        (link_neighbours && !whole_number(link_neighbours, 0, 100000, &model->link_rule.k)) ||
        (link_ridge && !real_number(link_ridge, 0, 1e9, &model->link_rule.ridge)) ||
        (link_share && !real_number(link_share, 0, 1e6, &model->link_rule.share)) ||
        (link_popularity && !real_number(link_popularity, -2, 2, &model->link_rule.popularity)) ||
        (model->links > 0 && model->link_rule.k < 1) ||
        ((model->walks > 0 || model->links > 0 || model->prior > 0) && !inmo_kind_takes_walks(model->kind)))
        return bad(path, "its description is out of bounds", error);
    if (origin && (*origin != '{' || !inmo_json_is_sound(origin, strlen(origin))))
        return bad(path, "its origin is not a JSON object", error);
    if (!neighbours)
        model->walk_neighbours = INMO_WALK_NEIGHBOURS;
    if (!link_popularity)
        model->link_rule.popularity = model->popularity;
    model->configuration = inmo_copy_string(configuration);
    model->record = inmo_copy_string(record);
    model->origin = inmo_copy_string(origin);
    model->preparation = inmo_copy_string(preparation);
    if (!model->configuration || !model->record || (origin && !model->origin) ||
        (preparation && !model->preparation))
        return inmo_fail_memory(error, "the model");
    return INMO_OK;
}

/* Links among the model's items, used where the file has them. */
static enum inmo_status load_links(const char *path, struct inmo_model *model, struct inmo_error *error)
{
    struct inmo_tensor offset, item, weight;
    enum inmo_status status;
    if (model->links == 0)
        return INMO_OK;
    status = inmo_tensorfile_get(model->file, "links.offset", INMO_I64, (int64_t)model->items.count + 1, 0, &offset,
                                 error);
    if (!status)
        status = inmo_tensorfile_get(model->file, "links.item", INMO_I32, -1, 0, &item, error);
    if (!status)
        status = inmo_tensorfile_get(model->file, "links.weight", INMO_F32, item.rows, 0, &weight, error);
    if (status)
        return status;
    if (((const int64_t *)offset.data)[model->items.count] != item.rows)
        return bad(path, "its links are inconsistent", error);
    model->linked = inmo_alloc(1, sizeof *model->linked);
    if (!model->linked)
        return inmo_fail_memory(error, "the model");
    *model->linked = (struct inmo_links){model->items.count, 1, offset.data, item.data, weight.data, NULL};
    return inmo_links_are_sound(model->linked) ? INMO_OK : bad(path, "its links are inconsistent", error);
}

static enum inmo_status load_titles(const char *path, struct inmo_model *model, struct inmo_error *error)
{
    for (size_t n = 0; n < inmo_tensorfile_count(model->file); n++) {
        const struct inmo_tensor *tensor = inmo_tensorfile_at(model->file, n);
        if (strcmp(tensor->name, "titles") == 0)
            return tensor->dtype == INMO_U8 && tensor->columns == 0
                       ? inmo_titles_from_block(path, tensor->data, (size_t)tensor->rows, &model->titles, error)
                       : bad(path, "its titles are inconsistent", error);
    }
    return INMO_OK;
}

enum inmo_status inmo_model_keep_titles(struct inmo_model *model, const struct inmo_titles *titles,
                                        struct inmo_error *error)
{
    struct inmo_titles *copy = NULL;
    enum inmo_status status = INMO_OK;
    if (titles) {
        size_t size;
        const char *block = inmo_titles_block(titles, &size);
        status = inmo_titles_from_block("the file", block, size, &copy, error);
    }
    if (!status) {
        inmo_titles_free(model->titles);
        model->titles = copy;
    }
    return status;
}

const struct inmo_titles *inmo_model_titles(const struct inmo_model *model)
{
    return model->titles;
}

enum inmo_status inmo_model_load(const char *path, struct inmo_model **out, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_model *model = inmo_alloc_zero(1, sizeof *model);
    int32_t *nodes = NULL;
    if (!model) {
        status = inmo_fail_memory(error, "the model");
        goto done;
    }
    status = inmo_tensorfile_open(path, "model", INMO_MODEL_VERSION, &model->file, error);
    if (!status)
        status = load_configuration(path, model, error);
    if (!status)
        status = inmo_stored_ids(model->file, "users", path, &model->users, error);
    if (!status)
        status = inmo_stored_ids(model->file, "items", path, &model->items, error);
    if (!status)
        status = inmo_stored_list(model->file, "train", path, model->users.count, model->items.count, &model->train,
                                  error);
    if (!status)
        status = inmo_stored_list(model->file, "valid", path, model->users.count, model->items.count, &model->valid,
                                  error);
    if (!status && inmo_tensorfile_has(model->file, "untrained.offset"))
        status = inmo_stored_list(model->file, "untrained", path, model->users.count, model->items.count,
                                  &model->untrained, error);
    if (!status)
        status = inmo_stored_seen(model->file, path, model->users.count, model->items.count, &model->extra_users,
                                  &model->extra_items, &model->seen, error);
    if (!status)
        status = load_parameters(path, model, &nodes, error);
    if (!status)
        status = load_links(path, model, error);
    if (!status)
        status = load_titles(path, model, error);
    if (status)
        goto done;
    model->owned_nodes = nodes;
    nodes = NULL;
    *out = model;
    model = NULL;
done:
    inmo_free(nodes);
    inmo_model_free(model);
    return status;
}
