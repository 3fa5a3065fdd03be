/* template.c - the six rules and the selection. O(E) each, plus one truncated SVD for the two that need it. */
#include "graph/template.h"

#include "base/memory.h"
#include "base/random.h"
#include "graph/stretch.h"
#include "graph/svd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SVD_ITERATIONS = 8, PAGE_RANK_ITERATIONS = 200 };

/* sum[v] = Σ_{w in N_v} value[w]. Each rank adds up the rows of its stretches. */
static void add_neighbours(const struct inmo_graph *graph, const double *value, double *sum)
{
    for (int side = 0; side < 2; side++) {
        int32_t first = side ? graph->users : 0, count = side ? graph->items : graph->users;
        int32_t end = inmo_stretch_first(count, inmo_own_rank() + 1);
        for (int32_t n = inmo_stretch_first(count, inmo_own_rank()); n < end; n++) {
            const int32_t *neighbour = inmo_graph_row(graph, first + n);
            int64_t degree = inmo_graph_degree(graph, first + n);
            sum[first + n] = 0;
            for (int64_t e = 0; e < degree; e++)
                sum[first + n] += value[neighbour[e]];
        }
        inmo_stretch_gather(sum + first, count, sizeof *sum);
    }
}

/* Multiplies score by Σ over neighbours of 1 / degree, or of degree. */
static enum inmo_status times_neighbours(const struct inmo_graph *graph, int inverse, double *score,
                                         struct inmo_error *error)
{
    size_t nodes = (size_t)graph->nodes;
    double *value = inmo_alloc(2 * nodes, sizeof *value);
    if (!value)
        return inmo_fail_memory(error, "the template scores");
    for (int32_t v = 0; v < graph->nodes; v++) {
        double degree = (double)inmo_graph_degree(graph, v);
        value[v] = inverse && degree > 0 ? 1 / degree : degree;
    }
    add_neighbours(graph, value, value + nodes);
    for (size_t v = 0; v < nodes; v++)
        score[v] *= value[nodes + v];
    inmo_free(value);
    return INMO_OK;
}

/* factor holds the singular vectors F of one side, (count, rank). Writes the squared norm of column v of F F',
 * which is ‖F_v‖² because F'F = 1, or of column v of D^-1 F F', which is F_v' M F_v with M = Σ_k F_k F_k' /
 * d_k². */
static void column_norms(const struct inmo_graph *graph, int32_t first, int32_t count, const float *factor,
                         int rank, double *m, double *norm)
{
    size_t width = (size_t)rank;
    if (m) {
        memset(m, 0, width * width * sizeof *m);
        for (int32_t n = 0; n < count; n++) {
            double degree = (double)inmo_graph_degree(graph, first + n),
                   share = degree > 0 ? 1 / (degree * degree) : 0;
            const float *f = factor + (size_t)n * width;
            for (size_t a = 0; a < width; a++)
                for (size_t b = 0; b < width; b++)
                    m[a * width + b] += share * f[a] * f[b];
        }
    }
    for (int32_t n = 0; n < count; n++) {
        const float *f = factor + (size_t)n * width;
        double sum = 0;
        for (size_t a = 0; a < width; a++) {
            double row = 0;
            for (size_t b = 0; m && b < width; b++)
                row += m[a * width + b] * f[b];
            sum += f[a] * (m ? row : f[a]);
        }
        norm[first + n] = sum;
    }
}

static enum inmo_status svd_scores(const struct inmo_graph *graph, int normalised, int rank, uint64_t seed,
                                   const struct inmo_hooks *hooks, double *score, struct inmo_error *error)
{
    struct inmo_svd *svd = NULL;
    double *m = NULL;
    enum inmo_status status = inmo_svd_compute(graph, rank, 0, SVD_ITERATIONS, seed, hooks, &svd, error);
    if (status)
        goto done;
    if (normalised) {
        m = inmo_alloc((size_t)svd->rank * (size_t)svd->rank, sizeof *m);
        if (!m) {
            status = inmo_fail_memory(error, "the template scores");
            goto done;
        }
    }
    column_norms(graph, 0, graph->users, svd->u, svd->rank, m, score);
    column_norms(graph, graph->users, graph->items, svd->v, svd->rank, m, score);
    status = times_neighbours(graph, normalised, score, error);
done:
    inmo_free(m);
    inmo_svd_free(svd);
    return status;
}

