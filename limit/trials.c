/* trials.c - see trials.h. Every trial has two functions: one counts the minimum of bytes and flops from the data,
 * one runs the kernel. */
#include "limit/trials.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 64, ROW = DIM * 4, HALF_ROW = DIM * 2 };
enum { BATCH_NODES = 3 * 2048, USERS = 8192, NEGATIVES = 1024, RANKED = 1536 };
enum { EXPONENTIAL_FLOPS = 24 }; /* of the series in kernel/vector.c, with scaling and sum */
enum { ADAM_FLOPS = 13 };
#define DROPOUT 0.5

/* ---- Counting ------------------------------------------------------------------------------------------------ */

static int descending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x < y) - (x > y);
}

/* Counts gathered rows; row n of the table is read asked[n] times. An ideal cache keeps the most frequent rows in
 * L2; the others come from the level that holds the table. Sorts asked. */
static void count_rows(const struct inmo_trials *trials, struct inmo_trial *trial, enum inmo_traffic traffic,
                       int row_bytes, int32_t *asked, double share)
{
    size_t rows = (size_t)trials->graph->nodes, near = trials->machine->l2 / (size_t)row_bytes;
    enum inmo_level_of_memory level = inmo_machine_level(trials->machine, (double)rows * row_bytes);
    qsort(asked, rows, sizeof *asked, descending);
    for (size_t n = 0; n < rows && asked[n] > 0; n++)
        trial->moved[traffic][n < near ? INMO_LEVEL_L2 : level] += share * asked[n] * row_bytes;
}

/* Counts bytes that are streamed once, in a kernel that touches footprint bytes before it touches them again. */
static void count_stream(const struct inmo_trials *trials, struct inmo_trial *trial, enum inmo_traffic traffic,
                         double bytes, double footprint)
{
    trial->moved[traffic][inmo_machine_level(trials->machine, footprint)] += bytes;
}

double inmo_trial_limit(const struct inmo_trial *trial, const struct inmo_machine *machine, int *by_memory)
{
    int column = !trial->one_thread;
    double memory = 0, arithmetic = trial->flops / machine->flops[column];
    for (int traffic = 0; traffic < INMO_TRAFFICS; traffic++)
        for (int level = 0; level < INMO_LEVELS; level++)
            memory += trial->moved[traffic][level] / machine->rate[column][traffic][level];
    *by_memory = memory > arithmetic;
    return fmax(memory, arithmetic);
}

/* ---- Sparse products ----------------------------------------------------------------------------------------- */

static void count_product(const struct inmo_trials *trials, struct inmo_trial *trial, int half, int32_t *asked)
{
    const struct inmo_graph *graph = trials->graph;
    double row = half ? HALF_ROW : ROW, nodes = graph->nodes, ends = 2.0 * (double)graph->edges;
    double lists = 4 * ends + 12 * nodes, footprint = 2 * row * nodes + lists; /* neighbours; offsets and scales */
    for (int32_t v = 0; v < graph->nodes; v++)
        asked[v] = (int32_t)inmo_graph_degree(graph, v);
    count_rows(trials, trial, half ? INMO_ROWS_128 : INMO_ROWS_256, (int)row, asked, 1);
    count_stream(trials, trial, INMO_READ, lists, footprint);
    count_stream(trials, trial, INMO_UPDATE, row * nodes, footprint);
    trial->flops = DIM * (ends + nodes);
}

static struct inmo_gather product_job(const struct inmo_trials *trials)
{
    return (struct inmo_gather){.graph = trials->graph, .dim = DIM, .scale = trials->graph->inverse_degree};
}

static enum inmo_status run_product(struct inmo_trials *trials, struct inmo_error *error)
{
    struct inmo_gather job = product_job(trials);
    (void)error;
    job.x = trials->x;
    job.out = trials->out;
    inmo_gather(&job);
    return INMO_OK;
}

