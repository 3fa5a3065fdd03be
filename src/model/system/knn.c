/* knn.c - item-knn: items are similar if the same users chose them; an item is scored from its k nearest items.
 *
 *     c_ij = |N_i ∩ N_j|   cosine  s_ij = c_ij / (√(d_i d_j) + h)     jaccard  s_ij = c_ij / (d_i + d_j - c_ij + h)
 *     tf-idf and bm25 weigh users, c_ij = Σ_u w_u, and have a size per item: s_ij = c_ij / (size_i size_j + h)
 *     score(H, i) = Σ_{j in H, j among the k nearest of i} s_ij
 *
 * h is the shrinkage. Tensors: item-knn.offset (I + 1), .item, .weight: row j holds the items that have j among
 * their nearest, ascending, which is the order of scoring.
 *
 * Cost of a fit: kernel/near.h; memory 16 I k bytes. */
#include "base/memory.h"
#include "kernel/near.h"
#include "model/choice.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

enum { OFFSET, ITEM, WEIGHT };
static const struct inmo_tensor_rule rules[] = {
    {"item-knn.offset", INMO_I64, 0}, {"item-knn.item", INMO_I32, 0}, {"item-knn.weight", INMO_F32, 0}};

struct inmo_system_state {
    int32_t items;
    int64_t *offset;  // (items of the graph + 1)
    int32_t *item;    // items of the graph
    float *weight;
};

/* Those of the authors' runs, or what a search found (docs/choices.md). */
static void knn_defaults(struct inmo_train_options *options, enum inmo_recipe recipe)
{
    int fast = recipe == INMO_RECIPE_FAST;
    options->neighbours = fast ? 200 : recipe == INMO_RECIPE_AMAZON_BOOK ? 10 : 1000;
    options->shrinkage = fast ? 20 : 0;
    options->similarity = fast ? "auto" : "jaccard";
}

/* No similarity is best on all logs. Weights of users help where some have chosen very much (docs/choices.md). */
static void take_similarity(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options)
{
    static const char *const name[] = {"tf-idf", "cosine", "bm25"};
    (void)log;
    if (strcmp(options->similarity, "auto") == 0)
        options->similarity = name[point[0]];
}

const struct inmo_choice inmo_choice_knn = {
    .axes = 1, .count = {3}, .start = {1}, .trials = 3, .take = take_similarity};

struct measure {
    const struct inmo_graph *graph;
    int jaccard;
    double shrinkage;
    double *size;        // (items) for tf-idf and bm25, else NULL
    float *user_weight;  // (users) likewise
};

static float alike(const void *context, float common, int32_t i, int32_t j)
{
    const struct measure *measure = context;
    double own = (double)inmo_graph_degree(measure->graph, measure->graph->users + i);
    double other = (double)inmo_graph_degree(measure->graph, measure->graph->users + j);
    double size = measure->size      ? measure->size[i] * measure->size[j]
                  : measure->jaccard ? own + other - (double)common
                                     : sqrt(own * other);
    return (float)((double)common / (size + measure->shrinkage));
}

/* Users count the less the more they have chosen; items have a length: the norm of their users' weights, or what
 * bm25 makes of their number. docs/math.md has the formulas. */
static enum inmo_status weigh(struct measure *measure, const struct inmo_train_options *options,
                              struct inmo_error *error)
{
    const struct inmo_graph *graph = measure->graph;
    int bm25 = strcmp(options->similarity, "bm25") == 0;
    double mean = (double)graph->edges / (graph->items > 0 ? graph->items : 1);
    if (!bm25 && strcmp(options->similarity, "tf-idf") != 0)
        return INMO_OK;
    measure->size = inmo_alloc((size_t)graph->items, sizeof *measure->size);
    measure->user_weight = inmo_alloc((size_t)graph->users, sizeof *measure->user_weight);
    if (!measure->size || !measure->user_weight)
        return inmo_fail_memory(error, "comparing the items");
    for (int32_t u = 0; u < graph->users; u++) {
        double rarity = log((double)graph->items / (1 + (double)inmo_graph_degree(graph, u)));
        measure->user_weight[u] = (float)fmax(rarity * rarity, 1e-12); /* a sum of 0 would be nobody in common */
    }
    for (int32_t i = 0; i < graph->items; i++) {
        double norm = 0, degree = (double)inmo_graph_degree(graph, graph->users + i);
        for (int64_t e = graph->offset[graph->users + i]; e < graph->offset[graph->users + i + 1]; e++)
            norm += measure->user_weight[graph->neighbour[e]];
        measure->size[i] = bm25 ? (options->bm25_k1 * (1 - options->bm25_b + options->bm25_b * degree / mean) + 1) /
                                      (options->bm25_k1 + 1)
                                : sqrt(norm);
    }
    return INMO_OK;
}

