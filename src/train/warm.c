/* warm.c - see warm.h. All of it is linear in interactions and parameters, and single-threaded except for BLAS
 * products at one thread, so the same at any number of threads. */
#include "train/warm.h"

#include "base/lapack.h"
#include "base/memory.h"
#include "base/tensorfile_layout.h"
#include "train/cut.h"

#include <cblas.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

/* The share of the schedule that a warm start takes, unless options say how many epochs (docs/results.md). */
enum { SHARE = 6 };

void inmo_warm_close(struct inmo_warm *warm)
{
    inmo_csr_free(&warm->valid);
    inmo_csr_free(&warm->train);
    inmo_model_free(warm->model);
    *warm = (struct inmo_warm){0};
}

/* ---- Does it fit? -------------------------------------------------------------------------------------------- */

static enum inmo_status check(const char *path, const struct inmo_model *model,
                              const struct inmo_train_options *options, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(options->model);
    int dim = inmo_head_embedding(kind->head, options->dim);
    if (kind != model->kind)
        return inmo_fail(error, INMO_USAGE, "`from`: %s holds %s, and `model` is %s; expected the same", path,
                         model->kind->name, kind->name);
    if (kind->system ? !kind->system->learning || !kind->system->learning->take
                     : kind->provider->frozen_from != NULL)
        return inmo_fail(error, INMO_UNSUPPORTED, "`from`: %s has no warm start (%s); train it without `from`",
                         kind->name,
                         !kind->system             ? "it trains in two stages"
                         : !kind->system->learning ? "it is solved in closed form"
                                                   : "its vectors belong to no single item");
    if (model->dim != dim)
        return inmo_fail(error, INMO_USAGE,
                         "`dim`: found %d, which makes vectors of %d numbers, expected %d as in "
                         "%s (`from`)",
                         options->dim, dim, model->dim, path);
    if (kind->backbone && kind->backbone->needs_all && model->layers != options->layers &&
        options->layers != INMO_AUTO)
        return inmo_fail(error, INMO_USAGE, "`layers`: found %d, expected %d as in %s (`from`)", options->layers,
                         model->layers, path);
    return INMO_OK;
}

/* map[n] = number in the model of the data set's n-th id, or -1. */
static enum inmo_status match(const struct inmo_idmap *theirs, const struct inmo_idmap *ours, int32_t **map,
                              struct inmo_error *error)
{
    struct inmo_idmap indexed = *ours;
    enum inmo_status status;
    indexed.slot = NULL;
    *map = inmo_alloc((size_t)theirs->count, sizeof **map);
    status = *map ? inmo_idmap_index(&indexed, error) : inmo_fail_memory(error, "a warm start");
    if (status)
        return status;
    for (int32_t n = 0; n < theirs->count; n++)
        (*map)[n] = inmo_idmap_find(&indexed, inmo_idmap_id(theirs, n));
    inmo_idmap_drop_index(&indexed);
    return INMO_OK;
}

/* ---- The parts follow the earlier model ---------------------------------------------------------------------- */

/* How many interactions of a list the earlier model was trained on. */
static int64_t count_trained(const struct inmo_csr *list, const struct inmo_model *model, const int32_t *user,
                             const int32_t *item)
{
    int64_t found = 0;
    for (int32_t u = 0; list->offset && u < list->rows; u++)
        for (int64_t e = list->offset[u]; user[u] >= 0 && e < list->offset[u + 1]; e++)
            found += item[list->column[e]] >= 0 && inmo_csr_has(&model->train, user[u], item[list->column[e]]);
    return found;
}

/* Deals one user's training and validation items out again, both lists in ascending order. An item the earlier
 * model has learned is no measure of what it predicts; one it was validated on still is. */
static void deal(const struct inmo_warm *warm, const struct inmo_dataset *data, int32_t u, int32_t model_user,
                 const int32_t *item, int64_t *train, int64_t *valid)
{
    const struct inmo_csr *from[2] = {&data->train, &data->valid};
    int64_t at[2], end[2];
    for (int n = 0; n < 2; n++) {
        at[n] = from[n]->offset ? from[n]->offset[u] : 0;
        end[n] = from[n]->offset ? from[n]->offset[u + 1] : 0;
    }
    while (at[0] < end[0] || at[1] < end[1]) {
        float weight;
        int second = at[0] == end[0] || (at[1] < end[1] && from[1]->column[at[1]] < from[0]->column[at[0]]);
        int32_t i = from[second]->column[at[second]];
        int to_valid = second;
        weight = from[second]->weight ? from[second]->weight[at[second]] : 1;
        at[second]++;
        if (model_user >= 0 && item[i] >= 0) {
            if (inmo_csr_has(&warm->model->train, model_user, item[i]))
                to_valid = 0;
            else if (inmo_csr_has(&warm->model->valid, model_user, item[i]))
                to_valid = 1;
        }
        if (warm->train.weight)
            ((float *)(to_valid ? warm->valid.weight : warm->train.weight))[to_valid ? *valid : *train] = weight;
        if (to_valid)
            ((int32_t *)warm->valid.column)[(*valid)++] = i;
        else
            ((int32_t *)warm->train.column)[(*train)++] = i;
    }
}