static enum inmo_status run_half_product(struct inmo_trials *trials, struct inmo_error *error)
{
    struct inmo_gather job = product_job(trials);
    (void)error;
    job.half = trials->half;
    job.half_out = trials->half_out;
    inmo_gather(&job);
    return INMO_OK;
}

static void count_batch_product(const struct inmo_trials *trials, struct inmo_trial *trial, int32_t *asked)
{
    const struct inmo_graph *graph = trials->graph;
    double terms = 0, rows = trials->node_count, lists, footprint;
    memset(asked, 0, (size_t)graph->nodes * sizeof *asked);
    for (int32_t n = 0; n < trials->node_count; n++)
        for (int64_t e = graph->offset[trials->node[n]]; e < graph->offset[trials->node[n] + 1]; e++, terms++)
            asked[graph->neighbour[e]]++;
    lists = 4 * terms + 24 * rows;
    footprint = (double)ROW * (graph->nodes + rows) + lists;
    count_rows(trials, trial, INMO_ROWS_256, ROW, asked, 1);
    count_stream(trials, trial, INMO_READ, lists, footprint);
    count_stream(trials, trial, INMO_UPDATE, ROW * rows, footprint);
    trial->flops = DIM * (terms + rows);
}

static enum inmo_status run_batch_product(struct inmo_trials *trials, struct inmo_error *error)
{
    struct inmo_gather job = product_job(trials);
    (void)error;
    job.x = trials->x;
    job.out = trials->out;
    job.node = trials->node;
    job.node_count = trials->node_count;
    inmo_gather(&job);
    return INMO_OK;
}

/* Neighbours are read and hashed whether or not they are dropped. All are templates, so none is looked up. */
static void count_embeddings(const struct inmo_trials *trials, struct inmo_trial *trial, int32_t *asked)
{
    const struct inmo_graph *graph = trials->graph;
    double nodes = graph->nodes, ends = 2.0 * (double)graph->edges, lists = 4 * ends + 12 * nodes;
    double footprint = 2.0 * ROW * nodes + lists;
    for (int32_t v = 0; v < graph->nodes; v++)
        asked[v] = (int32_t)inmo_graph_degree(graph, v);
    count_rows(trials, trial, INMO_ROWS_256, ROW, asked, 1 - DROPOUT);
    count_stream(trials, trial, INMO_READ, lists, footprint);
    count_stream(trials, trial, INMO_UPDATE, ROW * nodes, footprint);
    trial->flops = DIM * ((1 - DROPOUT) * (ends + nodes) + nodes);
}

static enum inmo_status run_embeddings(struct inmo_trials *trials, struct inmo_error *error)
{
    struct inmo_moment moment = {.alpha = 1, .dropout = DROPOUT, .seed = 1};
    (void)error;
    inmo_provider_inmo.begin(trials->provider, NULL, &moment);
    inmo_provider_inmo.forward(trials->provider, trials->x, NULL);
    return INMO_OK;
}

/* ---- Losses and Adam ----------------------------------------------------------------------------------------- */

/* Three products of users and negatives, with exponentials between them. Each positive is read for its score and
 * its gradient on the user, and each user of the batch for its gradient on the positive. */
static void count_listwise(const struct inmo_trials *trials, struct inmo_trial *trial, int32_t *asked)
{
    const struct inmo_graph *graph = trials->graph;
    const struct inmo_listwise *listwise = &trials->listwise;
    double terms = 0, scores = (double)listwise->count * listwise->negatives, lists, footprint;
    double rows = listwise->user_rows + graph->items; /* of r and its gradient */
    memset(asked, 0, (size_t)graph->nodes * sizeof *asked);
    for (int32_t n = 0; n < listwise->count; n++) {
        int32_t u = listwise->who[n];
        asked[u] += 1 + (int32_t)inmo_graph_degree(graph, u);
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++, terms++)
            asked[graph->neighbour[e]]++;
    }
    lists = 4 * (double)graph->edges + 20 * terms + 16.0 * graph->nodes;
    footprint = 2.0 * ROW * rows + lists;
    count_rows(trials, trial, INMO_ROWS_256, ROW, asked, 1);
    count_stream(trials, trial, INMO_READ, lists, footprint);
    count_stream(trials, trial, INMO_UPDATE, ROW * rows, footprint);
    trial->flops = 6 * scores * DIM + EXPONENTIAL_FLOPS * scores + 6 * terms * DIM;
}