/* rank_v = 0.15 / n + 0.85 (Σ_{w in N_v} rank_w / d_w + share of the nodes without neighbours) */
static enum inmo_status page_rank(const struct inmo_graph *graph, const struct inmo_hooks *hooks, double *score,
                                  struct inmo_error *error)
{
    double *passed = inmo_alloc((size_t)graph->nodes, sizeof *passed), nodes = graph->nodes, change = 1;
    double *sum = inmo_alloc((size_t)graph->nodes, sizeof *sum);
    enum inmo_status status = passed && sum ? INMO_OK : inmo_fail_memory(error, "the page rank");
    for (int32_t v = 0; v < graph->nodes; v++)
        score[v] = 1 / nodes;
    for (int k = 0; !status && k < PAGE_RANK_ITERATIONS && change > 1e-12; k++) {
        double stranded = 0;
        if (inmo_is_interrupted(hooks)) {
            status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request during the page rank");
            break;
        }
        change = 0;
        for (int32_t v = 0; v < graph->nodes; v++) {
            int64_t degree = inmo_graph_degree(graph, v);
            passed[v] = degree > 0 ? score[v] / (double)degree : 0;
            stranded += degree > 0 ? 0 : score[v];
        }
        add_neighbours(graph, passed, sum);
        for (int32_t v = 0; v < graph->nodes; v++) {
            double next = 0.15 / nodes + 0.85 * (sum[v] + stranded / nodes);
            change += fabs(next - score[v]);
            score[v] = next;
        }
    }
    inmo_free(sum);
    inmo_free(passed);
    return status;
}

enum inmo_status inmo_template_scores(const struct inmo_graph *graph, const char *rule, int rank, uint64_t seed,
                                      const struct inmo_hooks *hooks, double *score, struct inmo_error *error)
{
    uint64_t key = inmo_key(seed, INMO_STREAM_TEMPLATE);
    if (strcmp(rule, "error-sort-svd") == 0)
        return svd_scores(graph, 0, rank, seed, hooks, score, error);
    if (strcmp(rule, "error-sort-svd-norm") == 0)
        return svd_scores(graph, 1, rank, seed, hooks, score, error);
    if (strcmp(rule, "page-rank") == 0)
        return page_rank(graph, hooks, score, error);
    for (int32_t v = 0; v < graph->nodes; v++)
        if (strcmp(rule, "degree") == 0)
            score[v] = (double)inmo_graph_degree(graph, v);
        else if (strcmp(rule, "random") == 0)
            score[v] = inmo_random_unit(inmo_random(key, (uint64_t)inmo_graph_origin(graph, v)));
        else
            score[v] = 1;
    return strcmp(rule, "error-sort") == 0 ? times_neighbours(graph, 1, score, error) : INMO_OK;
}

struct ranked {
    double score;
    int32_t node;
};

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Appends the highest scores of one side: a share, rounded down, of its nodes with interactions, but at least one.
 * Shares like 0.3 are a little below or above the decimal number that was meant, hence the 1e-9. */
static void choose_side(const struct inmo_graph *graph, const double *score, int32_t first, int32_t count,
                        double share, struct ranked *ranked, int32_t *node, int32_t *chosen)
{
    int32_t found = 0, wanted;
    for (int32_t v = first; v < first + count; v++)
        if (inmo_graph_degree(graph, v) > 0)
            ranked[found++] = (struct ranked){score[v], inmo_graph_origin(graph, v)};
    qsort(ranked, (size_t)found, sizeof *ranked, by_score);
    wanted = (int32_t)floor(share * found + 1e-9);
    wanted = wanted > 0 ? wanted : found > 0;
    for (int32_t n = 0; n < wanted; n++)
        node[*chosen + n] = inmo_graph_place(graph, ranked[n].node);
    inmo_ascending(node + *chosen, wanted);
    *chosen += wanted;
}

enum inmo_status inmo_template_choose(const struct inmo_graph *graph, const double *score, double user_share,
                                      double item_share, int32_t *node, int32_t *count, struct inmo_error *error)
{
    struct ranked *ranked = inmo_alloc((size_t)graph->nodes, sizeof *ranked);
    if (!ranked)
        return inmo_fail_memory(error, "choosing templates");
    *count = 0;
    choose_side(graph, score, 0, graph->users, user_share, ranked, node, count);
    choose_side(graph, score, graph->users, graph->items, item_share, ranked, node, count);
    inmo_free(ranked);
    return INMO_OK;
}