static enum inmo_status make_list(const struct inmo_dataset *data, int64_t count, struct inmo_csr *list,
                                  struct inmo_error *error)
{
    int weighted = data->train.weight || data->valid.weight;
    return inmo_csr_make(data->users.count, data->items.count, count, weighted, list) == 0
               ? INMO_OK
               : inmo_fail_memory(error, "a warm start");
}

static enum inmo_status follow_parts(struct inmo_warm *warm, const struct inmo_dataset *data, const char *path,
                                     const struct inmo_hooks *hooks, struct inmo_error *error)
{
    int32_t *user = NULL, *item = NULL;
    int64_t all = inmo_csr_count(&data->train) + inmo_csr_count(&data->valid), train = 0, valid = 0, in_test = 0,
            shared = 0;
    enum inmo_status status = match(&data->users, &warm->model->users, &user, error);
    if (!status)
        status = match(&data->items, &warm->model->items, &item, error);
    if (!status)
        status = make_list(data, all, &warm->train, error);
    if (!status)
        status = make_list(data, all, &warm->valid, error);
    if (status)
        goto done;
    in_test =
        count_trained(&data->test, warm->model, user, item) + count_trained(&data->later, warm->model, user, item);
    shared =
        count_trained(&data->train, warm->model, user, item) + count_trained(&data->valid, warm->model, user, item);
    if (in_test > 0) {
        status = inmo_fail(error, INMO_INPUT,
                           "`from`: %s was trained on %" PRId64 " of the %" PRId64
                           " test interactions of the data, so a test would measure what it has seen; split the "
                           "data as it was split (a split column keeps parts as they are), or without a test part",
                           path, in_test, inmo_csr_count(&data->test) + inmo_csr_count(&data->later));
        goto done;
    }
    if (shared == 0) {
        status = inmo_fail(error, INMO_INPUT,
                           "`from`: %s was trained on none of the data's interactions: give all days, not only the "
                           "new ones, with the same ids",
                           path);
        goto done;
    }
    if (2 * shared < inmo_csr_count(&warm->model->train))
        inmo_note(hooks, INMO_WARNING,
                  "the data has %" PRId64 " of the %" PRId64 " interactions that %s was trained on; the new model "
                  "will know only what is in the data, so give all days, not only the last",
                  shared, inmo_csr_count(&warm->model->train), path);
    for (int32_t u = 0; u < data->users.count; u++) {
        deal(warm, data, u, user[u], item, &train, &valid);
        ((int64_t *)warm->train.offset)[u + 1] = train;
        ((int64_t *)warm->valid.offset)[u + 1] = valid;
    }
    warm->data = *data;
    warm->data.train = warm->train;
    warm->data.valid = warm->valid;
    if (valid != inmo_csr_count(&data->valid))
        inmo_note(hooks, INMO_NOTE,
                  "what %s was trained on is not validated with: %" PRId64 " validation interactions instead of "
                  "%" PRId64,
                  path, valid, inmo_csr_count(&data->valid));
done:
    inmo_free(item);
    inmo_free(user);
    return status;
}

static enum inmo_status check_alike(const struct inmo_warm *warm, const char *path, struct inmo_error *error)
{
    uint64_t first = warm->fingerprint;
    inmo_ranks_broadcast(0, &first, sizeof first);
    return first == warm->fingerprint
               ? INMO_OK
               : inmo_fail(error, INMO_INPUT,
                           "all ranks must be alike: `from`: %s is not the model that rank 0 has", path);
}

