/* stepper.c - makes everything a training step needs: templates, starting parameters, samplers, buffers. The step
 * itself is in step.c. */
#include "train/step.h"

#include "base/memory.h"
#include "base/random.h"
#include "graph/template.h"
#include "loss/norms.h"
#include "model/readout.h"
#include "model/start.h"
#include "train/cut.h"

#include <math.h>
#include <string.h>

void inmo_stepper_free(struct inmo_stepper *stepper)
{
    if (!stepper)
        return;
    inmo_free(stepper->term);
    inmo_free(stepper->row_weight);
    inmo_free(stepper->read);
    inmo_free(stepper->item_scale);
    inmo_free(stepper->dr);
    inmo_free(stepper->position);
    for (int32_t n = 0; n < stepper->ahead; n++) {
        if (stepper->self_grouping)
            inmo_grouping_free(stepper->self_grouping + n);
        if (stepper->grouping)
            inmo_grouping_free(stepper->grouping + n);
    }
    inmo_free(stepper->self_grouping);
    inmo_free(stepper->grouping);
    inmo_self_enhanced_free(&stepper->self);
    inmo_lazy_free(&stepper->lazy);
    inmo_free(stepper->root);
    inmo_free(stepper->m);
    inmo_free(stepper->parameter);
    if (stepper->loss_state)
        stepper->loss->destroy(stepper->loss_state);
    if (stepper->head_state)
        stepper->head->destroy(stepper->head_state);
    if (stepper->backbone)
        stepper->kind->backbone->destroy(stepper->backbone);
    if (stepper->provider)
        stepper->kind->provider->destroy(stepper->provider);
    inmo_free(stepper->node_of_row);
    inmo_free(stepper->row_of_node);
    inmo_cut_free(stepper->cut);
    inmo_free(stepper);
}

/* Chooses the templates and gives each a row in the parameter block. */
static enum inmo_status bind_templates(struct inmo_stepper *stepper, const uint8_t *kept,
                                       const struct inmo_hooks *hooks, struct inmo_error *error)
{
    const struct inmo_train_options *options = stepper->options;
    const struct inmo_graph *graph = stepper->graph;
    double *score = inmo_alloc((size_t)graph->nodes, sizeof *score);
    int32_t count = 0;
    enum inmo_status status = INMO_OK;
    stepper->row_of_node = inmo_alloc((size_t)graph->nodes, sizeof(int32_t));
    stepper->node_of_row = inmo_alloc((size_t)graph->nodes, sizeof(int32_t));
    if (!score || !stepper->row_of_node || !stepper->node_of_row)
        status = inmo_fail_memory(error, "the templates");
    if (!status)
        status =
            inmo_template_scores(graph, options->template_rule, options->dim, options->seed, hooks, score, error);
    for (int32_t v = 0; !status && kept && v < graph->nodes; v++)
        if (kept[v])
            score[inmo_graph_place(graph, v)] = INFINITY; /* no rule gives as much */
    if (!status)
        status = inmo_template_choose(graph, score, options->user_templates, options->item_templates,
                                      stepper->node_of_row, &count, error);
    if (!status) {
        memset(stepper->row_of_node, 0xff, (size_t)graph->nodes * sizeof(int32_t));
        for (int32_t r = 0; r < count; r++) {
            stepper->row_of_node[stepper->node_of_row[r]] = r;
            stepper->binding.user_rows += stepper->node_of_row[r] < graph->users;
        }
        stepper->binding.rows = count;
        stepper->binding.row_of_node = stepper->row_of_node;
        stepper->binding.node_of_row = stepper->node_of_row;
    }
    inmo_free(score);
    return status;
}

/* number (provider_rows): the row numbers if the nodes had the data set's numbers. */
static void number_rows(const struct inmo_stepper *stepper, int64_t *number)
{
    int64_t rank = 0;
    if (stepper->cut) {
        inmo_cut_number_rows(stepper, number);
        return;
    }
    for (int32_t v = 0; v < stepper->graph->nodes; v++)
        if (inmo_stepper_row(stepper, v) >= 0)
            number[inmo_stepper_row(stepper, v)] = rank++;
    for (; rank < stepper->provider_rows; rank++)
        number[rank] = rank;
}

