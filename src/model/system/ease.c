/* ease.c - ease: the linear item-item model that reconstructs every user's row without using the item itself
 * (Steck 2019). In closed form, with Y the 0/1 interactions and λ the weight of the squared norm:
 *
 *     P = (Y'Y + λ I)^-1      B_ij = -P_ij / P_jj, B_jj = 0      score(H, i) = Σ_{j in H} B_ji
 *
 * Tensors: ease.item (n) its items, ascending; ease.weight (n, n) B, where row j holds the weights of item j.
 * Dense: n² floats, and n³ flops for the inverse. If that does not fit into memory, it refuses before it starts;
 * --most-items keeps only the most frequent items, and the others cannot be recommended. Y'Y is counted row by row
 * and the inverse uses tiles of fixed size (kernel/inverse.h), so the bytes are the same at any number of
 * threads. */
#include "base/memory.h"
#include "base/threads.h"
#include "kernel/inverse.h"
#include "kernel/kernel.h"
#include "kernel/top.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

enum { ITEM, WEIGHT };
static const struct inmo_tensor_rule rules[] = {{"ease.item", INMO_I32, 0}, {"ease.weight", INMO_F32, 1}};

struct inmo_system_state {
    int32_t items, count;
    const float *weight;  // (count, count) of the model
    int32_t *column;      // (items) number among the model's, or -1
};

static void ease_defaults(struct inmo_train_options *options, enum inmo_recipe recipe)
{
    options->l2 = recipe == INMO_RECIPE_FAST ? INMO_AUTO : 100;
}

/* The best λ of the more frequent half of the items is that of all of them, and an inverse of that costs an eighth
 * (docs/choices.md). */
static void take_weight(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options)
{
    static const double l2[] = {2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};
    (void)log;
    inmo_choice_set(&options->l2, l2[point[0]]);
}

const struct inmo_choice inmo_choice_ease = {
    .axes = 1, .count = {11}, .start = {6}, .trials = 6, .half = 1, .take = take_weight};

/* The items of the model, ascending: all, or the most frequent. */
static enum inmo_status choose_items(const struct inmo_graph *graph, int most, int32_t **out, int32_t *count,
                                     struct inmo_error *error)
{
    struct inmo_top top = {most > 0 && most < graph->items ? most : graph->items, 0, NULL, NULL};
    top.item = inmo_alloc((size_t)top.k, sizeof *top.item);
    top.score = inmo_alloc((size_t)top.k, sizeof *top.score);
    if (!top.item || !top.score) {
        inmo_free(top.item);
        inmo_free(top.score);
        return inmo_fail_memory(error, "the items");
    }
    for (int32_t i = 0; i < graph->items; i++)
        inmo_top_add(&top, (float)inmo_graph_degree(graph, graph->users + i), i);
    inmo_free(top.score);
    *count = (int32_t)inmo_ascending(top.item, top.count);
    *out = top.item;
    return INMO_OK;
}

static enum inmo_status check_memory(int32_t count, struct inmo_error *error)
{
    double needed = 4.0 * count * count * 1.02, there = (double)inmo_memory_available();
    if (needed <= there)
        return INMO_OK;
    return inmo_fail(
        error, INMO_MEMORY,
        "ease on %d items needs %.3g GB for its matrix of items × items, and %.3g GB are free; `most-items` "
        "%d would fit, and `model` item-knn needs little",
        count, needed / 1e9, there / 1e9, (int)sqrt(there / 4.1));
}

/* Row r of Y'Y + λ I: the number of users that items r and c have in common. */
static void count_common(const struct inmo_graph *graph, const int32_t *item, const int32_t *column, int32_t count,
                         double l2, struct inmo_stop *stop, float *gram)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(inmo_threads())
    for (int32_t r = 0; r < count; r++) {
        float *row = gram + (int64_t)r * count;
        int32_t node = graph->users + item[r];
        if (inmo_stop_asked(stop))
            continue;
        memset(row, 0, (size_t)count * sizeof *row);
        for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++) {
            int32_t u = graph->neighbour[e];
            for (int64_t f = graph->offset[u]; f < graph->offset[u + 1]; f++) {
                int32_t c = column[graph->neighbour[f] - graph->users];
                if (c >= 0)
                    row[c] += 1;
            }
        }
        row[r] += (float)l2;
    }
}

/* B_ij = -P_ij / P_jj, with a zero diagonal. */
static void take_weights(int32_t count, float *diagonal, float *weight)
{
    for (int32_t j = 0; j < count; j++)
        diagonal[j] = weight[(int64_t)j * count + j];
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t i = 0; i < count; i++) {
        for (int32_t j = 0; j < count; j++)
            weight[(int64_t)i * count + j] /= -diagonal[j];
        weight[(int64_t)i * count + i] = 0;
    }
}

