/* cut_step.c - a training step on several ranks: see cut.h, and step.c for the same on one.
 *
 * A batch with all items (listwise): every rank has r and dr of its own nodes, and the loss brings together what
 * it needs. Any other batch is small beside the graph: r of its nodes is brought together on all ranks, which
 * all judge the whole batch, with the same result, and go on with the gradients of the nodes they have. */
#include "base/threads.h"
#include "kernel/kernel.h"
#include "loss/norms.h"
#include "model/readout.h"
#include "train/cut.h"
#include "train/pairwise.h"

#include <string.h>

/* Finds the rank's own nodes of a batch, and all that it has. */
static void split(struct inmo_stepper *stepper, const struct inmo_grouping *grouping)
{
    struct inmo_cut *cut = stepper->cut;
    struct inmo_share *share = cut->graph->share;
    int32_t mine = 0, near = 0;
    for (int32_t n = 0; n < grouping->rows.count; n++) {
        int32_t v = share->local[grouping->node[n]];
        cut->index[n] = mine;
        share->batch_index[n] = v;
        if (v >= 0 && inmo_graph_owns(cut->graph, v))
            cut->mine[mine++] = v;
        if (v >= 0)
            cut->near[near++] = v;
    }
    cut->mine_rows = (struct inmo_rows){mine, cut->mine, NULL};
    cut->near_rows = (struct inmo_rows){near, cut->near, stepper->position};
    share->batch = grouping->rows.count;
    share->batch_node = grouping->node;
}

static void mark_near(struct inmo_stepper *stepper, int marked)
{
    const struct inmo_cut *cut = stepper->cut;
    for (int32_t n = 0; stepper->position && n < cut->near_rows.count; n++)
        stepper->position[cut->near[n]] = marked ? n : -1;
}

/* The rows of near nodes, from those of the whole batch. */
static void take_near(const struct inmo_cut *cut, const struct inmo_grouping *grouping, int width,
                      const float *from, float *to)
{
    const struct inmo_share *share = cut->graph->share;
    for (int32_t n = 0, near = 0; n < grouping->rows.count; n++)
        if (share->local[grouping->node[n]] >= 0)
            memcpy(to + (size_t)near++ * (size_t)width, from + (size_t)n * (size_t)width,
                   (size_t)width * sizeof *to);
}

/* λ‖e‖² of the batch's nodes: the loss of all, the gradient of own ones. e of the batch comes by rows. */
static double square_norms(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, const float *e,
                           float *de)
{
    enum { CHUNK = INMO_NORMS_CHUNK };
    const struct inmo_kernels *kernels = inmo_kernels();
    const struct inmo_cut *cut = stepper->cut;
    const struct inmo_share *share = cut->graph->share;
    int dim = stepper->binding.dim;
    int32_t count = grouping->rows.count;
    double all = 0, sum = 0, l2 = stepper->options->l2 / stepper->options->batch;
    inmo_share_collect(share, count, grouping->node, share->batch_index, dim, e, cut->r, cut->scratch,
                       INMO_TRAFFIC_LOSS);
    for (int32_t n = 0; n < count; n++) {
        int32_t v = share->batch_index[n];
        const float *row = cut->r + (size_t)n * (size_t)dim;
        double factor = l2 * (grouping->offset[n + 1] - grouping->offset[n]);
        if (v >= 0 && inmo_graph_owns(cut->graph, v))
            kernels->add_scaled(dim, (float)(2 * factor), row, de + (size_t)v * (size_t)dim);
        sum += factor * (double)kernels->dot(dim, row, row);
        if ((n + 1) % CHUNK == 0 || n + 1 == count) {
            all += sum;
            sum = 0;
        }
    }
    return all;
}