enum inmo_status inmo_stepper_svd(const struct inmo_stepper *stepper, const struct inmo_hooks *hooks,
                                  struct inmo_svd **svd, struct inmo_error *error)
{
    enum { SVD_ITERATIONS = 2 }; /* a start need not be exact */
    const struct inmo_train_options *options = stepper->options;
    if (strcmp(options->start, "spectral") != 0 || stepper->kind->provider->frozen_from)
        return INMO_OK;
    return inmo_svd_compute_own(stepper->graph, options->dim, 1, SVD_ITERATIONS, options->seed, hooks, svd, error);
}

/* Lets each part set its starting parameters. */
static enum inmo_status start_parameters(struct inmo_stepper *stepper, const struct inmo_hooks *hooks,
                                         struct inmo_error *error)
{
    const struct inmo_train_options *options = stepper->options;
    const struct inmo_model_kind *kind = stepper->kind;
    int dim = stepper->binding.dim;
    float *weights = stepper->parameter + (size_t)stepper->provider_rows * (size_t)dim;
    struct inmo_svd *svd = NULL;
    int64_t *number = inmo_alloc((size_t)stepper->provider_rows, sizeof *number);
    enum inmo_status status = number ? INMO_OK : inmo_fail_memory(error, "the starting parameters");
    if (!status && stepper->cut) {
        svd = stepper->cut->svd; /* of the whole graph, which is gone */
        stepper->cut->svd = NULL;
    } else if (!status) {
        status = inmo_stepper_svd(stepper, hooks, &svd, error);
    }
    if (!status) {
        struct inmo_row_start start = {
            .binding = &stepper->binding,
            .number = number,
            .key = inmo_key(options->seed, INMO_STREAM_INIT),
            .deviation = options->init_scale,
            .bound = strcmp(options->init, "kaiming") == 0 ? inmo_kaiming_bound(options->dim) : 0,
            .further_bound = dim > options->dim ? inmo_kaiming_bound(dim - options->dim) : 0,
            .svd = svd,
            .scale = options->start_scale,
            .columns = options->dim,
        };
        number_rows(stepper, number);
        kind->provider->start_rows(&start, stepper->parameter);
        if (kind->provider->start_weights)
            kind->provider->start_weights(&stepper->binding, inmo_key(options->seed, INMO_STREAM_PROVIDER_INIT),
                                          weights);
        if (kind->backbone->start)
            kind->backbone->start(dim, options->layers, options->init_scale,
                                  inmo_key(options->seed, INMO_STREAM_BACKBONE_INIT),
                                  weights + (size_t)stepper->provider_weights * (size_t)dim);
        if (kind->head)
            kind->head->start(stepper->width, inmo_key(options->seed, INMO_STREAM_HEAD_INIT),
                              (float *)inmo_stepper_head(stepper));
    }
    inmo_svd_free(svd);
    inmo_free(number);
    return status;
}

/* Whether the self-enhanced loss is used: the options ask for it and the provider supports it. */
static int is_self_enhanced(const struct inmo_stepper *stepper)
{
    return stepper->kind->provider->diagonal > 0 && stepper->options->self_weight > 0;
}

/* Whether a batch that names all items must name all users, too: the gradient of a table has all its rows then, and
 * what several ranks have of e. */
static int names_all_users(const struct inmo_stepper *stepper)
{
    return !stepper->kind->backbone->needs_all && (stepper->kind->provider->touches || stepper->cut);
}

/* Allocates the batches that are made at once, and the positions of nodes. */
static enum inmo_status make_batches(struct inmo_stepper *stepper, struct inmo_error *error)
{
    enum { PLACES = 1 << 17, MOST = 16 };
    int names_items = stepper->loss->names_items;
    int32_t nodes = stepper->graph->nodes, ahead = PLACES / stepper->places;
    int32_t named = names_items ? nodes : inmo_graph_whole(stepper->graph)->nodes;
    int32_t rows = stepper->cut ? stepper->cut->whole.rows : stepper->binding.rows;
    enum inmo_status status = INMO_OK;
    stepper->first = -1;
    stepper->ahead = names_items ? 1 : ahead < 2 ? 2 : ahead > MOST ? MOST : ahead;
    stepper->grouping = inmo_alloc_zero((size_t)stepper->ahead, sizeof *stepper->grouping);
    stepper->self_grouping = inmo_alloc_zero((size_t)stepper->ahead, sizeof *stepper->self_grouping);
    if (!stepper->grouping || !stepper->self_grouping)
        return inmo_fail_memory(error, "the batches");
    for (int32_t n = 0; !status && n < stepper->ahead; n++) {
        status = inmo_grouping_make(named, stepper->places, stepper->grouping + n, error);
        if (!status && is_self_enhanced(stepper))
            status = inmo_grouping_make(rows, 3 * stepper->options->batch, stepper->self_grouping + n, error);
    }
    if (!status && (stepper->kind->backbone->needs_all || stepper->kind->provider->templates)) {
        stepper->position = inmo_alloc((size_t)nodes, sizeof *stepper->position);
        if (!stepper->position)
            return inmo_fail_memory(error, "the batches");
        for (int32_t v = 0; v < nodes; v++)
            stepper->position[v] = -1;
    }
    return status;
}

