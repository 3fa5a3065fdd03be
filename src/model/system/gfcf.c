/* gfcf.c - gf-cf: a graph filter in closed form (Shen, Wu, Zhang, Shan, Zhang, Letaief, Li 2021), a linear
 * filter on the observed graph plus an ideal low-pass filter over the leading singular vectors of the training
 * graph:
 *
 *     R = D_u^-1/2 Y D_i^-1/2 ≈ U S V'      score(H, ·) = h R'R + w h D_i^-1/2 V V' D_i^1/2,   h the 0/1 row of H
 *
 * Tensors: gf-cf.vector (I, d) V; gf-cf.low-pass (1) w. The first part uses the observed graph, so new
 * interactions, users and items count at once. The second uses the degrees of training, and is zero for new items.
 *
 * The first part walks two hops for each user, Σ_{i in H} Σ_{v in N_i} d_v additions; the second is one product of
 * a few users with all items. Fitting is a truncated SVD (graph/svd.h). */
#include "base/memory.h"
#include "graph/svd.h"
#include "model/model.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { VECTOR, LOW_PASS, AT_ONCE = 192, SVD_ITERATIONS = 6 };
static const struct inmo_tensor_rule rules[] = {{"gf-cf.vector", INMO_F32, 1}, {"gf-cf.low-pass", INMO_F32, 0}};

struct inmo_system_state {
    const struct inmo_graph *graph;
    int dim;
    float *out;       // (items, dim) D_i^1/2 V, degrees of training
    float *in_scale;  // (items) w / degree: a row of D_i^-1/2 V times w is that times the row of out
};

static void gfcf_defaults(struct inmo_train_options *options, enum inmo_recipe recipe)
{
    int fast = recipe == INMO_RECIPE_FAST;
    options->dim = fast ? INMO_AUTO : 256;
    options->low_pass = fast ? 0.2 : 0.3;
}

/* The rank grows with the log: what is an ideal low pass for thousands of users lets everything through for
 * hundreds. Found by validation on logs of all shapes (docs/choices.md); nothing is tried in training. */
static void take_rank(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options)
{
    double rank = floor((log->users < log->items ? log->users : log->items) / 12);
    double most = log->users + log->items > 50000 ? 256 : 512;
    (void)point;
    inmo_choice_set_count(&options->dim, (int)(rank < 32 ? 32 : rank > most ? most : rank));
}

const struct inmo_choice inmo_choice_gfcf = {.take = take_rank};

static enum inmo_status gfcf_fit(struct inmo_model *model, const struct inmo_graph *graph,
                                 const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                                 struct inmo_error *error)
{
    struct inmo_svd *svd = NULL;
    float *low_pass = inmo_alloc(1, sizeof *low_pass);
    enum inmo_status status = low_pass ? INMO_OK : inmo_fail_memory(error, "the model");
    if (!status)
        status = inmo_svd_compute(graph, options->dim, 1, SVD_ITERATIONS, options->seed, hooks, &svd, error);
    if (status)
        goto done;
    *low_pass = (float)options->low_pass;
    status = inmo_model_add_tensor(model, graph->items, svd->rank, svd->v, error);
    svd->v = NULL;
    if (!status) {
        status = inmo_model_add_tensor(model, 1, 0, low_pass, error);
        low_pass = NULL;
    }
done:
    inmo_free(low_pass);
    inmo_svd_free(svd);
    return status;
}

static const char *gfcf_check(const struct inmo_model *model)
{
    const struct inmo_tensor *tensor = model->tensor;
    if (tensor[VECTOR].rows != model->items.count || tensor[VECTOR].columns < 1 || tensor[VECTOR].columns > 1 << 20)
        return "its singular vectors do not fit its items";
    return tensor[LOW_PASS].rows == 1 ? NULL : "it has no weight of the low pass";
}

static void gfcf_close(struct inmo_system_state *state)
{
    if (!state)
        return;
    inmo_free(state->in_scale);
    inmo_free(state->out);
    inmo_free(state);
}

static enum inmo_status gfcf_open(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                  struct inmo_system_state **out, struct inmo_error *error)
{
    const struct inmo_graph *graph = bound->binding.graph;
    const float *vector = model->tensor[VECTOR].data, low_pass = *(const float *)model->tensor[LOW_PASS].data;
    size_t dim = (size_t)model->tensor[VECTOR].columns;
    int64_t *degree = inmo_alloc_zero((size_t)model->items.count, sizeof *degree);
    struct inmo_system_state *state = inmo_alloc_zero(1, sizeof *state);
    if (state) {
        state->out = inmo_alloc_zero((size_t)graph->items * dim, sizeof *state->out);
        state->in_scale = inmo_alloc_zero((size_t)graph->items, sizeof *state->in_scale);
    }
    if (!degree || !state || !state->out || !state->in_scale) {
        inmo_free(degree);
        gfcf_close(state);
        return inmo_fail_memory(error, "the singular vectors");
    }
    state->graph = graph;
    state->dim = (int)dim;
    for (int64_t e = 0; e < inmo_csr_count(&model->train); e++)
        degree[model->train.column[e]]++;
    for (int32_t i = 0; i < graph->items; i++) {
        int32_t known = bound->model_item[i];
        double trained = known < 0 ? 0 : (double)degree[known];
        if (trained < 1)
            continue;
        state->in_scale[i] = (float)(low_pass / trained);
        for (size_t k = 0; k < dim; k++)
            state->out[(size_t)i * dim + k] = (float)(sqrt(trained) * vector[(size_t)known * dim + k]);
    }
    inmo_free(degree);
    *out = state;
    return INMO_OK;
}

