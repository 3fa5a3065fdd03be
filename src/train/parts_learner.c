/* parts_learner.c - the learner for provider x backbone with a loss: a stepper, and what scorer and export need of
 * it. Validation reads the parameters in place; only the representations are copied. */
#include "base/memory.h"
#include "base/random.h"
#include "graph/order.h"
#include "train/cut.h"
#include "train/export.h"
#include "train/first_stage.h"
#include "train/learner.h"
#include "train/step.h"
#include "train/warm.h"

#include <string.h>

struct parts {
    struct inmo_learner learner; /* must be first */
    struct inmo_learner_setup setup;
    struct inmo_graph *graph;       // in training's numbers
    struct inmo_graph *data_graph;  // the same in the data set's numbers, if the scorer needs it; else NULL
    struct inmo_stepper *stepper;
    int stage;                        /* of the head, by set_stage */
    float *shown;                     // (own rows, dim) weights as the stage has them; NULL: there are no stages
    struct inmo_model model;          // refers to the stepper's parameters; has no ids and owns nothing
    struct inmo_model_binding bound;  // likewise
};

static struct parts *parts_of(const struct inmo_learner *learner)
{
    return (struct parts *)learner;
}

static void parts_destroy(struct inmo_learner *learner)
{
    struct parts *parts = parts_of(learner);
    if (!parts)
        return;
    inmo_free(parts->shown);
    inmo_stepper_free(parts->stepper);
    inmo_graph_free(parts->data_graph);
    inmo_graph_free(parts->graph);
    inmo_free(parts);
}

/* Walks and links start from histories, in the data set's numbers. */
static int reads_histories(const struct parts *parts)
{
    const struct inmo_train_options *options = parts->setup.options;
    return options->walks != 0 || options->links != 0 || options->prior > 0;
}

/* Whether nobody reads all rows of training's graph, so that ranks have some of them each. */
static int is_divided(const struct parts *parts, int renumbered)
{
    return inmo_ranks() > 1 && !parts->setup.data->train.weight &&
           (!reads_histories(parts) || (renumbered && inmo_csr_count(&parts->setup.data->valid) > 0));
}

static enum inmo_status build_graphs(struct parts *parts, struct inmo_error *error)
{
    const struct inmo_dataset *data = parts->setup.data;
    const struct inmo_train_options *options = parts->setup.options;
    const struct inmo_csr *lists[1] = {&data->train};
    int renumbered = inmo_steps_over_graph(parts->setup.kind) && strcmp(options->order, "none") != 0;
    enum inmo_status status;
    if (is_divided(parts, renumbered))
        status = inmo_graph_outline((struct inmo_graph_source){&data->train, data->file}, &parts->graph, error);
    else
        status = inmo_graph_build(data->users.count, data->items.count, lists, 1, &parts->graph, error);
    if (!status && renumbered)
        status = inmo_graph_order(&parts->graph, options->order, parts->setup.hooks, error);
    if (!status && renumbered && reads_histories(parts) && inmo_csr_count(&data->valid) > 0)
        status = inmo_graph_build(data->users.count, data->items.count, lists, 1, &parts->data_graph, error);
    return status;
}

/* Makes the model for the scorer; it refers to the stepper's arrays. */
static void make_view(struct parts *parts)
{
    const struct inmo_train_options *options = parts->setup.options;
    const struct inmo_stepper *stepper = parts->stepper;
    parts->model = (struct inmo_model){
        .kind = parts->setup.kind,
        .dim = stepper->binding.dim,
        .layers = options->layers,
        .popularity = options->popularity,
        .walks = options->walks < 0 ? 1 : options->walks, /* weights to be chosen are set in the scorer */
        .walk_neighbours = options->walk_neighbours,
        .prior = options->prior < 0 ? 0 : options->prior,
        .rows = stepper->binding.rows,
        .parameter = stepper->parameter,
        .own = parts->shown ? parts->shown : (float *)inmo_stepper_weights(stepper),
    };
    parts->bound = (struct inmo_model_binding){
        .binding = stepper->binding,
        .graph = parts->data_graph ? parts->data_graph : parts->graph,
        .divided = stepper->cut && !reads_histories(parts),
    };
}

static size_t weights_of(const struct inmo_stepper *stepper)
{
    return (size_t)(stepper->parameter_rows - stepper->provider_rows) * (size_t)stepper->binding.dim;
}

