/* cut.c - see cut.h. */
#include "train/cut.h"

#include "base/memory.h"
#include "graph/stretch.h"
#include "model/readout.h"

#include <string.h>

enum inmo_status inmo_cut_check(const struct inmo_train_options *options, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(options->model);
    int table = kind->provider == &inmo_provider_lookup, inmo = kind->provider == &inmo_provider_inmo;
    int mf = kind->backbone == &inmo_backbone_mf, lightgcn = kind->backbone == &inmo_backbone_lightgcn;
    int bpr = strcmp(options->loss, "bpr") == 0;
    if (inmo_ranks() == 1)
        return INMO_OK;
    if (!(table || inmo) || !(mf || lightgcn) || kind->head)
        return inmo_fail(error, INMO_USAGE,
                         "%s cannot be trained on several ranks; inmo-lightgcn, inmo-mf, lightgcn and mf can",
                         options->model);
    if (!bpr && strcmp(options->loss, "listwise") != 0)
        return inmo_fail(error, INMO_USAGE, "`loss`: found '%s', expected listwise or bpr on several ranks",
                         options->loss);
    if (table && mf && bpr && options->popularity != 0)
        return inmo_fail(error, INMO_USAGE,
                         "`popularity`: found %g, expected 0 for mf with the loss bpr on several ranks",
                         options->popularity);
    return INMO_OK;
}

void inmo_cut_free(struct inmo_cut *cut)
{
    if (!cut)
        return;
    if (cut->graph && cut->graph->share) {
        inmo_free(cut->graph->share->batch_scratch);
        inmo_free(cut->graph->share->batch_scale);
        inmo_free(cut->graph->share->batch_index);
    }
    inmo_free(cut->item_scale);
    inmo_free(cut->near_gradient);
    inmo_free(cut->scratch);
    inmo_free(cut->r);
    inmo_free(cut->index);
    inmo_free(cut->near);
    inmo_free(cut->mine);
    inmo_svd_free(cut->svd);
    inmo_free(cut->sides);
    inmo_free((int32_t *)cut->whole.node_of_row);
    inmo_free((int32_t *)cut->whole.row_of_node);
    inmo_graph_free(cut->graph);
    inmo_free(cut);
}