/* Whether L2 applies to r. If r is e the two are the same, and some losses add it more cheaply. */
static int is_l2_on_r(const struct inmo_stepper *stepper)
{
    int same = stepper->kind->backbone->passes_through && stepper->options->popularity == 0;
    return inmo_regularises_output(stepper->kind) || stepper->loss->l2 == INMO_L2_ALWAYS_ON_R ||
           (stepper->loss->l2 == INMO_L2_FUSED && same);
}

/* Makes the loss, and the self-enhanced loss if it is used. */
static enum inmo_status make_losses(struct inmo_stepper *stepper, const struct inmo_csr *train,
                                    struct inmo_error *error)
{
    struct inmo_loss_setup setup = {.options = stepper->options,
                                    .graph = inmo_graph_whole(stepper->graph),
                                    .train = train,
                                    .width = stepper->width,
                                    .adds_l2 = stepper->l2_on_r,
                                    .all_users = names_all_users(stepper),
                                    .local = stepper->cut ? stepper->graph : NULL};
    const struct inmo_binding *binding = stepper->cut ? &stepper->cut->whole : &stepper->binding;
    enum inmo_status status = stepper->loss->create(&setup, &stepper->loss_state, error);
    if (!status)
        status = make_batches(stepper, error);
    if (!status && is_self_enhanced(stepper))
        status = inmo_self_enhanced_make(binding, (int64_t)binding->rows + stepper->kind->provider->diagonal - 1,
                                         stepper->options, &stepper->self, error);
    return status;
}

/* Zeros for each row of parameters. Other ranks' rows take no memory until they are fetched. */
static float *make_rows(const struct inmo_stepper *stepper)
{
    size_t dim = (size_t)stepper->binding.dim;
    float *rows = inmo_alloc_zero((size_t)stepper->parameter_rows * dim, sizeof *rows);
    if (rows)
        inmo_share_release(stepper->graph, rows, dim * sizeof *rows, stepper->binding.row_of_node);
    return rows;
}

static enum inmo_status make_buffers(struct inmo_stepper *stepper, struct inmo_error *error)
{
    const struct inmo_train_options *options = stepper->options;
    const struct inmo_provider *provider = stepper->kind->provider;
    const struct inmo_backbone *backbone = stepper->kind->backbone;
    size_t places = (size_t)stepper->places;
    stepper->parameter = make_rows(stepper);
    stepper->m = make_rows(stepper);
    stepper->root = make_rows(stepper);
    stepper->dr = inmo_alloc(places * (size_t)stepper->width, sizeof(float));
    if (options->popularity != 0) {
        int keep = !backbone->needs_all || backbone->reads_output;
        stepper->item_scale = inmo_alloc((size_t)stepper->graph->items, sizeof(float));
        stepper->read = keep ? inmo_alloc(places * (size_t)stepper->width, sizeof(float)) : NULL;
        if (!stepper->item_scale || (keep && !stepper->read))
            return inmo_fail_memory(error, "training");
        inmo_readout_scales(stepper->graph, options->popularity, stepper->item_scale);
    }
    stepper->row_weight = provider->own_loss ? inmo_alloc(places, sizeof(float)) : NULL;
    stepper->term = inmo_alloc(places / INMO_NORMS_CHUNK + 2, sizeof(double));
    if (!stepper->parameter || !stepper->m || !stepper->root || !stepper->dr || !stepper->term ||
        (provider->own_loss && !stepper->row_weight))
        return inmo_fail_memory(error, "training");
    if (!backbone->needs_all && provider->touches && !stepper->loss->names_items) {
        struct inmo_block block = {stepper->provider_rows, stepper->binding.dim, stepper->parameter, stepper->m,
                                   stepper->root};
        stepper->fused = provider->is_table && backbone->passes_through && stepper->loss->triples &&
                         !stepper->head && options->popularity == 0;
        return inmo_lazy_make(&block, stepper->places, &stepper->lazy, error);
    }
    return INMO_OK;
}