enum inmo_status inmo_warm_open(const struct inmo_dataset *data, const struct inmo_train_options *options,
                                const struct inmo_hooks *hooks, struct inmo_warm *warm, struct inmo_error *error)
{
    enum inmo_status status;
    *warm = (struct inmo_warm){0};
    if (!options->from)
        return INMO_OK;
    status = inmo_model_load(options->from, &warm->model, error);
    if (!status)
        status = check(options->from, warm->model, options, error);
    if (!status)
        status = follow_parts(warm, data, options->from, hooks, error);
    if (status) {
        inmo_warm_close(warm);
        return status;
    }
    warm->epochs = options->from_epochs > 0 ? options->from_epochs : (options->epochs + SHARE - 1) / SHARE;
    /* Where the earlier run ended the rate was low; a high one would undo what it has learned. */
    warm->skipped = options->epochs > warm->epochs ? options->epochs - warm->epochs : 0;
    if (warm->model->parameter)
        warm->fingerprint =
            XXH3_64bits_withSeed(warm->model->parameter,
                                 (size_t)(warm->model->rows + warm->model->kind->provider->extra_rows) *
                                     (size_t)warm->model->dim * sizeof(float),
                                 (uint64_t)warm->epochs);
    for (size_t n = 0; n < warm->model->tensors; n++)
        warm->fingerprint =
            XXH3_64bits_withSeed(warm->model->tensor[n].data, (size_t)inmo_tensor_bytes(&warm->model->tensor[n]),
                                 warm->fingerprint + (uint64_t)warm->epochs);
    status = check_alike(warm, options->from, error);
    if (status)
        inmo_warm_close(warm);
    return status;
}

void inmo_warm_tell(const struct inmo_warm *warm, const struct inmo_hooks *hooks)
{
    inmo_note(hooks, INMO_NOTE,
              "warm start: %" PRId64 " rows of parameters are kept, %" PRId64
              " are new; %d epoch%s will be trained",
              warm->kept, warm->fresh, (int)warm->epochs, warm->epochs == 1 ? "" : "s");
}

/* ---- Parameters ---------------------------------------------------------------------------------------------- */

enum inmo_status inmo_warm_templates(const struct inmo_warm *warm, const struct inmo_graph *graph, uint8_t *kept,
                                     struct inmo_error *error)
{
    struct inmo_model_binding bound;
    enum inmo_status status =
        inmo_model_bind(warm->model, graph, &warm->data.users, &warm->data.items, &bound, error);
    if (status)
        return status;
    for (int32_t v = 0; v < graph->nodes; v++)
        kept[v] = bound.row_of_node[v] >= 0;
    inmo_model_unbind(&bound);
    return INMO_OK;
}

/* turn (dim, dim) = argmin Σ |s turn - t|² + ridge |turn|² over count rows s of start and t of trained: a spectral
 * start has its own axes, and training has moved the old rows away from theirs. */
static enum inmo_status fit_turn(int64_t count, int dim, const float *start, const float *trained, float *turn,
                                 struct inmo_error *error)
{
    size_t size = (size_t)dim * (size_t)dim;
    float *square = inmo_alloc(size, sizeof *square), *copy = inmo_alloc(size, sizeof *copy);
    float *product = inmo_alloc(size, sizeof *product), *column = inmo_alloc((size_t)dim, sizeof *column);
    double trace = 0;
    enum inmo_status status =
        square && copy && product && column ? INMO_OK : inmo_fail_memory(error, "a warm start");
    if (!status) {
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim, dim, (int)count, 1, start, dim, start, dim, 0,
                    square, dim);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim, dim, (int)count, 1, start, dim, trained, dim, 0,
                    product, dim);
        for (int j = 0; j < dim; j++)
            trace += square[(size_t)j * (size_t)dim + (size_t)j];
        for (int j = 0; j < dim; j++)
            square[(size_t)j * (size_t)dim + (size_t)j] += (float)(1e-3 * trace / dim + 1e-20);
    }
    for (int c = 0; c < dim && !status; c++) {
        memcpy(copy, square, size * sizeof *copy);
        for (int j = 0; j < dim; j++)
            column[j] = product[(size_t)j * (size_t)dim + (size_t)c];
        status = inmo_lapack_solve(dim, copy, column);
        if (status)
            status = inmo_fail(error, status, "a warm start: the rows of the earlier model are not finite");
        for (int j = 0; j < dim && !status; j++)
            turn[(size_t)j * (size_t)dim + (size_t)c] = column[j];
    }
    inmo_free(column);
    inmo_free(product);
    inmo_free(copy);
    inmo_free(square);
    return status;
}

/* The turn that takes the start's rows to those of the earlier model. theirs (rows of all ranks): its row for each,
 * or -1; all: the starting parameters. */
static enum inmo_status find_turn(const struct inmo_warm *warm, int dim, const float *all, const int32_t *theirs,
                                  float *turn, struct inmo_error *error)
{
    size_t wide = (size_t)dim;
    int64_t at = 0, rows = warm->kept + warm->fresh;
    float *start = inmo_alloc((size_t)warm->kept * wide, sizeof *start);
    float *trained = inmo_alloc((size_t)warm->kept * wide, sizeof *trained);
    enum inmo_status status = start && trained ? INMO_OK : inmo_fail_memory(error, "a warm start");
    for (int64_t r = 0; r < rows && !status; r++)
        if (theirs[r] >= 0) {
            memcpy(start + (size_t)at * wide, all + (size_t)r * wide, wide * sizeof *start);
            memcpy(trained + (size_t)at++ * wide, warm->model->parameter + (size_t)theirs[r] * wide,
                   wide * sizeof *trained);
        }
    if (!status)
        status = fit_turn(at, dim, start, trained, turn, error);
    inmo_free(trained);
    inmo_free(start);
    return status;
}