static enum inmo_status ease_fit(struct inmo_model *model, const struct inmo_graph *graph,
                                 const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                                 struct inmo_error *error)
{
    int32_t *item = NULL, *column = NULL, count = 0;
    float *weight = NULL, *diagonal = NULL;
    struct inmo_stop stop = {.hooks = hooks};
    enum inmo_status status = choose_items(graph, options->most_items, &item, &count, error);
    if (!status)
        status = check_memory(count, error);
    if (status)
        goto done;
    column = inmo_alloc((size_t)graph->items, sizeof *column);
    weight = inmo_alloc((size_t)count * (size_t)count, sizeof *weight);
    diagonal = inmo_alloc((size_t)count, sizeof *diagonal);
    if (!column || !weight || !diagonal) {
        status = inmo_fail_memory(error, "the items' weights");
        goto done;
    }
    memset(column, 0xff, (size_t)graph->items * sizeof *column);
    for (int32_t n = 0; n < count; n++)
        column[item[n]] = n;
    count_common(graph, item, column, count, options->l2, &stop, weight);
    if (atomic_load(&stop.asked))
        status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request while counting");
    else
        status = inmo_invert(weight, count, hooks, error);
    if (status)
        goto done;
    take_weights(count, diagonal, weight);
    status = inmo_model_add_tensor(model, count, 0, item, error);
    item = NULL;
    if (!status) {
        status = inmo_model_add_tensor(model, count, count, weight, error);
        weight = NULL;
    }
done:
    inmo_free(diagonal);
    inmo_free(weight);
    inmo_free(column);
    inmo_free(item);
    return status;
}

static const char *ease_check(const struct inmo_model *model)
{
    const struct inmo_tensor *tensor = model->tensor;
    const int32_t *item = tensor[ITEM].data;
    if (tensor[ITEM].rows > model->items.count || tensor[WEIGHT].rows != tensor[ITEM].rows ||
        tensor[WEIGHT].columns != tensor[ITEM].rows)
        return "its weights do not fit its items";
    for (int64_t n = 0; n < tensor[ITEM].rows; n++)
        if (item[n] < 0 || item[n] >= model->items.count || (n > 0 && item[n] <= item[n - 1]))
            return "its weights name items that are not there";
    return NULL;
}

static void ease_close(struct inmo_system_state *state)
{
    if (!state)
        return;
    inmo_free(state->column);
    inmo_free(state);
}

static enum inmo_status ease_open(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                  struct inmo_system_state **out, struct inmo_error *error)
{
    const int32_t *item = model->tensor[ITEM].data;
    int32_t items = bound->binding.graph->items, count = (int32_t)model->tensor[ITEM].rows;
    struct inmo_system_state *state = inmo_alloc_zero(1, sizeof *state);
    if (state)
        state->column = inmo_alloc((size_t)items, sizeof *state->column);
    if (!state || !state->column) {
        ease_close(state);
        return inmo_fail_memory(error, "the items' weights");
    }
    state->items = items;
    state->count = count;
    state->weight = model->tensor[WEIGHT].data;
    memset(state->column, 0xff, (size_t)items * sizeof *state->column);
    for (int32_t n = 0; n < count; n++)
        if (bound->graph_item[item[n]] >= 0)
            state->column[bound->graph_item[item[n]]] = n;
    *out = state;
    return INMO_OK;
}

static size_t ease_scratch(const struct inmo_system_state *state)
{
    return (size_t)state->count * sizeof(float);
}

/* Sums rows, then copies each number to its item; an item without a column cannot be recommended. */
static void ease_score(const struct inmo_system_state *state, const struct inmo_history *who, int32_t count,
                       void *scratch, float *score)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    float *sum = scratch;
    for (int32_t n = 0; n < count; n++, score += state->items) {
        memset(sum, 0, (size_t)state->count * sizeof *sum);
        for (int32_t h = 0; h < who[n].count; h++) {
            int32_t j = state->column[inmo_history_item(who + n, h)];
            if (j >= 0)
                kernels->add_scaled(state->count, 1, state->weight + (int64_t)j * state->count, sum);
        }
        for (int32_t i = 0; i < state->items; i++)
            score[i] = state->column[i] < 0 ? -INFINITY : sum[state->column[i]];
    }
}

const struct inmo_system inmo_system_ease = {
    .personal = 1,
    .new_users = 1,
    .new_items = 0,
    .additive = 1,
    .users = 8,
    .tensor = rules,
    .tensors = sizeof rules / sizeof *rules,
    .defaults = ease_defaults,
    .fit = ease_fit,
    .check = ease_check,
    .open = ease_open,
    .close = ease_close,
    .score = ease_score,
    .scratch_bytes = ease_scratch,
};
