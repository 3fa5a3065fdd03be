/* modelfile_write.c - writes a model; the layout of the file is in modelfile.c. */
#include "base/memory.h"
#include "base/number.h"
#include "data/titles.h"
#include "model/modelfile.h"

#include <stdio.h>

enum { MOST_OF_LOG = 21 };

static struct inmo_tensor vector(const char *name, enum inmo_dtype dtype, int64_t count, const void *data)
{
    return (struct inmo_tensor){name, dtype, count, 0, data};
}

size_t inmo_model_list_parts(const struct inmo_model *model, struct inmo_part *part, struct inmo_tensor *tensor)
{
    const float *at = model->own;
    size_t count = 0;
    for (; count < INMO_MODEL_MOST_PARTS && inmo_model_part(model, (int)count, part + count); count++) {
        int64_t size = inmo_part_size(part + count, model->dim), rows = part[count].rows;
        tensor[count] = part[count].is_vector
                            ? vector(part[count].name, INMO_F32, size, at)
                            : (struct inmo_tensor){part[count].name, INMO_F32, rows, size / rows, at};
        at += size;
    }
    return count;
}

/* What a file says of its model, and the texts of the numbers among it. */
struct description {
    struct inmo_metadata metadata[21];
    size_t count;
    char number[21][48];
};

static void say(struct description *description, const char *name, const char *value)
{
    description->metadata[description->count++] = (struct inmo_metadata){name, value};
}

static void say_real(struct description *description, const char *name, double value)
{
    char *number = description->number[description->count];
    inmo_format(number, sizeof description->number[0], "%.17g", value);
    say(description, name, number);
}

static void say_whole(struct description *description, const char *name, int value)
{
    char *number = description->number[description->count];
    snprintf(number, sizeof description->number[0], "%d", value);
    say(description, name, number);
}

static void describe(const struct inmo_model *model, struct description *description)
{
    description->count = 0;
    say(description, "model", model->kind->name);
    say_whole(description, "dim", model->dim);
    say_whole(description, "layers", model->layers);
    say_real(description, "alpha_reached", model->alpha_reached);
    say_real(description, "popularity", model->popularity);
    say_real(description, "walks", model->walks);
    say_whole(description, "walk_neighbours", model->walk_neighbours);
    say_real(description, "links", model->linked ? model->links : 0);
    say_whole(description, "link_neighbours", model->link_rule.k);
    say_real(description, "link_ridge", model->link_rule.ridge);
    say_real(description, "link_share", model->link_rule.share);
    say_real(description, "link_popularity", model->link_rule.popularity);
    say(description, "eval_alpha", model->alpha_one ? "one" : "reached");
    say(description, "configuration", model->configuration);
    say(description, "record", model->record);
    /* Only files of such models have these. */
    if (model->shared_attention)
        say(description, "attention", "shared");
    if (model->preparation)
        say(description, "preparation", model->preparation);
    if (model->origin)
        say(description, "origin", model->origin);
    if (model->prior > 0)
        say_real(description, "prior", model->prior);
    if (model->refitted)
        say(description, "refit", model->refitted == INMO_REFIT_GRAPH ? "graph" : "train");
}

/* Names of one side. */
static size_t list_ids(const char *offset, const char *text, const struct inmo_idmap *ids,
                       struct inmo_tensor *tensor)
{
    tensor[0] = vector(offset, INMO_I64, (int64_t)ids->count + 1, ids->offset);
    tensor[1] = vector(text, INMO_U8, ids->offset[ids->count], ids->text);
    return 2;
}

/* Interactions by user. */
static size_t list_rows(const char *offset, const char *item, const struct inmo_csr *list,
                        struct inmo_tensor *tensor)
{
    tensor[0] = vector(offset, INMO_I64, (int64_t)list->rows + 1, list->offset);
    tensor[1] = vector(item, INMO_I32, inmo_csr_count(list), list->column);
    return 2;
}