/* Turns the rows that the earlier model does not have. row: its row for each of the stepper's, or -1; theirs: for
 * each of all ranks'. Of several ranks the first has all rows for a moment and finds the turn. */
static enum inmo_status turn_fresh(const struct inmo_warm *warm, struct inmo_stepper *stepper, const int32_t *row,
                                   const int32_t *theirs, struct inmo_error *error)
{
    int dim = stepper->binding.dim, first = inmo_own_rank() == 0;
    size_t wide = (size_t)dim;
    float *turn = inmo_alloc(wide * wide, sizeof *turn), *turned = inmo_alloc(wide, sizeof *turned);
    float *all = stepper->cut && first ? inmo_alloc((size_t)inmo_cut_rows(stepper) * wide, sizeof *all) : NULL;
    enum inmo_status status =
        turn && turned && (all || !stepper->cut || !first) ? INMO_OK : inmo_fail_memory(error, "a warm start");
    if (!status && stepper->cut)
        inmo_cut_collect(stepper, stepper->parameter, all);
    if (!status && first)
        status = find_turn(warm, dim, all ? all : stepper->parameter, theirs, turn, error);
    if (!status)
        inmo_ranks_broadcast(0, turn, wide * wide * sizeof *turn);
    for (int32_t r = 0; r < stepper->binding.rows && !status; r++)
        if (row[r] < 0) {
            float *mine = stepper->parameter + (size_t)r * wide;
            cblas_sgemv(CblasRowMajor, CblasTrans, dim, dim, 1, turn, dim, mine, 1, 0, turned, 1);
            memcpy(mine, turned, wide * sizeof *mine);
        }
    inmo_free(all);
    inmo_free(turned);
    inmo_free(turn);
    return status;
}

enum inmo_status inmo_warm_copy(struct inmo_warm *warm, struct inmo_stepper *stepper, struct inmo_error *error)
{
    const struct inmo_model *model = warm->model;
    const struct inmo_provider *provider = model->kind->provider;
    const struct inmo_graph *whole = inmo_graph_whole(stepper->graph);
    const struct inmo_binding *all = stepper->cut ? &stepper->cut->whole : &stepper->binding;
    struct inmo_model_binding bound = {0};
    size_t dim = (size_t)stepper->binding.dim, rows = (size_t)stepper->binding.rows;
    int32_t *row = inmo_alloc(rows, sizeof *row), *theirs = inmo_alloc((size_t)all->rows, sizeof *theirs);
    enum inmo_status status =
        row && theirs ? inmo_model_bind(model, whole, &warm->data.users, &warm->data.items, &bound, error)
                      : inmo_fail_memory(error, "a warm start");
    if (status)
        goto done;
    warm->kept = 0;
    for (int32_t v = 0; v < whole->nodes; v++) { /* v: the data set's numbers, not training's */
        int32_t node = inmo_graph_place(whole, v), here = inmo_stepper_row(stepper, v);
        int32_t r = all->row_of_node ? all->row_of_node[node] : node;
        if (here >= 0)
            row[here] = bound.row_of_node[v];
        if (r >= 0) {
            theirs[r] = bound.row_of_node[v];
            warm->kept += theirs[r] >= 0;
        }
    }
    warm->fresh = all->rows - warm->kept;
    if (warm->fresh > 0 && strcmp(stepper->options->start, "spectral") == 0)
        status = turn_fresh(warm, stepper, row, theirs, error);
    if (status)
        goto done;
    for (size_t r = 0; r < rows; r++)
        if (row[r] >= 0)
            memcpy(stepper->parameter + r * dim, model->parameter + (size_t)row[r] * dim, dim * sizeof(float));
    /* what belongs to no node: t_user, t_item and w, the weights of provider, backbone and head */
    memcpy(stepper->parameter + rows * dim, model->parameter + (size_t)model->rows * dim,
           (size_t)provider->extra_rows * dim * sizeof(float));
    memcpy((float *)inmo_stepper_weights(stepper), model->own,
           (size_t)(stepper->parameter_rows - stepper->provider_rows) * dim * sizeof(float));
    inmo_share_release(stepper->graph, stepper->parameter, dim * sizeof(float), stepper->binding.row_of_node);
done:
    inmo_model_unbind(&bound);
    inmo_free(theirs);
    inmo_free(row);
    return status;
}