/* Per thread: coefficients of the low-pass filter, and the users on two-hop paths. */
struct scratch {
    float *coefficient;  // (AT_ONCE, dim)
    float *through;      // (users) zero between calls
    int32_t *met;        // (users)
};

static size_t gfcf_scratch(const struct inmo_system_state *state)
{
    return (size_t)AT_ONCE * (size_t)state->dim * sizeof(float) +
           (size_t)state->graph->users * (sizeof(float) + sizeof(int32_t));
}

static struct scratch lay_out(const struct inmo_system_state *state, void *memory)
{
    struct scratch scratch = {memory, NULL, NULL};
    scratch.through = scratch.coefficient + (size_t)AT_ONCE * (size_t)state->dim;
    scratch.met = (int32_t *)(scratch.through + state->graph->users);
    return scratch;
}

/* score += h R'R: every user v who shares an item with H passes Σ_{i in H, i in N_v} 1/√(d_v d_i) on to v's
 * items. */
static void add_linear(const struct inmo_system_state *state, const struct inmo_history *who,
                       const struct scratch *scratch, float *score)
{
    const struct inmo_graph *graph = state->graph;
    const float *scale = graph->inverse_root_degree;
    int32_t met = 0;
    for (int32_t h = 0; h < who->count; h++) {
        int32_t node = graph->users + inmo_history_item(who, h);
        for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++) {
            int32_t v = graph->neighbour[e];
            if (scratch->through[v] == 0)
                scratch->met[met++] = v;
            scratch->through[v] += scale[node];
        }
    }
    for (int32_t n = 0; n < met; n++) {
        int32_t v = scratch->met[n];
        float weight = scratch->through[v] * graph->inverse_degree[v]; /* D_u^-1/2 on each hop */
        scratch->through[v] = 0;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++)
            score[graph->neighbour[e] - graph->users] += weight * scale[graph->neighbour[e]];
    }
}

static void gfcf_score(const struct inmo_system_state *state, const struct inmo_history *who, int32_t count,
                       void *memory, float *score)
{
    struct scratch scratch = lay_out(state, memory);
    size_t dim = (size_t)state->dim, items = (size_t)state->graph->items;
    for (int32_t first = 0; first < count; first += AT_ONCE) {
        int32_t part = count - first < AT_ONCE ? count - first : AT_ONCE;
        memset(scratch.coefficient, 0, (size_t)part * dim * sizeof(float));
        for (int32_t n = 0; n < part; n++)
            for (int32_t h = 0; h < who[first + n].count; h++) {
                int32_t i = inmo_history_item(who + first + n, h);
                cblas_saxpy(state->dim, state->in_scale[i], state->out + (size_t)i * dim, 1,
                            scratch.coefficient + (size_t)n * dim, 1);
            }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, part, (int)items, state->dim, 1, scratch.coefficient,
                    state->dim, state->out, state->dim, 0, score + (size_t)first * items, (int)items);
        for (int32_t n = 0; n < part; n++)
            add_linear(state, who + first + n, &scratch, score + (size_t)(first + n) * items);
    }
}

/* The same two hops to an item with these users; the low pass knows nothing of it. */
static float gfcf_score_unseen(const struct inmo_system_state *state, const struct inmo_history *who,
                               const int32_t *user, int32_t count)
{
    const struct inmo_graph *graph = state->graph;
    struct inmo_csr rows = {graph->nodes, graph->nodes, graph->offset, graph->neighbour, NULL};
    double sum = 0;
    int32_t degree = 0;
    for (int32_t n = 0; n < count; n++) {
        double through = 0;
        if (user[n] >= graph->users)
            continue;
        degree++;
        for (int32_t h = 0; h < who->count; h++) {
            int32_t node = graph->users + inmo_history_item(who, h);
            if (inmo_csr_has(&rows, user[n], node))
                through += graph->inverse_root_degree[node];
        }
        sum += through * graph->inverse_degree[user[n]];
    }
    return degree > 0 ? (float)(sum / sqrt(degree)) : 0;
}

const struct inmo_system inmo_system_gfcf = {
    .personal = 1,
    .new_users = 1,
    .new_items = 1,
    .additive = 1,
    .users = AT_ONCE,
    .tensor = rules,
    .tensors = sizeof rules / sizeof *rules,
    .defaults = gfcf_defaults,
    .fit = gfcf_fit,
    .check = gfcf_check,
    .open = gfcf_open,
    .close = gfcf_close,
    .score = gfcf_score,
    .score_unseen = gfcf_score_unseen,
    .scratch_bytes = gfcf_scratch,
};