static enum inmo_status run_listwise(struct inmo_trials *trials, struct inmo_error *error)
{
    (void)error;
    inmo_listwise_run(&trials->listwise, trials->x, trials->out);
    return INMO_OK;
}

static void count_softmax(const struct inmo_trials *trials, struct inmo_trial *trial, int32_t *asked)
{
    double scores = (double)trials->softmax.batch * trials->softmax.negatives;
    int32_t places = 2 * trials->softmax.batch + trials->softmax.negatives;
    memset(asked, 0, (size_t)trials->graph->nodes * sizeof *asked);
    for (int32_t n = 0; n < places; n++)
        asked[trials->index[n]]++;
    count_rows(trials, trial, INMO_ROWS_256, ROW, asked, 1);
    count_stream(trials, trial, INMO_UPDATE, (double)ROW * places, (double)ROW * places);
    trial->flops = 6 * scores * DIM + EXPONENTIAL_FLOPS * scores + 6.0 * trials->softmax.batch * DIM;
}

static enum inmo_status run_softmax(struct inmo_trials *trials, struct inmo_error *error)
{
    (void)error;
    inmo_softmax_run(&trials->softmax, trials->x, trials->index);
    return INMO_OK;
}

static void count_adam(const struct inmo_trials *trials, struct inmo_trial *trial)
{
    double bytes = (double)ROW * trials->graph->nodes;
    count_stream(trials, trial, INMO_READ, bytes, 4 * bytes);
    count_stream(trials, trial, INMO_UPDATE, 3 * bytes, 4 * bytes);
    trial->flops = (double)ADAM_FLOPS * DIM * trials->graph->nodes;
}

static enum inmo_status run_adam(struct inmo_trials *trials, struct inmo_error *error)
{
    (void)error;
    inmo_adam_rows(trials->graph->nodes, DIM, inmo_adam_at(1e-3, 1000), trials->gradient, trials->m, trials->v,
                   trials->out);
    return INMO_OK;
}

/* ---- Ranking ------------------------------------------------------------------------------------------------- */

static void count_rank(const struct inmo_trials *trials, struct inmo_trial *trial)
{
    double items = trials->graph->items, users = trials->who_count;
    count_stream(trials, trial, INMO_READ, ROW * (items + users), ROW * items);
    trial->flops = 2 * users * items * DIM;
}

static enum inmo_status run_rank(struct inmo_trials *trials, struct inmo_error *error)
{
    struct inmo_rank job = {.dim = DIM,
                            .user = trials->x,
                            .item = trials->x + (size_t)trials->graph->users * DIM,
                            .items = trials->graph->items,
                            .who = trials->who,
                            .count = trials->who_count,
                            .mask = {&trials->data->train, &trials->data->valid},
                            .k = trials->k,
                            .top_item = trials->top_item};
    return inmo_rank(&job, NULL, error);
}

static void count_scan(const struct inmo_trials *trials, struct inmo_trial *trial, double row)
{
    double items = trials->graph->items;
    count_stream(trials, trial, INMO_READ, row * items, row * items);
    trial->flops = 2 * items * DIM;
}

static enum inmo_status run_scan(struct inmo_trials *trials, struct inmo_error *error)
{
    struct inmo_top top = {trials->k, 0, trials->top_score, trials->top_item};
    (void)error;
    inmo_scan_top(trials->x + (size_t)trials->graph->users * DIM, trials->graph->items, DIM, trials->x, NULL, &top);
    return INMO_OK;
}