/* Leaves of a whole model's weights what the current stage trains. */
static void keep_stage(const struct parts *parts, float *own)
{
    const struct inmo_stepper *stepper = parts->stepper;
    const struct inmo_head *head = parts->setup.kind->head;
    if (head && head->keep_stage)
        head->keep_stage(stepper->width, parts->stage,
                         own + (inmo_stepper_head(stepper) - inmo_stepper_weights(stepper)));
}

static void parts_set_stage(struct inmo_learner *learner, int stage, int32_t epoch)
{
    struct parts *parts = parts_of(learner);
    parts->stage = stage;
    if (parts->bound.binding.shared_attention)
        parts->bound.binding.sample = 1 + epoch; /* the exported model's is sample 0 */
    if (!parts->shown)
        return;
    memcpy(parts->shown, inmo_stepper_weights(parts->stepper), weights_of(parts->stepper) * sizeof *parts->shown);
    keep_stage(parts, parts->shown);
}

static void parts_end_stage(struct inmo_learner *learner, int stage, const float *parameter)
{
    struct parts *parts = parts_of(learner);
    struct inmo_stepper *stepper = parts->stepper;
    const struct inmo_head *head = parts->setup.kind->head;
    if (parameter)
        memcpy(stepper->parameter, parameter,
               (size_t)stepper->parameter_rows * (size_t)stepper->binding.dim * sizeof *parameter);
    if (stage + 1 == head->stages)
        head->start(stepper->width, inmo_key(parts->setup.options->seed, INMO_STREAM_HEAD_ANEW),
                    (float *)inmo_stepper_head(stepper));
}

static int is_warm(const struct inmo_learner_setup *setup)
{
    return setup->warm && setup->warm->model;
}

static enum inmo_status make_stepper(struct parts *parts, struct inmo_error *error)
{
    const struct inmo_learner_setup *setup = &parts->setup;
    uint8_t *kept = is_warm(setup) ? inmo_alloc((size_t)parts->graph->nodes, 1) : NULL;
    enum inmo_status status = INMO_OK;
    if (is_warm(setup))
        status = kept ? inmo_warm_templates(setup->warm, parts->graph, kept, error)
                      : inmo_fail_memory(error, "a warm start");
    if (!status)
        status = inmo_stepper_new_keeping(setup->kind, setup->options, parts->graph, &setup->data->train, kept,
                                          setup->hooks, &parts->stepper, error);
    inmo_free(kept);
    return status;
}

/* Which rows of the block are this rank's: all, unless training is cut. Extra rows are on all ranks; the last
 * has them in its checkpoint. */
static void set_stretches(struct parts *parts)
{
    const struct inmo_stepper *stepper = parts->stepper;
    const struct inmo_cut *cut = stepper->cut;
    struct inmo_learner *learner = &parts->learner;
    learner->whole_rows = cut ? inmo_cut_rows(stepper) : stepper->parameter_rows;
    learner->stretch[0] = (struct inmo_stretch){0, 0, stepper->parameter_rows};
    for (int side = 0; cut && side < 2; side++) {
        int block = side ? cut->graph->share->item_block[inmo_own_rank()] : inmo_own_rank();
        learner->stretch[side] = (struct inmo_stretch){
            cut->first[side], cut->sides[side * (inmo_ranks() + 1) + block], cut->count[side]};
    }
    if (cut)
        learner->stretch[2] = (struct inmo_stretch){stepper->binding.rows, cut->whole.rows,
                                                    stepper->parameter_rows - stepper->binding.rows};
}