static enum inmo_status make_parts(struct inmo_stepper *stepper, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = stepper->kind;
    const struct inmo_train_options *options = stepper->options;
    stepper->provider =
        kind->provider->create(&stepper->binding, kind->backbone->needs_all ? 0 : stepper->places, 1);
    stepper->backbone = kind->backbone->create(stepper->graph, stepper->binding.dim, options->layers,
                                               stepper->places, strcmp(options->storage, "half") == 0);
    if (stepper->head)
        stepper->head_state = stepper->head->create(stepper->width, options->batch, stepper->pair_negatives);
    if (!stepper->provider || !stepper->backbone || (stepper->head && !stepper->head_state))
        return inmo_fail_memory(error, "training");
    return INMO_OK;
}

enum inmo_status inmo_stepper_new(const struct inmo_model_kind *kind, const struct inmo_train_options *options,
                                  const struct inmo_graph *graph, const struct inmo_csr *train,
                                  const struct inmo_hooks *hooks, struct inmo_stepper **out,
                                  struct inmo_error *error)
{
    return inmo_stepper_new_keeping(kind, options, graph, train, NULL, hooks, out, error);
}

enum inmo_status inmo_stepper_new_keeping(const struct inmo_model_kind *kind,
                                          const struct inmo_train_options *options, const struct inmo_graph *graph,
                                          const struct inmo_csr *train, const uint8_t *kept,
                                          const struct inmo_hooks *hooks, struct inmo_stepper **out,
                                          struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_stepper *stepper = inmo_alloc_zero(1, sizeof *stepper);
    if (!stepper)
        return inmo_fail_memory(error, "training");
    stepper->kind = kind;
    stepper->options = options;
    stepper->graph = graph;
    stepper->loss = inmo_loss_find(options->loss);
    stepper->head = kind->head || stepper->loss->judge ? kind->head : &inmo_head_dot;
    stepper->pair_negatives = stepper->loss->negatives ? stepper->loss->negatives(options) : 0;
    stepper->l2_on_r = is_l2_on_r(stepper);
    stepper->l2_on_pairs = stepper->head && stepper->head->pair_norms && strcmp(options->l2_on, "pairs") == 0;
    stepper->binding = (struct inmo_binding){.graph = graph,
                                             .dim = inmo_head_embedding(kind->head, options->dim),
                                             .rows = graph->nodes,
                                             .shared_attention = kind->provider->frozen_from &&
                                                                 strcmp(options->attention, "shared") == 0};
    stepper->width = inmo_backbone_width(kind->backbone, stepper->binding.dim, options->layers);
    if (kind->provider->templates)
        status = bind_templates(stepper, kept, hooks, error);
    if (!status && inmo_ranks() > 1)
        status = inmo_cut_make(stepper, hooks, error);
    stepper->places = stepper->loss->names_items && names_all_users(stepper)
                          ? stepper->graph->nodes
                          : stepper->loss->places(options, stepper->graph);
    stepper->provider_rows = (int64_t)stepper->binding.rows + kind->provider->extra_rows;
    stepper->provider_weights = inmo_provider_rows(kind->provider, stepper->binding.dim);
    stepper->backbone_weights = inmo_backbone_rows(kind->backbone, stepper->binding.dim, options->layers);
    stepper->parameter_rows = stepper->provider_rows + inmo_own_rows(kind, stepper->binding.dim, options->layers);
    if (!status)
        status = make_losses(stepper, train, error);
    if (!status && stepper->cut)
        status = inmo_cut_buffers(stepper, error);
    if (!status)
        status = make_buffers(stepper, error);
    if (!status)
        status = make_parts(stepper, error);
    if (!status)
        status = start_parameters(stepper, hooks, error);
    if (status)
        inmo_stepper_free(stepper);
    else
        *out = stepper;
    return status;
}

int inmo_steps_over_graph(const struct inmo_model_kind *kind)
{
    return kind->backbone && (kind->backbone->needs_all || kind->provider->templates);
}

int64_t inmo_stepper_steps_per_epoch(const struct inmo_stepper *stepper)
{
    return stepper->loss->steps_per_epoch(stepper->loss_state);
}

int64_t inmo_stepper_updates(const struct inmo_stepper *stepper, int64_t step)
{
    int64_t steps = stepper->head ? inmo_stepper_steps_per_epoch(stepper) * stepper->options->pretrain : 0;
    int64_t stages = stepper->head ? stepper->head->stages : 0;
    return step < stages * steps ? step % steps : step - stages * steps;
}
