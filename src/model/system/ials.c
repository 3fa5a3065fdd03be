/* ials.c - ials: implicit alternating least squares (Hu, Koren, Volinsky 2008, in the form of Rendle, Krichene,
 * Zhang, Koren 2022). An epoch is one step, and a step solves all users given the items, then all items given
 * the users (least_squares.h), each exactly.
 *
 * Only the items' vectors are parameters. Users' vectors are computed from their histories, in training and after,
 * so a cold-start user is folded in by the formula used in training. Tensors: ials.item (I, d), ials.setting (3)
 * α0, λ, ν. The score is a dot product, so ranking takes the fast path. */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "model/system/least_squares.h"
#include "model/model.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { ITEM, SETTING, SETTINGS = 3, NODES = 64 /* NODES: solved by one thread in sequence */ };
static const struct inmo_tensor_rule rules[] = {{"ials.item", INMO_F32, 1}, {"ials.setting", INMO_F32, 0}};

static void ials_defaults(struct inmo_train_options *options, enum inmo_recipe recipe)
{
    int fast = recipe == INMO_RECIPE_FAST;
    options->unobserved = fast ? INMO_AUTO : 0.01;
    options->l2 = fast ? INMO_AUTO : 0.004;
    options->l2_exponent = 1;
    options->epochs = fast ? 6 : 16;
    options->eval_every = fast ? 3 : 1; /* a ranking takes longer than several epochs */
    options->patience = 4;
}

/* Weights in units of the log (docs/math.md): all unobserved pairs together weigh `ratio` times as much as the
 * observed ones, and the norm of a node's vector as much as `share` of its pairs, observed and not. So the same few
 * numbers serve a sparse log and a dense one. */
static void take_weights(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options)
{
    static const double ratio[] = {0.7, 2, 6, 20, 60}, share[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3};
    inmo_choice_set(&options->unobserved, inmo_choice_round(ratio[point[0]] * inmo_log_density(log)));
    inmo_choice_set(&options->l2,
                    inmo_choice_round(share[point[1]] / (1 + options->unobserved / inmo_log_density(log))));
}

const struct inmo_choice inmo_choice_ials = {
    .axes = 2, .count = {5, 6}, .start = {2, 3}, .trials = 8, .epochs = 5, .dim = 128, .take = take_weights};

static struct inmo_ials_setting setting_of(const float *three)
{
    return (struct inmo_ials_setting){three[0], three[1], three[2]};
}

/* One solver per thread, made before the first step. */
struct solvers {
    int count;
    struct inmo_solver **of;  // (count)
    double *stretch;          // partial sums
};

static void free_solvers(struct solvers *solvers)
{
    for (int t = 0; t < solvers->count && solvers->of; t++)
        inmo_solver_free(solvers->of[t]);
    inmo_free(solvers->of);
    inmo_free(solvers->stretch);
    *solvers = (struct solvers){0};
}

static enum inmo_status make_solvers(int32_t nodes, int dim, struct solvers *solvers, struct inmo_error *error)
{
    int complete;
    *solvers = (struct solvers){.count = inmo_threads()};
    solvers->of = inmo_alloc_zero((size_t)solvers->count, sizeof(struct inmo_solver *));
    solvers->stretch = inmo_alloc((size_t)nodes / NODES + 1, sizeof *solvers->stretch);
    complete = solvers->of && solvers->stretch;
    for (int t = 0; t < solvers->count && complete; t++) {
        solvers->of[t] = inmo_solver_new(dim);
        complete = solvers->of[t] != NULL;
    }
    return complete ? INMO_OK : inmo_fail_memory(error, "least squares");
}

/* Solves x (count, dim) of nodes begin .. begin + count - 1; returns the sum of their minima, added in order over
 * stretches of fixed length. */
static double solve_side(const struct inmo_least_squares *squares, struct solvers *solvers,
                         const struct inmo_graph *graph, int32_t begin, int32_t count, int32_t first,
                         const int32_t *row_of, float *x)
{
    int32_t stretches = (count + NODES - 1) / NODES;
    double sum = 0;
    inmo_blas_hold(); /* parallel over nodes instead */
#pragma omp parallel for schedule(dynamic) num_threads(solvers->count)
    for (int32_t s = 0; s < stretches; s++) {
        struct inmo_solver *solver = solvers->of[omp_get_thread_num()];
        double *part = solvers->stretch + s;
        *part = 0;
        for (int32_t n = s * NODES; n < count && n < (s + 1) * NODES; n++) {
            int32_t v = begin + n;
            struct inmo_neighbours of = {graph->neighbour + graph->offset[v], row_of, inmo_graph_degree(graph, v),
                                         first, graph->weight ? graph->weight + graph->offset[v] : NULL};
            *part += inmo_solve(squares, solver, &of, x + (size_t)n * (size_t)squares->dim);
        }
    }
    inmo_blas_release();
    for (int32_t s = 0; s < stretches; s++)
        sum += solvers->stretch[s];
    return sum;
}