static enum inmo_status parts_create(const struct inmo_learner_setup *setup, struct inmo_learner **out,
                                     struct inmo_error *error)
{
    struct parts *parts = inmo_alloc_zero(1, sizeof *parts);
    struct inmo_stepper *stepper;
    enum inmo_status status;
    if (!parts)
        return inmo_fail_memory(error, "training");
    parts->setup = *setup;
    status = build_graphs(parts, error);
    if (!status)
        status = make_stepper(parts, error);
    stepper = parts->stepper;
    if (!status && setup->kind->head && setup->options->pretrain > 0) {
        parts->stage = setup->kind->head->stages;
        parts->shown = inmo_alloc_zero(weights_of(stepper), sizeof *parts->shown);
        status = parts->shown ? INMO_OK : inmo_fail_memory(error, "training");
    }
    if (!status && setup->first_stage)
        status = inmo_first_stage_copy(setup->first_stage, setup->data, stepper, error);
    if (!status && is_warm(setup))
        status = inmo_warm_copy(setup->warm, stepper, error);
    if (status) {
        parts_destroy(&parts->learner);
        return status;
    }
    make_view(parts);
    if (stepper->cut && (parts->data_graph || !reads_histories(parts))) {
        inmo_free(parts->graph->neighbour); /* each rank has its own nodes' */
        parts->graph->neighbour = NULL;
    }
    parts->learner = (struct inmo_learner){
        .type = &inmo_learner_parts,
        .block = {stepper->parameter_rows, stepper->binding.dim, stepper->parameter, stepper->m, stepper->root},
        .steps_per_epoch = inmo_stepper_steps_per_epoch(stepper),
        .graph = parts->graph,
        .model = &parts->model,
        .bound = &parts->bound,
    };
    set_stretches(parts);
    *out = &parts->learner;
    return INMO_OK;
}

static double parts_step(struct inmo_learner *learner, int64_t step, double alpha, double learning_rate)
{
    return inmo_stepper_run(parts_of(learner)->stepper, step, alpha, learning_rate);
}

static void parts_rest(struct inmo_learner *learner)
{
    inmo_stepper_rest(parts_of(learner)->stepper);
}

static void parts_catch_up(struct inmo_learner *learner)
{
    inmo_stepper_catch_up(parts_of(learner)->stepper);
}

static size_t parts_arrays(const struct inmo_learner *learner, struct inmo_tensor *array)
{
    const struct inmo_lazy *lazy = &parts_of(learner)->stepper->lazy;
    if (!lazy->touched)
        return 0;
    array[0] = (struct inmo_tensor){"adam.touched", INMO_I32, lazy->block.rows, 0, lazy->touched};
    array[1] = (struct inmo_tensor){"adam.rate", INMO_F64, INMO_LAZY_RING, 0, lazy->rate};
    return 2;
}

/* A touched row must not be ahead of the updates, nor so far behind that the ring has forgotten what it missed. */
static const char *parts_check(const struct inmo_learner *learner, int64_t step)
{
    const struct inmo_stepper *stepper = parts_of(learner)->stepper;
    const struct inmo_lazy *lazy = &stepper->lazy;
    int64_t updates = inmo_stepper_updates(stepper, step);
    /* Between two stages, before the next one resets Adam, rows still count the updates of the last. */
    int64_t most = updates > 0 ? updates : step;
    if (!lazy->touched)
        return NULL;
    if (updates > INT32_MAX)
        return "step";
    for (int64_t r = 0; r < lazy->block.rows; r++)
        if (lazy->touched[r] < 0 || lazy->touched[r] > most ||
            (lazy->touched[r] > 0 && updates - lazy->touched[r] >= INMO_LAZY_RING))
            return "adam.touched";
    for (int t = 0; t < INMO_LAZY_RING; t++)
        if (!(lazy->rate[t] >= 0 && lazy->rate[t] <= 1e6))
            return "adam.rate";
    return NULL;
}

static void parts_restored(struct inmo_learner *learner, int64_t step)
{
    struct inmo_stepper *stepper = parts_of(learner)->stepper;
    if (stepper->lazy.touched)
        inmo_lazy_restore(&stepper->lazy, inmo_stepper_updates(stepper, step));
}

/* Sets for each row of the model its node and its row among the stepper's, of all ranks; what is left of row gets
 * the rows that the model does not have. Returns how many the model has. */
static int32_t list_rows(const struct inmo_stepper *stepper, const int32_t *node, int32_t *node_of_row,
                         int32_t *row)
{
    const struct inmo_graph *graph = inmo_graph_whole(stepper->graph);
    const int32_t *row_of_node = stepper->cut ? stepper->cut->whole.row_of_node : stepper->row_of_node;
    int32_t rows = 0, left = stepper->cut ? stepper->cut->whole.rows : stepper->binding.rows;
    for (int32_t v = 0; v < graph->nodes; v++) { /* v: the data set's numbers, not training's */
        int32_t r = inmo_graph_place(graph, v);
        r = row_of_node ? row_of_node[r] : r;
        if (r >= 0 && node[v] < 0)
            row[--left] = r;
        if (r < 0 || node[v] < 0)
            continue;
        node_of_row[rows] = node[v];
        row[rows++] = r;
    }
    return rows;
}