/* The self-enhanced loss on rows that are brought together; adds the gradients of own ones. */
static double self_enhanced(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, float *gradient)
{
    struct inmo_self_enhanced *self = &stepper->self;
    struct inmo_cut *cut = stepper->cut;
    const struct inmo_share *share = cut->graph->share;
    size_t dim = (size_t)stepper->binding.dim,
           w = (size_t)stepper->binding.rows + (size_t)(self->diagonal - cut->whole.rows);
    for (int32_t n = 0; n < grouping->rows.count; n++) {
        int32_t v = cut->whole.node_of_row[grouping->node[n]];
        self->node[n] = v;
        self->index[n] = share->local[v] >= 0 && inmo_graph_owns(cut->graph, share->local[v])
                             ? stepper->row_of_node[share->local[v]]
                             : -1;
    }
    inmo_share_collect(share, grouping->rows.count, self->node, self->index, stepper->binding.dim,
                       stepper->parameter, self->row, self->gradient, INMO_TRAFFIC_LOSS);
    return inmo_self_enhanced_run_rows(self, grouping, self->row, stepper->parameter + w * dim, self->index,
                                       gradient, gradient + w * dim);
}

static double all_items(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, float **de)
{
    const struct inmo_provider *provider = stepper->kind->provider;
    const struct inmo_backbone *backbone = stepper->kind->backbone;
    const struct inmo_rows *rows = &stepper->rows;
    size_t bytes = (size_t)stepper->width * sizeof(float);
    const float *e;
    float *r;
    double loss;
    stepper->rows = (struct inmo_rows){grouping->rows.count, grouping->node, stepper->position};
    inmo_stepper_mark(stepper, 1);
    e = provider->forward(stepper->provider, stepper->parameter, NULL);
    r = backbone->forward(stepper->backbone, e, rows);
    if (stepper->item_scale && stepper->read)
        r = memcpy(stepper->read, r, (size_t)rows->count * bytes);
    if (stepper->item_scale)
        inmo_readout(stepper->graph, rows, stepper->width, stepper->item_scale, r);
    inmo_share_refresh(stepper->graph, r, bytes, stepper->position);
    loss = stepper->loss->judge(stepper->loss_state, grouping, r, stepper->dr);
    inmo_share_release(stepper->graph, r, bytes, stepper->position);
    if (stepper->item_scale)
        inmo_readout(stepper->graph, rows, stepper->width, stepper->item_scale, stepper->dr);
    *de = backbone->backward(stepper->backbone, rows, stepper->dr);
    inmo_stepper_mark(stepper, 0);
    return loss;
}

static double some_nodes(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, float **de)
{
    const struct inmo_provider *provider = stepper->kind->provider;
    const struct inmo_backbone *backbone = stepper->kind->backbone;
    struct inmo_cut *cut = stepper->cut;
    struct inmo_share *share = cut->graph->share;
    const float *e, *r;
    double loss;
    split(stepper, grouping);
    mark_near(stepper, 1);
    e = provider->forward(stepper->provider, stepper->parameter, backbone->needs_all ? NULL : &cut->mine_rows);
    r = backbone->forward(stepper->backbone, e, &cut->mine_rows);
    inmo_share_collect(share, grouping->rows.count, grouping->node, cut->index, stepper->width, r, cut->r,
                       cut->scratch, INMO_TRAFFIC_LOSS);
    if (cut->item_scale)
        inmo_readout(share->whole, &grouping->rows, stepper->width, cut->item_scale, cut->r);
    loss = stepper->loss->judge(stepper->loss_state, grouping, cut->r, stepper->dr);
    if (cut->item_scale)
        inmo_readout(share->whole, &grouping->rows, stepper->width, cut->item_scale, stepper->dr);
    share->batch_gradient = stepper->dr;
    take_near(cut, grouping, stepper->width, stepper->dr, cut->near_gradient);
    *de = backbone->backward(stepper->backbone, &cut->near_rows, cut->near_gradient);
    if (!stepper->l2_on_r && stepper->options->l2 > 0)
        loss += square_norms(stepper, grouping, e, *de);
    return loss;
}

/* MF's step on triples: the rows of the batch are brought together as they are now, all ranks judge all
 * triples, and each updates its own rows. Chunks are those of pairwise.c, so the loss has its bytes. */