/* ---- Learning ------------------------------------------------------------------------------------------------ */

struct inmo_learning_state {
    const struct inmo_graph *graph;
    int dim;
    float *user;  // (users, dim)
    struct solvers solvers;
    struct inmo_least_squares squares;
};

static void ials_shape(const struct inmo_graph *graph, const struct inmo_train_options *options,
                       struct inmo_tensor *tensor)
{
    tensor[ITEM].rows = graph->items;
    tensor[ITEM].columns = options->dim;
    tensor[SETTING].rows = SETTINGS;
}

static void ials_destroy(struct inmo_learning_state *learner)
{
    if (!learner)
        return;
    inmo_least_squares_free(&learner->squares);
    free_solvers(&learner->solvers);
    inmo_free(learner->user);
    inmo_free(learner);
}

static enum inmo_status ials_create(const struct inmo_graph *graph, const struct inmo_train_options *options,
                                    float *parameter, struct inmo_learning_state **out, struct inmo_error *error)
{
    size_t size = (size_t)graph->items * (size_t)options->dim;
    uint64_t key = inmo_key(options->seed, INMO_STREAM_INIT);
    struct inmo_learning_state *learner = inmo_alloc_zero(1, sizeof *learner);
    struct inmo_ials_setting setting;
    enum inmo_status status = INMO_OK;
    if (!learner)
        return inmo_fail_memory(error, "training");
    learner->graph = graph;
    learner->dim = options->dim;
    for (size_t n = 0; n < size; n++)
        parameter[n] = (float)(options->init_scale / sqrt(options->dim) * inmo_random_normal(key, n));
    parameter[size] = (float)options->unobserved;
    parameter[size + 1] = (float)options->l2;
    parameter[size + 2] = (float)options->l2_exponent;
    setting = setting_of(parameter + size);
    learner->user = inmo_alloc((size_t)graph->users * (size_t)options->dim, sizeof *learner->user);
    status = learner->user ? inmo_least_squares_make(options->dim, &setting, &learner->squares, error)
                           : inmo_fail_memory(error, "training");
    if (!status)
        status = make_solvers(graph->nodes, options->dim, &learner->solvers, error);
    if (status)
        ials_destroy(learner);
    else
        *out = learner;
    return status;
}

static int64_t ials_steps(const struct inmo_learning_state *learner)
{
    (void)learner;
    return 1;
}

/* The loss is the whole objective per observed pair: the minima of the items, plus the norms of the users. */
static double ials_step(struct inmo_learning_state *learner, const struct inmo_block *block, int64_t step,
                        double learning_rate)
{
    const struct inmo_graph *graph = learner->graph;
    const struct inmo_ials_setting *setting = &learner->squares.setting;
    struct inmo_error ignored;
    int dim = learner->dim;
    double loss = 0;
    (void)step;
    (void)learning_rate;
    if (inmo_least_squares_turn(&learner->squares, block->parameter, graph->items, &ignored))
        return NAN;
    solve_side(&learner->squares, &learner->solvers, graph, 0, graph->users, graph->users, NULL, learner->user);
    if (inmo_least_squares_turn(&learner->squares, learner->user, graph->users, &ignored))
        return NAN;
    loss = solve_side(&learner->squares, &learner->solvers, graph, graph->users, graph->items, 0, NULL,
                      block->parameter);
    for (int32_t u = 0; u < graph->users; u++) {
        const float *x = learner->user + (size_t)u * (size_t)dim;
        loss += setting->l2 *
                pow(inmo_graph_strength(graph, u) + setting->unobserved * graph->items, setting->exponent) *
                cblas_sdot(dim, x, 1, x, 1);
    }
    return loss / (double)graph->edges;
}

