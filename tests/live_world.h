/* live_world.h - for the tests of the live view: small trained models of every kind that serves the unseen, events,
 * and lists compared number by number. */
#ifndef INMO_TESTS_LIVE_WORLD_H
#define INMO_TESTS_LIVE_WORLD_H

#include "support.h"

#include "view/view.h"

static const char *const serving[] = {
    "inmo-lightgcn", "inmo-mf",  "inmo-ngcf", "inmo-imc-gae", "inmo-neumf", "imc-gae",  "imc-lightgcn",
    "idcf-lightgcn", "item-knn", "ease",      "ials",         "gf-cf",      "mult-vae", "popular"};

/* Trained when first asked for, and kept until free_models: training takes longer than the tests. */
static struct {
    const char *name;
    struct inmo_model *model;
} shelf[32];

static inline struct inmo_model *live_model(const char *name)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data;
    struct inmo_train_options options;
    size_t n = 0;
    for (; shelf[n].name; n++)
        if (strcmp(shelf[n].name, name) == 0)
            return shelf[n].model;
    data = grouped_dataset(48, 80, 10, "80/10/10");
    must(inmo_train_options_init(&options, name, NULL, &error));
    options.dim = options.dim > 8 ? 8 : options.dim;
    options.epochs = options.epochs > 4 ? 4 : options.epochs;
    options.eval_every = 2;
    options.storage = "float";
    options.user_templates = options.item_templates = 0.7; /* some can be used in a history, and some cannot */
    options.pretrain = 0;
    must(inmo_train(data, &options, NULL, &shelf[n].model, NULL, &error));
    inmo_dataset_free(data);
    shelf[n].name = name;
    return shelf[n].model;
}

static inline int free_models(void **state)
{
    (void)state;
    for (size_t n = 0; shelf[n].name; n++)
        inmo_model_free(shelf[n].model);
    return 0;
}

static inline struct inmo_view *live_view(const struct inmo_model *model, const char *observed)
{
    struct inmo_error error = {0};
    struct inmo_log *log = observed ? log_of(observed) : NULL;
    struct inmo_view *view = NULL;
    must(inmo_view_create(model, log, &view, &error));
    inmo_log_free(log);
    return view;
}

/* Events as log_of reads them, in one call. */
static inline void observe(struct inmo_view *view, const char *text)
{
    struct inmo_error error = {0};
    char word[2][128][32];
    struct inmo_event event[128];
    size_t count = 0;
    for (int used = 0; sscanf(text, " %31[^ ,] %31[^ ,]%n", word[0][count], word[1][count], &used) == 2; count++) {
        assert_true(count < 127);
        event[count] = (struct inmo_event){word[0][count], word[1][count], (int64_t)count + 1};
        text += used;
        text += *text == ',';
    }
    must(inmo_view_observe(view, event, count, &error));
}

static inline struct inmo_list *list_for(const struct inmo_view *view, const char *user, const char *const *items,
                                         size_t count)
{
    struct inmo_error error = {0};
    struct inmo_query query;
    struct inmo_list *list = NULL;
    inmo_query_init(&query);
    query.user = user;
    query.items = items;
    query.item_count = count;
    query.k = 100;
    must(inmo_recommend(view, &query, &list, &error));
    return list;
}

static inline const struct inmo_entry *entry_named(const struct inmo_list *list, const char *id)
{
    for (size_t n = 0; n < list->count; n++)
        if (strcmp(list->entry[n].id, id) == 0)
            return list->entry + n;
    return NULL;
}

static inline int same_lists(const struct inmo_list *a, const struct inmo_list *b)
{
    int same = a->count == b->count && a->fallback == b->fallback;
    for (size_t n = 0; same && n < a->count; n++)
        same = strcmp(a->entry[n].id, b->entry[n].id) == 0 && a->entry[n].score == b->entry[n].score;
    return same;
}

/* The same but for rounding: a product through BLAS may add in another order when it has more rows, and items that
 * are then equal may change places. */
static inline int alike_lists(const struct inmo_list *a, const struct inmo_list *b)
{
    int alike = a->count == b->count && a->fallback == b->fallback;
    for (size_t n = 0; alike && n < a->count; n++) {
        const struct inmo_entry *other = entry_named(b, a->entry[n].id);
        double tolerance = 1e-5 * (1 + fabs(a->entry[n].score));
        alike = fabs(a->entry[n].score - b->entry[n].score) <= tolerance;
        if (other)
            alike = alike && fabs(a->entry[n].score - other->score) <= tolerance;
        else /* only at the end of a list */
            alike = alike && fabs(a->entry[n].score - a->entry[a->count - 1].score) <= tolerance;
    }
    return alike;
}

/* Leaves out the items that the model was not trained on. */
static inline void drop_new(const struct inmo_model *model, struct inmo_list *list)
{
    size_t kept = 0;
    for (size_t n = 0; n < list->count; n++)
        if (inmo_idmap_find(&model->items, list->entry[n].id) >= 0)
            list->entry[kept++] = list->entry[n];
    list->count = kept;
}

#endif