/* What the model was made from: names, interactions, links. Returns the number of tensors. */
static size_t list_log(const struct inmo_model *model, struct inmo_tensor *tensor)
{
    size_t count = list_ids("users.offset", "users.text", &model->users, tensor);
    count += list_ids("items.offset", "items.text", &model->items, tensor + count);
    count += list_rows("train.offset", "train.item", &model->train, tensor + count);
    count += list_rows("valid.offset", "valid.item", &model->valid, tensor + count);
    if (inmo_csr_count(&model->untrained) > 0)
        count += list_rows("untrained.offset", "untrained.item", &model->untrained, tensor + count);
    if (model->train.weight)
        tensor[count++] = vector("train.weight", INMO_F32, inmo_csr_count(&model->train), model->train.weight);
    if (model->valid.weight)
        tensor[count++] = vector("valid.weight", INMO_F32, inmo_csr_count(&model->valid), model->valid.weight);
    if (model->seen.offset) {
        count += list_ids("extra_users.offset", "extra_users.text", &model->extra_users, tensor + count);
        count += list_ids("extra_items.offset", "extra_items.text", &model->extra_items, tensor + count);
        count += list_rows("seen.offset", "seen.item", &model->seen, tensor + count);
    }
    if (model->linked) {
        int64_t links = inmo_links_count(model->linked);
        tensor[count++] = vector("links.offset", INMO_I64, (int64_t)model->items.count + 1, model->linked->offset);
        tensor[count++] = vector("links.item", INMO_I32, links, model->linked->item);
        tensor[count++] = vector("links.weight", INMO_F32, links, model->linked->weight);
    }
    return count;
}

/* Numbers of the templates. The items' get an array of their own, which the caller frees. */
static enum inmo_status list_templates(const struct inmo_model *model, struct inmo_tensor *tensor,
                                       int32_t **template_item, struct inmo_error *error)
{
    int32_t users = 0, items, *number;
    while (users < model->rows && model->node_of_row[users] < model->users.count)
        users++;
    items = model->rows - users;
    *template_item = number = inmo_alloc((size_t)items, sizeof *number);
    if (!number)
        return inmo_fail_memory(error, "saving the model");
    for (int32_t r = 0; r < items; r++)
        number[r] = model->node_of_row[users + r] - model->users.count;
    tensor[0] = vector("template.users", INMO_I32, users, model->node_of_row);
    tensor[1] = vector("template.items", INMO_I32, items, number);
    return INMO_OK;
}

enum inmo_status inmo_model_save(const struct inmo_model *model, const char *path, int force,
                                 struct inmo_error *error)
{
    const struct inmo_provider *provider = model->kind->provider;
    struct inmo_tensor tensor[MOST_OF_LOG + 4 + INMO_MODEL_MOST_PARTS + INMO_SYSTEM_TENSORS];
    struct inmo_part part[INMO_MODEL_MOST_PARTS];
    struct description description;
    int32_t *template_item = NULL;
    size_t count = list_log(model, tensor);
    enum inmo_status status = INMO_OK;
    describe(model, &description);
    if (model->node_of_row) {
        status = list_templates(model, tensor + count, &template_item, error);
        count += 2;
    }
    if (status)
        return status;
    if (provider)
        tensor[count++] = (struct inmo_tensor){"parameters", INMO_F32, (int64_t)model->rows + provider->extra_rows,
                                               model->dim, model->parameter};
    for (size_t n = 0; n < model->tensors; n++)
        tensor[count++] = model->tensor[n];
    if (provider)
        count += inmo_model_list_parts(model, part, tensor + count);
    if (model->titles) {
        size_t size;
        const char *block = inmo_titles_block(model->titles, &size);
        tensor[count++] = vector("titles", INMO_U8, (int64_t)size, block);
    }
    status = inmo_tensorfile_write(path, force, "model", INMO_MODEL_VERSION, description.metadata,
                                   description.count, tensor, count, error);
    inmo_free(template_item);
    return status;
}