/* New items keep their small random vectors: the first step solves the users, who have chosen others too. */
static void ials_take(const struct inmo_model *earlier, const int32_t *item, int32_t items, float *parameter)
{
    const float *from = earlier->tensor[ITEM].data;
    size_t dim = (size_t)earlier->dim;
    for (int32_t i = 0; i < items; i++)
        if (item[i] >= 0)
            memcpy(parameter + (size_t)i * dim, from + (size_t)item[i] * dim, dim * sizeof *parameter);
}

static const struct inmo_learning learning = {
    .adam = 0,
    .shape = ials_shape,
    .create = ials_create,
    .destroy = ials_destroy,
    .steps_per_epoch = ials_steps,
    .step = ials_step,
    .take = ials_take,
};

/* ---- On a graph ---------------------------------------------------------------------------------------------- */

struct inmo_system_state {
    const struct inmo_graph *graph;
    const struct inmo_model_binding *bound;
    int32_t items; /* of the model */
    float *item;   // (items, dim) rotated
    struct inmo_least_squares squares;
};

static const char *ials_check(const struct inmo_model *model)
{
    const struct inmo_tensor *tensor = model->tensor;
    const float *setting = tensor[SETTING].data;
    if (tensor[ITEM].rows != model->items.count || tensor[ITEM].columns != model->dim)
        return "its vectors do not fit its items";
    if (tensor[SETTING].rows != SETTINGS || !(setting[0] >= 0) || !(setting[1] > 0) || !isfinite(setting[2]))
        return "its weights are out of bounds";
    return NULL;
}

static void ials_close(struct inmo_system_state *state)
{
    if (!state)
        return;
    inmo_least_squares_free(&state->squares);
    inmo_free(state->item);
    inmo_free(state);
}

static enum inmo_status ials_open(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                  struct inmo_system_state **out, struct inmo_error *error)
{
    size_t size = (size_t)model->items.count * (size_t)model->dim;
    struct inmo_ials_setting setting = setting_of(model->tensor[SETTING].data);
    struct inmo_system_state *state = inmo_alloc_zero(1, sizeof *state);
    enum inmo_status status = INMO_OK;
    if (state)
        state->item = inmo_alloc(size, sizeof *state->item);
    if (!state || !state->item) {
        status = inmo_fail_memory(error, "the items' vectors");
        goto done;
    }
    state->graph = bound->binding.graph;
    state->bound = bound;
    state->items = model->items.count;
    memcpy(state->item, model->tensor[ITEM].data, size * sizeof *state->item);
    status = inmo_least_squares_make(model->dim, &setting, &state->squares, error);
    if (!status)
        status = inmo_least_squares_turn(&state->squares, state->item, state->items, error);
    if (status)
        goto done;
    *out = state;
    state = NULL;
done:
    ials_close(state);
    return status;
}

static enum inmo_status ials_vectors(struct inmo_system_state *state, float *r, struct inmo_error *error)
{
    const struct inmo_graph *graph = state->graph;
    size_t dim = (size_t)state->squares.dim;
    struct solvers solvers;
    double least = NAN;
    enum inmo_status status = make_solvers(graph->users, state->squares.dim, &solvers, error);
    if (!status) {
        least = solve_side(&state->squares, &solvers, graph, 0, graph->users, graph->users,
                           state->bound->model_item, r);
        if (!isfinite(least))
            status = inmo_fail(error, INMO_NUMERIC, "the users' vectors are not finite");
    }
    free_solvers(&solvers);
    for (int32_t i = 0; i < graph->items; i++) {
        int32_t known = state->bound->model_item[i];
        float *to = r + ((size_t)graph->users + (size_t)i) * dim;
        if (known < 0)
            memset(to, 0, dim * sizeof *to);
        else
            memcpy(to, state->item + (size_t)known * dim, dim * sizeof *to);
    }
    return status;
}

static enum inmo_status ials_fold(const struct inmo_system_state *state, const struct inmo_history *who,
                                  float *term, struct inmo_error *error)
{
    const struct inmo_neighbours of = {who->node, state->bound->model_item, who->count, who->first, who->weight};
    return inmo_solve_terms(&state->squares, &of, term, error);
}

const struct inmo_system inmo_system_ials = {
    .personal = 1,
    .new_users = 1,
    .new_items = 0,
    .weights = 1,
    .tensor = rules,
    .tensors = sizeof rules / sizeof *rules,
    .defaults = ials_defaults,
    .learning = &learning,
    .check = ials_check,
    .open = ials_open,
    .close = ials_close,
    .vectors = ials_vectors,
    .fold = ials_fold,
};