/* Gives the model the parameters of its nodes. from: the stepper's, of all ranks; NULL: they are on another rank,
 * and the model's are not set. *collected: NULL, or from itself, which the model takes over. */
static enum inmo_status hand_over(const struct inmo_stepper *stepper, const float *from, float **collected,
                                  const int32_t *node, struct inmo_model *model, struct inmo_error *error)
{
    const struct inmo_provider *provider = model->kind->provider;
    size_t dim = (size_t)model->dim, extra = (size_t)provider->extra_rows * dim * sizeof *from;
    size_t weights = weights_of(stepper);
    int32_t rows, bound = stepper->cut ? stepper->cut->whole.rows : stepper->binding.rows;
    int32_t *row = inmo_alloc((size_t)bound, sizeof *row);
    int32_t *node_of_row = inmo_alloc((size_t)bound, sizeof *node_of_row);
    float *own = inmo_alloc(weights, sizeof *own), *parameter = *collected;
    enum inmo_status status = INMO_OK;
    if (!parameter)
        parameter = inmo_alloc(((size_t)bound + (size_t)provider->extra_rows) * dim, sizeof *parameter);
    if (!row || !node_of_row || !own || !parameter) {
        status = inmo_fail_memory(error, "the model");
        goto done;
    }
    rows = list_rows(stepper, node, node_of_row, row);
    if (*collected)
        status = inmo_order_rows(bound, row, model->dim, parameter, error);
    if (status)
        goto done;
    for (int32_t r = 0; from && !*collected && r < rows; r++)
        memcpy(parameter + (size_t)r * dim, from + (size_t)row[r] * dim, dim * sizeof *from);
    if (from)
        memmove(parameter + (size_t)rows * dim, from + (size_t)bound * dim, extra);
    if (weights > 0)
        memcpy(own, from + (size_t)stepper->provider_rows * dim, weights * sizeof *own);
    model->rows = rows;
    model->own = own;
    model->parameter = parameter;
    own = parameter = *collected = NULL;
    if (provider->templates) { /* else every node has a row, in order */
        model->node_of_row = node_of_row;
        node_of_row = NULL;
    }
done:
    if (parameter != *collected)
        inmo_free(parameter);
    inmo_free(own);
    inmo_free(node_of_row);
    inmo_free(row);
    return status;
}

static enum inmo_status parts_export(struct inmo_learner *learner, const float *parameter, struct inmo_model **out,
                                     struct inmo_error *error)
{
    const struct parts *parts = parts_of(learner);
    const struct inmo_learner_setup *setup = &parts->setup;
    struct inmo_model *model = NULL;
    float *collected = NULL;
    int32_t *node = inmo_alloc((size_t)parts->graph->nodes, sizeof *node);
    enum inmo_status status = node ? INMO_OK : inmo_fail_memory(error, "the model");
    inmo_stepper_end(parts->stepper);
    if (!status)
        status = inmo_export_model(setup->exported, setup->exported != setup->data ? &setup->data->valid : NULL,
                                   setup->options, setup->kind, node, &model, error);
    if (!status && parts->stepper->cut && inmo_own_rank() == 0) {
        collected = inmo_alloc((size_t)inmo_cut_rows(parts->stepper) * (size_t)model->dim, sizeof *collected);
        status = collected ? INMO_OK : inmo_fail_memory(error, "the model");
    }
    if (!status && parts->stepper->cut)
        inmo_cut_collect(parts->stepper, parameter, collected);
    if (!status)
        status =
            hand_over(parts->stepper, parts->stepper->cut ? collected : parameter, &collected, node, model, error);
    if (!status && parts->shown)
        keep_stage(parts, model->own);
    if (!status) {
        *out = model;
        model = NULL;
    }
    inmo_model_free(model);
    inmo_free(collected);
    inmo_free(node);
    return status;
}

const struct inmo_learner_type inmo_learner_parts = {
    .create = parts_create,
    .destroy = parts_destroy,
    .step = parts_step,
    .catch_up = parts_catch_up,
    .rest = parts_rest,
    .arrays = parts_arrays,
    .check = parts_check,
    .restored = parts_restored,
    .set_stage = parts_set_stage,
    .end_stage = parts_end_stage,
    .export_model = parts_export,
};