static enum inmo_status run_quantised(struct inmo_trials *trials, struct inmo_error *error)
{
    struct inmo_top top = {trials->k, 0, trials->top_score, trials->top_item};
    return inmo_quantised_top(trials->quantised, trials->x, NULL, &top, NULL, error);
}

/* ---- The list of trials -------------------------------------------------------------------------------------- */

void inmo_trials_free(struct inmo_trials *trials)
{
    inmo_quantised_free(trials->quantised);
    inmo_softmax_free(&trials->softmax);
    inmo_listwise_free(&trials->listwise);
    inmo_provider_inmo.destroy(trials->provider);
    inmo_free(trials->top_score);
    inmo_free(trials->top_item);
    inmo_free(trials->who);
    inmo_free(trials->index);
    inmo_free(trials->identity);
    inmo_free(trials->node);
    inmo_free(trials->half_out);
    inmo_free(trials->half);
    inmo_free(trials->gradient);
    inmo_free(trials->v);
    inmo_free(trials->m);
    inmo_free(trials->out);
    inmo_free(trials->x);
    inmo_graph_free(trials->graph);
    *trials = (struct inmo_trials){0};
}

static int32_t draw(uint64_t counter, int32_t below)
{
    return (int32_t)inmo_random_below(inmo_random(inmo_key(1, 101), counter), (uint32_t)below);
}

static enum inmo_status make_arrays(struct inmo_trials *trials, struct inmo_error *error)
{
    const struct inmo_graph *graph = trials->graph;
    size_t nodes = (size_t)graph->nodes, size = (nodes + 3) * DIM; /* the provider has 3 extra rows */
    trials->x = inmo_alloc(size, sizeof(float));
    trials->out = inmo_alloc_zero(size, sizeof(float));
    trials->m = inmo_alloc_zero(size, sizeof(float));
    trials->v = inmo_alloc_zero(size, sizeof(float));
    trials->gradient = inmo_alloc(size, sizeof(float));
    trials->half = inmo_alloc(size / 2, sizeof(uint32_t));
    trials->half_out = inmo_alloc_zero(size / 2, sizeof(uint32_t));
    trials->node = inmo_alloc(BATCH_NODES, sizeof(int32_t));
    trials->identity = inmo_alloc(nodes, sizeof(int32_t));
    trials->index = inmo_alloc(2 * USERS + NEGATIVES, sizeof(int32_t));
    trials->who = inmo_alloc(RANKED, sizeof(int32_t));
    trials->k = graph->items < 20 ? graph->items : 20;
    trials->top_item = inmo_alloc((size_t)RANKED * (size_t)trials->k, sizeof(int32_t));
    trials->top_score = inmo_alloc((size_t)trials->k, sizeof(float));
    if (!trials->x || !trials->out || !trials->m || !trials->v || !trials->gradient || !trials->half ||
        !trials->half_out || !trials->node || !trials->identity || !trials->index || !trials->who ||
        !trials->top_item || !trials->top_score)
        return inmo_fail_memory(error, "measuring");
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (size_t n = 0; n < size; n++) {
        trials->x[n] = 0.1f * (float)inmo_random_normal(inmo_key(1, 102), n);
        trials->gradient[n] = trials->x[n];
    }
    for (size_t v = 0; v < nodes; v++) {
        inmo_kernels()->to_half(DIM, 1, trials->x + v * DIM, trials->half + v * DIM / 2);
        trials->identity[v] = (int32_t)v;
    }
    for (int32_t n = 0; n < BATCH_NODES; n++)
        trials->node[n] = draw((uint64_t)n, graph->nodes);
    trials->node_count = (int32_t)inmo_ascending(trials->node, BATCH_NODES);
    for (int32_t n = 0; n < 2 * USERS + NEGATIVES; n++)
        trials->index[n] =
            n < USERS ? draw((uint64_t)n, graph->users) : graph->users + draw((uint64_t)n, graph->items);
    trials->who_count = graph->users < RANKED ? graph->users : RANKED;
    for (int32_t n = 0; n < trials->who_count; n++)
        trials->who[n] = (int32_t)((int64_t)n * graph->users / trials->who_count);
    return INMO_OK;
}