static double pairwise_step(struct inmo_stepper *stepper, const struct inmo_grouping *grouping,
                            double learning_rate)
{
    enum { CHUNK = INMO_LAZY_CHUNK };
    struct inmo_cut *cut = stepper->cut;
    const struct inmo_share *share = cut->graph->share;
    struct inmo_lazy *lazy = &stepper->lazy;
    struct inmo_adam adam = inmo_adam_at(learning_rate, lazy->now + 1);
    struct inmo_triples triples;
    int32_t count = grouping->rows.count, items = inmo_grouping_below(grouping, share->whole->users);
    int32_t first[2] = {0, items}, end[2] = {items, count}, chunks[2];
    double loss = 0;
    split(stepper, grouping);
    inmo_lazy_read(lazy, &cut->mine_rows);
    inmo_share_collect(share, count, grouping->node, cut->index, stepper->binding.dim, lazy->current, cut->r,
                       cut->scratch, INMO_TRAFFIC_LOSS);
    triples = stepper->loss->triples(stepper->loss_state, grouping, cut->r);
    for (int side = 0; side < 2; side++) {
        chunks[side] = (end[side] - first[side] + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
        for (int32_t chunk = 0; chunk < chunks[side]; chunk++) {
            int32_t from = first[side] + chunk * CHUNK, rows = end[side] - from < CHUNK ? end[side] - from : CHUNK;
            int32_t own = 0, skip = 0;
            double *term = triples.term + (side ? chunks[0] : 0) + chunk;
            *term = side ? 0 : inmo_triples_forward_rows(&triples, grouping, from, rows);
            for (int32_t n = from; n < from + rows; n++) { /* own nodes follow each other */
                own += share->batch_index[n] >= 0;
                skip += share->batch_index[n] < 0 && own == 0;
            }
            if (own > 0) {
                int32_t offset[CHUNK + 1];
                struct inmo_terms gradient = inmo_triples_terms(&triples, grouping, from + skip, own, offset);
                inmo_lazy_write_sums_from(lazy, adam, cut->mine + cut->index[from + skip], own,
                                          cut->r + (size_t)(from + skip) * (size_t)stepper->binding.dim, &gradient);
            }
            *term += inmo_triples_square_norms(&triples, grouping, from, rows);
        }
    }
    for (int32_t chunk = 0; chunk < chunks[0] + chunks[1]; chunk++)
        loss += triples.term[chunk];
    inmo_lazy_written(lazy, learning_rate);
    return loss;
}

double inmo_cut_step(struct inmo_stepper *stepper, int64_t step, double alpha, double learning_rate)
{
    const struct inmo_train_options *options = stepper->options;
    const struct inmo_provider *provider = stepper->kind->provider;
    const struct inmo_cut *cut = stepper->cut;
    struct inmo_moment moment = {alpha, options->dropout, options->graph_dropout, options->seed, step};
    struct inmo_adam adam = inmo_adam_at(learning_rate, step + 1);
    int64_t which = inmo_stepper_prepare(stepper, step), dim = stepper->binding.dim;
    const struct inmo_grouping *grouping = stepper->grouping + which;
    struct inmo_gradient gradient;
    float *de;
    double loss;
    if (stepper->fused)
        return pairwise_step(stepper, grouping, learning_rate);
    provider->begin(stepper->provider, inmo_stepper_weights(stepper), &moment);
    loss = stepper->loss->names_items ? all_items(stepper, grouping, &de) : some_nodes(stepper, grouping, &de);
    gradient = provider->backward(
        stepper->provider,
        stepper->kind->backbone->needs_all || stepper->loss->names_items ? NULL : &cut->near_rows, de);
    if (stepper->self.sampler.count > 0)
        loss += self_enhanced(stepper, stepper->self_grouping + which, gradient.value);
    if (!stepper->loss->names_items)
        mark_near(stepper, 0);
    for (int part = 0; part < 3; part++) { /* own users, own items, extra rows */
        int64_t first = part < 2 ? cut->first[part] : stepper->binding.rows,
                rows = part < 2 ? cut->count[part] : stepper->provider_rows - stepper->binding.rows;
        inmo_adam_rows(rows, stepper->binding.dim, adam, gradient.value + first * dim, stepper->m + first * dim,
                       stepper->root + first * dim, stepper->parameter + first * dim);
    }
    return loss;
}