/* Transposes "j is near i" to rows of j. Visiting i in ascending order keeps every row ascending. */
static enum inmo_status add_rows(struct inmo_model *model, int32_t items, int32_t k, const int32_t *nearest,
                                 const float *similarity, struct inmo_error *error)
{
    size_t size = (size_t)items * (size_t)k, kept = 0;
    int64_t *offset = inmo_alloc_zero((size_t)items + 2, sizeof *offset);
    int32_t *item = NULL;
    float *weight = NULL;
    enum inmo_status status;
    for (size_t n = 0; offset && n < size; n++)
        if (nearest[n] >= 0) {
            offset[nearest[n] + 2]++;
            kept++;
        }
    item = inmo_alloc(kept, sizeof *item);
    weight = inmo_alloc(kept, sizeof *weight);
    for (int32_t j = 0; offset && j < items; j++)
        offset[j + 2] += offset[j + 1];
    for (size_t n = 0; offset && item && weight && n < size; n++)
        if (nearest[n] >= 0) {
            int64_t at = offset[nearest[n] + 1]++;
            item[at] = (int32_t)(n / (size_t)k);
            weight[at] = similarity[n];
        }
    status = inmo_model_add_tensor(model, (int64_t)items + 1, 0, offset, error);
    if (status) {
        inmo_free(weight);
        inmo_free(item);
        return status;
    }
    status = inmo_model_add_tensor(model, (int64_t)kept, 0, item, error);
    if (status) {
        inmo_free(weight);
        return status;
    }
    return inmo_model_add_tensor(model, (int64_t)kept, 0, weight, error);
}

static enum inmo_status knn_fit(struct inmo_model *model, const struct inmo_graph *graph,
                                const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                                struct inmo_error *error)
{
    int32_t k = options->neighbours < graph->items ? options->neighbours : graph->items;
    size_t size = (size_t)graph->items * (size_t)k;
    struct measure measure = {graph, strcmp(options->similarity, "jaccard") == 0, options->shrinkage, NULL, NULL};
    struct inmo_near near = {.graph = graph, .k = k, .alike = alike, .context = &measure};
    int32_t *nearest = inmo_alloc(size, sizeof *nearest);
    float *similarity = inmo_alloc(size, sizeof *similarity);
    enum inmo_status status = nearest && similarity ? INMO_OK : inmo_fail_memory(error, "comparing the items");
    if (!status)
        status = weigh(&measure, options, error);
    near.user_weight = measure.user_weight;
    if (!status)
        status = inmo_near_find(&near, nearest, similarity, hooks, error);
    if (!status)
        status = add_rows(model, graph->items, k, nearest, similarity, error);
    inmo_free(measure.user_weight);
    inmo_free(measure.size);
    inmo_free(similarity);
    inmo_free(nearest);
    return status;
}

static const char *knn_check(const struct inmo_model *model)
{
    const struct inmo_tensor *tensor = model->tensor;
    const int64_t *offset = tensor[OFFSET].data;
    const int32_t *item = tensor[ITEM].data;
    int32_t items = model->items.count;
    if (tensor[OFFSET].rows != (int64_t)items + 1 || tensor[WEIGHT].rows != tensor[ITEM].rows || offset[0] != 0 ||
        offset[items] != tensor[ITEM].rows)
        return "its neighbours do not fit its items";
    for (int32_t j = 0; j < items; j++)
        if (offset[j] > offset[j + 1])
            return "its neighbours do not fit its items";
    for (int64_t n = 0; n < tensor[ITEM].rows; n++)
        if (item[n] < 0 || item[n] >= items)
            return "its neighbours name items that are not there";
    return NULL;
}

static void knn_close(struct inmo_system_state *state)
{
    if (!state)
        return;
    inmo_free(state->weight);
    inmo_free(state->item);
    inmo_free(state->offset);
    inmo_free(state);
}

/* The rows in the graph's numbers, without items that the graph does not have. */
static enum inmo_status knn_open(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                 struct inmo_system_state **out, struct inmo_error *error)
{
    const int64_t *offset = model->tensor[OFFSET].data;
    const int32_t *item = model->tensor[ITEM].data;
    const float *weight = model->tensor[WEIGHT].data;
    int32_t items = bound->binding.graph->items;
    int64_t count = 0;
    struct inmo_system_state *state = inmo_alloc_zero(1, sizeof *state);
    if (state) {
        state->items = items;
        state->offset = inmo_alloc((size_t)items + 1, sizeof *state->offset);
        state->item = inmo_alloc((size_t)model->tensor[ITEM].rows, sizeof *state->item);
        state->weight = inmo_alloc((size_t)model->tensor[ITEM].rows, sizeof *state->weight);
    }
    if (!state || !state->offset || !state->item || !state->weight) {
        knn_close(state);
        return inmo_fail_memory(error, "the items' neighbours");
    }
    state->offset[0] = 0;
    for (int32_t n = 0; n < items; n++) {
        int32_t j = bound->model_item[n];
        for (int64_t e = j < 0 ? 0 : offset[j]; j >= 0 && e < offset[j + 1]; e++)
            if (bound->graph_item[item[e]] >= 0) {
                state->item[count] = bound->graph_item[item[e]];
                state->weight[count++] = weight[e];
            }
        state->offset[n + 1] = count;
    }
    *out = state;
    return INMO_OK;
}

static void knn_score(const struct inmo_system_state *state, const struct inmo_history *who, int32_t count,
                      void *scratch, float *score)
{
    (void)scratch;
    memset(score, 0, (size_t)count * (size_t)state->items * sizeof *score);
    for (int32_t n = 0; n < count; n++, score += state->items)
        for (int32_t h = 0; h < who[n].count; h++) {
            int32_t j = inmo_history_item(who + n, h);
            for (int64_t e = state->offset[j]; e < state->offset[j + 1]; e++)
                score[state->item[e]] += state->weight[e];
        }
}

const struct inmo_system inmo_system_knn = {
    .personal = 1,
    .new_users = 1,
    .new_items = 0,
    .additive = 1,
    .users = 8,
    .tensor = rules,
    .tensors = sizeof rules / sizeof *rules,
    .defaults = knn_defaults,
    .fit = knn_fit,
    .check = knn_check,
    .open = knn_open,
    .close = knn_close,
    .score = knn_score,
};