/* The first row, of all nodes, that belongs to this node or a later one. */
static int32_t row_from(const struct inmo_binding *whole, int32_t node)
{
    int32_t low = 0, high = whole->rows;
    if (!whole->node_of_row)
        return node;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (whole->node_of_row[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Gives the rank's nodes their rows, in order. */
static enum inmo_status bind(struct inmo_stepper *stepper, struct inmo_error *error)
{
    struct inmo_cut *cut = stepper->cut;
    const struct inmo_graph *graph = cut->graph;
    const struct inmo_share *share = graph->share;
    struct inmo_binding *binding = &stepper->binding;
    int ranks = inmo_ranks();
    binding->graph = graph;
    binding->rows = graph->nodes;
    cut->sides = inmo_alloc(2 * ((size_t)ranks + 1), sizeof *cut->sides);
    if (!cut->sides)
        return inmo_fail_memory(error, "the cut of the graph");
    for (int block = 0; block <= ranks; block++) {
        cut->sides[block] = row_from(&cut->whole, share->user_cut[block]);
        cut->sides[ranks + 1 + block] = row_from(&cut->whole, share->item_cut[block]);
    }
    cut->count[0] = share->own_users;
    cut->first[1] = graph->users;
    cut->count[1] = share->own_items;
    if (!cut->whole.row_of_node)
        return INMO_OK;
    stepper->row_of_node = inmo_alloc((size_t)graph->nodes, sizeof(int32_t));
    stepper->node_of_row = inmo_alloc((size_t)graph->nodes, sizeof(int32_t));
    if (!stepper->row_of_node || !stepper->node_of_row)
        return inmo_fail_memory(error, "the templates");
    binding->rows = binding->user_rows = cut->count[0] = cut->count[1] = 0;
    for (int32_t v = 0; v < graph->nodes; v++) {
        int is_template = cut->whole.row_of_node[share->origin[v]] >= 0, is_item = v >= graph->users;
        stepper->row_of_node[v] = is_template ? binding->rows : -1;
        if (!is_template)
            continue;
        stepper->node_of_row[binding->rows++] = v;
        binding->user_rows += !is_item;
        cut->count[is_item] += inmo_graph_owns(graph, v);
    }
    cut->first[1] = binding->user_rows;
    binding->row_of_node = stepper->row_of_node;
    binding->node_of_row = stepper->node_of_row;
    return INMO_OK;
}

struct stretch {
    int64_t first, count;
};

/* What two stretches, each a first and an end, have in common. */
static struct stretch common(const int32_t *a, const int32_t *b)
{
    int32_t first = a[0] > b[0] ? a[0] : b[0], end = a[1] < b[1] ? a[1] : b[1];
    return first < end ? (struct stretch){first, end - first} : (struct stretch){a[0], 0};
}

/* Brings the singular vectors of a rank's own nodes to it, of one side, from the ranks that computed them. */
static enum inmo_status move_vectors(const struct inmo_share *share, int items, int rank, const float *from,
                                     float **to, struct inmo_error *error)
{
    int32_t count = items ? share->whole->items : share->whole->users, skipped = items ? share->whole->users : 0;
    int ranks = inmo_ranks(), own = inmo_own_rank();
    int32_t computed[2] = {inmo_stretch_first(count, own), inmo_stretch_first(count, own + 1)};
    int32_t owned[2] = {inmo_share_begin(share, own, items) - skipped, inmo_share_end(share, own, items) - skipped};
    int64_t bytes = rank * (int64_t)sizeof *from, *sent = inmo_alloc(2 * (size_t)ranks, sizeof *sent);
    *to = inmo_alloc((size_t)(owned[1] - owned[0]) * (size_t)rank, sizeof **to);
    if (!sent || !*to) {
        inmo_free(sent);
        return inmo_fail_memory(error, "the spectral start");
    }
    for (int p = 0; p < ranks; p++) {
        int32_t theirs[2] = {inmo_share_begin(share, p, items) - skipped,
                             inmo_share_end(share, p, items) - skipped};
        int32_t made[2] = {inmo_stretch_first(count, p), inmo_stretch_first(count, p + 1)};
        struct stretch out = common(computed, theirs), in = common(owned, made);
        sent[p] = (out.first - computed[0]) * bytes;
        sent[ranks + p] = out.count * bytes;
        share->begin[p] = (in.first - owned[0]) * bytes;
        share->size[p] = in.count * bytes;
    }
    inmo_ranks_exchange(from, (struct inmo_parts){sent, sent + ranks}, *to,
                        (struct inmo_parts){share->begin, share->size}, INMO_TRAFFIC_OTHER);
    inmo_free(sent);
    return INMO_OK;
}

/* Keeps the singular vectors of the rank's own nodes. */
static enum inmo_status cut_svd(struct inmo_cut *cut, struct inmo_svd *computed, struct inmo_error *error)
{
    const struct inmo_share *share = cut->graph->share;
    enum inmo_status status;
    cut->svd = inmo_alloc_zero(1, sizeof *cut->svd);
    if (!cut->svd)
        return inmo_fail_memory(error, "the spectral start");
    cut->svd->rank = computed->rank;
    status = move_vectors(share, 0, computed->rank, computed->u, &cut->svd->u, error);
    return status ? status : move_vectors(share, 1, computed->rank, computed->v, &cut->svd->v, error);
}

enum inmo_status inmo_cut_make(struct inmo_stepper *stepper, const struct inmo_hooks *hooks,
                               struct inmo_error *error)
{
    struct inmo_cut *cut = inmo_alloc_zero(1, sizeof *cut);
    struct inmo_svd *svd = NULL;
    int with_halo = inmo_steps_over_graph(stepper->kind) || stepper->loss->names_items;
    enum inmo_status status;
    if (!cut)
        return inmo_fail_memory(error, "the cut of the graph");
    stepper->cut = cut;
    cut->whole = stepper->binding; /* with the arrays, which the rank's own replace */
    stepper->row_of_node = stepper->node_of_row = NULL;
    stepper->binding.row_of_node = stepper->binding.node_of_row = NULL;
    status = inmo_stepper_svd(stepper, hooks, &svd, error);
    if (!status)
        status = inmo_share_cut(stepper->graph, with_halo, &cut->graph, error);
    if (!status && svd)
        status = cut_svd(cut, svd, error);
    if (!status)
        status = bind(stepper, error);
    if (!status) {
        cut->graph->share->names_items = stepper->loss->names_items;
        stepper->graph = cut->graph;
    }
    inmo_svd_free(svd);
    return status;
}

enum inmo_status inmo_cut_buffers(struct inmo_stepper *stepper, struct inmo_error *error)
{
    struct inmo_cut *cut = stepper->cut;
    struct inmo_share *share = cut->graph->share;
    size_t places = (size_t)stepper->places, size = places * (size_t)stepper->width;
    if (stepper->loss->names_items)
        return INMO_OK;
    cut->mine = inmo_alloc(places, sizeof *cut->mine);
    cut->near = inmo_alloc(places, sizeof *cut->near);
    cut->index = inmo_alloc(places, sizeof *cut->index);
    cut->r = inmo_alloc(size, sizeof *cut->r);
    cut->scratch = inmo_alloc(size, sizeof *cut->scratch);
    cut->near_gradient = inmo_alloc(size, sizeof *cut->near_gradient);
    share->batch_index = inmo_alloc(places, sizeof *share->batch_index);
    share->batch_scale = inmo_alloc(places, sizeof *share->batch_scale);
    share->batch_scratch = inmo_alloc(places, sizeof *share->batch_scratch);
    if (stepper->options->popularity != 0) {
        cut->item_scale = inmo_alloc((size_t)share->whole->items, sizeof(float));
        if (cut->item_scale)
            inmo_readout_scales(share->whole, stepper->options->popularity, cut->item_scale);
    }
    if (!cut->mine || !cut->near || !cut->index || !cut->r || !cut->scratch || !cut->near_gradient ||
        !share->batch_index || !share->batch_scale || !share->batch_scratch ||
        (stepper->options->popularity != 0 && !cut->item_scale))
        return inmo_fail_memory(error, "training");
    return INMO_OK;
}

void inmo_cut_number_rows(const struct inmo_stepper *stepper, int64_t *number)
{
    const struct inmo_cut *cut = stepper->cut;
    const struct inmo_graph *whole = cut->graph->share->whole;
    int64_t rank = 0;
    for (int32_t v = 0; v < whole->nodes; v++) {
        int32_t node = inmo_graph_place(whole, v), row = inmo_stepper_row(stepper, v);
        if (row >= 0)
            number[row] = rank;
        rank += !cut->whole.row_of_node || cut->whole.row_of_node[node] >= 0;
    }
    for (int64_t row = stepper->binding.rows; row < stepper->provider_rows; row++)
        number[row] = rank++;
}

int64_t inmo_cut_rows(const struct inmo_stepper *stepper)
{
    return stepper->cut->whole.rows + stepper->parameter_rows - stepper->binding.rows;
}

void inmo_cut_collect(const struct inmo_stepper *stepper, const float *rows, float *to)
{
    const struct inmo_cut *cut = stepper->cut;
    const struct inmo_share *share = cut->graph->share;
    int ranks = inmo_ranks(), own = inmo_own_rank();
    size_t bytes = (size_t)stepper->binding.dim * sizeof *rows;
    int64_t *sent = inmo_alloc_zero(2 * (size_t)ranks, sizeof *sent);
    if (!sent)
        inmo_ranks_abort_memory();
    for (int side = 0; side < 2; side++) {
        const int32_t *begin = cut->sides + side * (ranks + 1);
        for (int rank = 0; rank < ranks; rank++) {
            int block = side ? share->item_block[rank] : rank;
            share->begin[rank] = (int64_t)((size_t)begin[block] * bytes);
            share->size[rank] = own == 0 ? (int64_t)((size_t)begin[block + 1] * bytes) - share->begin[rank] : 0;
        }
        sent[ranks] = (int64_t)((size_t)cut->count[side] * bytes);
        inmo_ranks_exchange(rows + (size_t)cut->first[side] * (size_t)stepper->binding.dim,
                            (struct inmo_parts){sent, sent + ranks}, to,
                            (struct inmo_parts){share->begin, share->size}, INMO_TRAFFIC_OTHER);
    }
    if (to)
        memcpy(to + (size_t)cut->whole.rows * (size_t)stepper->binding.dim,
               rows + (size_t)stepper->binding.rows * (size_t)stepper->binding.dim,
               (size_t)(stepper->parameter_rows - stepper->binding.rows) * bytes);
    inmo_free(sent);
}
