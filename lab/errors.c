/* errors.c - the error term of Theorem 2, measured. With the rank-d SVD Y ~ U S V^T and L the diagonal matrix of
 * the users that are not templates,
 *
 *     |U U^T L Y|^2 = |U^T L Y|^2 = sum over items i of |sum over users u in N_i that are not templates of U_u|^2
 *
 * because the columns of U are orthonormal; for items the same with V. So one pass gives the whole curve: visit the
 * users in the order in which a rule drops them, and add each one's row of U to its items. Cost: edges times d. */
#include "base/memory.h"
#include "graph/svd.h"
#include "graph/template.h"
#include "lab/lab.h"

#include <stdlib.h>

enum { SVD_ITERATIONS = 6 };

struct ranked {
    double score;
    int32_t node;
};

/* The order in which a rule drops templates: lowest score first; of equal ones the larger number, as in
 * inmo_template_choose. */
static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return (x->node < y->node) - (x->node > y->node);
}

static double squared_norm(const double *sum, size_t count)
{
    double total = 0;
    for (size_t n = 0; n < count; n++)
        total += sum[n] * sum[n];
    return total;
}

enum inmo_status inmo_lab_error_curve(const struct inmo_graph *graph, int rank, const char *rule, int of_items,
                                      double share[INMO_LAB_POINTS], double value[INMO_LAB_POINTS],
                                      struct inmo_error *error)
{
    int32_t first = of_items ? graph->users : 0, count = of_items ? graph->items : graph->users;
    int32_t other_first = of_items ? 0 : graph->users, other = graph->nodes - count;
    struct inmo_svd *svd = NULL;
    double *score = inmo_alloc((size_t)graph->nodes, sizeof *score), *sum = NULL;
    struct ranked *order = inmo_alloc((size_t)count, sizeof *order);
    enum inmo_status status = score && order ? INMO_OK : inmo_fail_memory(error, "the error term");
    int32_t done = 0;
    if (!status)
        status = inmo_svd_compute(graph, rank, 0, SVD_ITERATIONS, 1, NULL, &svd, error);
    if (!status)
        status = inmo_template_scores(graph, rule, rank, 1, NULL, score, error);
    if (!status) {
        sum = inmo_alloc_zero((size_t)other * (size_t)svd->rank, sizeof *sum);
        if (!sum)
            status = inmo_fail_memory(error, "the error term");
    }
    if (status)
        goto done;
    for (int32_t n = 0; n < count; n++)
        order[n] = (struct ranked){score[first + n], n};
    qsort(order, (size_t)count, sizeof *order, by_score);
    for (int point = 0; point < INMO_LAB_POINTS; point++) {
        int32_t until = (int32_t)((int64_t)count * point / (INMO_LAB_POINTS - 1));
        for (; done < until; done++) {
            const float *vector = (of_items ? svd->v : svd->u) + (size_t)order[done].node * (size_t)svd->rank;
            int32_t node = first + order[done].node;
            for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++) {
                double *row = sum + (size_t)(graph->neighbour[e] - other_first) * (size_t)svd->rank;
                for (int k = 0; k < svd->rank; k++)
                    row[k] += vector[k];
            }
        }
        share[point] = (double)point / (INMO_LAB_POINTS - 1);
        value[point] = squared_norm(sum, (size_t)other * (size_t)svd->rank);
    }
    for (int point = 0; point < INMO_LAB_POINTS; point++)
        value[point] /= value[INMO_LAB_POINTS - 1];
done:
    inmo_free(sum);
    inmo_svd_free(svd);
    inmo_free(order);
    inmo_free(score);
    return status;
}