static struct inmo_trial *add(struct inmo_trials *trials, int *count, const char *name, int one_thread,
                              enum inmo_status (*run)(struct inmo_trials *, struct inmo_error *))
{
    struct inmo_trial *trial = &trials->trial[(*count)++];
    *trial = (struct inmo_trial){.name = name, .one_thread = one_thread, .run = run};
    return trial;
}

static void list_trials(struct inmo_trials *trials, int32_t *asked)
{
    const struct inmo_bytes *bytes = &trials->quantised->bytes;
    int count = 0;
    count_product(trials, add(trials, &count, "sparse product, float", 0, run_product), 0, asked);
    count_product(trials, add(trials, &count, "sparse product, half", 0, run_half_product), 1, asked);
    count_batch_product(trials, add(trials, &count, "sparse product, a batch's rows", 0, run_batch_product), asked);
    count_embeddings(trials, add(trials, &count, "INMO embeddings, dropout 0.5", 0, run_embeddings), asked);
    count_listwise(trials, add(trials, &count, "listwise loss and gradient", 0, run_listwise), asked);
    count_softmax(trials, add(trials, &count, "softmax loss and gradient", 0, run_softmax), asked);
    count_adam(trials, add(trials, &count, "Adam", 0, run_adam));
    count_rank(trials, add(trials, &count, "ranking of 1,536 users", 0, run_rank));
    count_scan(trials, add(trials, &count, "top 20, plain scan", 1, run_scan), ROW);
    count_scan(trials, add(trials, &count, "top 20, quantised", 1, run_quantised),
               INMO_BYTES_GROUP * bytes->groups + 3.0 * sizeof *bytes->scale);
}

enum inmo_status inmo_trials_make(const struct inmo_dataset *data, const struct inmo_machine *machine,
                                  struct inmo_trials *trials, struct inmo_error *error)
{
    const struct inmo_csr *lists[1] = {&data->train};
    int32_t *asked = NULL;
    enum inmo_status status;
    *trials = (struct inmo_trials){.machine = machine, .data = data};
    if (inmo_csr_count(&data->train) == 0)
        return inmo_fail(error, INMO_INPUT, "the data set has no training interactions to measure with");
    status = inmo_graph_build(data->users.count, data->items.count, lists, 1, &trials->graph, error);
    if (!status)
        status = make_arrays(trials, error);
    if (!status) {
        struct inmo_binding binding = {.graph = trials->graph,
                                       .dim = DIM,
                                       .rows = trials->graph->nodes,
                                       .row_of_node = trials->identity,
                                       .node_of_row = trials->identity,
                                       .user_rows = trials->graph->users};
        trials->provider = inmo_provider_inmo.create(&binding, 0, 0);
        asked = inmo_alloc((size_t)trials->graph->nodes, sizeof *asked);
        if (!trials->provider || !asked)
            status = inmo_fail_memory(error, "measuring");
    }
    if (!status)
        status = inmo_listwise_make(trials->graph, USERS, 12, 0, NEGATIVES, DIM, 0.1, 0, &trials->listwise, error);
    if (!status)
        status = inmo_softmax_make(USERS, NEGATIVES, DIM, &trials->softmax, error);
    if (!status)
        status = inmo_quantised_make(trials->x + (size_t)trials->graph->users * DIM, trials->graph->items, DIM,
                                     &trials->quantised, error);
    if (!status) {
        trials->softmax.temperature = 0.1;
        inmo_listwise_draw(&trials->listwise, 1, 0, NULL);
        list_trials(trials, asked);
    }
    inmo_free(asked);
    return status;
}
