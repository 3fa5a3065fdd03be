/* golden_world.h - for the tests of views: a file of tests/golden (numpy, from docs/math.md alone) as a model with
 * those parameters, and a view of it. The world is 7 users u0 .. u6 and 9 items i0 .. i8; u3 and i5 have no
 * interaction. */
#ifndef INMO_TESTS_GOLDEN_WORLD_H
#define INMO_TESTS_GOLDEN_WORLD_H

#include "support.h"

#include "view/view.h"

#include <jansson.h>

enum { USERS = 7, ITEMS = 9 };

struct world {
    json_t *golden;
    struct inmo_model *model;
    struct inmo_view *view;
};

static inline int integer(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return (int)json_integer_value(json_object_get(object, key));
}

static inline struct inmo_idmap named(char letter, int32_t count)
{
    int64_t *offset = inmo_alloc((size_t)count + 1, sizeof *offset);
    char *text = inmo_alloc((size_t)count, 3);
    for (int32_t n = 0; n <= count; n++)
        offset[n] = 3 * n;
    for (int32_t n = 0; n < count; n++)
        memcpy(text + 3 * n, (char[3]){letter, (char)('0' + n), '\0'}, 3);
    return (struct inmo_idmap){.count = count, .offset = offset, .text = text};
}

static inline struct inmo_csr edges_of(const json_t *golden)
{
    const json_t *edges = json_object_get(golden, "edges");
    int64_t *offset = inmo_alloc_zero(USERS + 1, sizeof *offset);
    int32_t *column = inmo_alloc(json_array_size(edges), sizeof *column);
    for (size_t e = 0; e < json_array_size(edges); e++) {
        json_t *edge = json_array_get(edges, e);
        column[e] = (int32_t)json_integer_value(json_array_get(edge, 1));
        for (int64_t u = json_integer_value(json_array_get(edge, 0)); u < USERS; u++)
            offset[u + 1] = (int64_t)e + 1;
    }
    return (struct inmo_csr){USERS, ITEMS, offset, column, NULL};
}

static inline struct inmo_model *model_of(const json_t *golden)
{
    struct inmo_model *model = inmo_alloc_zero(1, sizeof *model);
    const json_t *templates[2] = {json_object_get(golden, "user_templates"),
                                  json_object_get(golden, "item_templates")};
    const json_t *after = json_object_get(golden, "after");
    float *parameter = inmo_alloc(json_array_size(after), sizeof *parameter);
    size_t own;
    assert_non_null(model);
    model->kind = inmo_model_kind_find(json_string_value(json_object_get(golden, "model")));
    model->dim = integer(golden, "dim");
    model->layers = model->kind->backbone->needs_all ? integer(golden, "layers") : 0;
    model->alpha_one = 1;
    model->shared_attention = json_object_get(golden, "attention") &&
                              strcmp(json_string_value(json_object_get(golden, "attention")), "shared") == 0;
    model->users = named('u', USERS);
    model->items = named('i', ITEMS);
    model->train = edges_of(golden);
    for (size_t n = 0; n < json_array_size(after); n++)
        parameter[n] = (float)json_number_value(json_array_get(after, n));
    model->parameter = parameter;
    model->own = inmo_alloc(json_array_size(after), sizeof *model->own); /* the end of the block */
    model->rows = USERS + ITEMS;
    if (model->kind->provider->templates) {
        int32_t *node = inmo_alloc(USERS + ITEMS, sizeof *node), rows = 0;
        for (int side = 0; side < 2; side++)
            for (size_t n = 0; n < json_array_size(templates[side]); n++)
                node[rows++] = (int32_t)json_integer_value(json_array_get(templates[side], n)) + (side ? USERS : 0);
        model->node_of_row = node;
        model->rows = rows;
    }
    assert_int_equal(json_array_size(after), inmo_model_parameter_count(model));
    own = ((size_t)model->rows + (size_t)model->kind->provider->extra_rows) * (size_t)model->dim;
    memcpy(model->own, parameter + own, (json_array_size(after) - own) * sizeof *parameter);
    return model;
}

static inline struct world open_world(const char *name, const char *observed)
{
    struct inmo_error error = {0};
    struct world world = {0};
    struct inmo_log *log = observed ? log_of(observed) : NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/golden/%s.json", INMO_TEST_DIR, name);
    world.golden = json_load_file(path, 0, NULL);
    assert_non_null(world.golden);
    world.model = model_of(world.golden);
    must(inmo_view_create(world.model, log, &world.view, &error));
    inmo_log_free(log); /* the view keeps nothing of it */
    return world;
}

static inline void close_world(struct world *world)
{
    inmo_view_free(world->view);
    inmo_model_free(world->model);
    json_decref(world->golden);
}

static inline struct inmo_list *recommended(const struct inmo_view *view, const struct inmo_query *query)
{
    struct inmo_error error = {0};
    struct inmo_list *list = NULL;
    must(inmo_recommend(view, query, &list, &error));
    for (size_t n = 1; n < list->count; n++)
        assert_true(list->entry[n - 1].score >= list->entry[n].score);
    return list;
}

static inline struct inmo_query query_of(const char *user, const char *const *items, size_t count)
{
    struct inmo_query query;
    inmo_query_init(&query);
    query.user = user;
    query.items = items;
    query.item_count = count;
    return query;
}

static inline const struct inmo_entry *entry_of(const struct inmo_list *list, const char *id)
{
    for (size_t n = 0; n < list->count; n++)
        if (strcmp(list->entry[n].id, id) == 0)
            return list->entry + n;
    return NULL;
}

#endif
