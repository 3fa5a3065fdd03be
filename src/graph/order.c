/* order.c - see order.h. The same order at any number of threads. */
#include "graph/order.h"

#include "base/memory.h"
#include "base/threads.h"
#include "graph/svd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen by the misses of a 2 MB cache on Gowalla and yelp2018 (bench_order counts them) and the time of a product
 * on 10 M synthetic interactions. Fewer iterations give worse vectors and a worse order; more columns gain
 * nothing. */
enum { RANK = 8, SVD_ITERATIONS = 4, LEAF = 32, SAMPLE = 256 };

/* Singular vectors of one side. */
struct cloud {
    const float *x;  // (count, columns)
    int columns;
    int32_t first;  // node of row 0
};

static float coordinate(const struct cloud *cloud, int32_t node, int column)
{
    return cloud->x[(size_t)(node - cloud->first) * (size_t)cloud->columns + (size_t)column];
}

/* The column with the largest spread among these nodes. */
static int widest(const struct cloud *cloud, const int32_t *node, int32_t count)
{
    double most = -1;
    int found = 0;
    for (int j = 0; j < cloud->columns; j++) {
        double sum = 0, squares = 0, seen = 0;
        for (int32_t n = 0; n < count; n += count / SAMPLE + 1, seen++) {
            double value = coordinate(cloud, node[n], j);
            sum += value;
            squares += value * value;
        }
        if (squares - sum * sum / seen > most) {
            most = squares - sum * sum / seen;
            found = j;
        }
    }
    return found;
}

/* Partitions the nodes so that the first `middle` are not above the others in the column (quickselect). */
static void partition(const struct cloud *cloud, int column, int32_t *node, int32_t count, int32_t middle)
{
    int32_t low = 0, high = count - 1;
    while (low < high) {
        float a = coordinate(cloud, node[low], column), b = coordinate(cloud, node[low + (high - low) / 2], column);
        float c = coordinate(cloud, node[high], column);
        float pivot = fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
        int32_t i = low, j = high;
        while (i <= j) {
            while (coordinate(cloud, node[i], column) < pivot)
                i++;
            while (coordinate(cloud, node[j], column) > pivot)
                j--;
            if (i <= j) {
                int32_t kept = node[i];
                node[i++] = node[j];
                node[j--] = kept;
            }
        }
        if (middle <= j)
            high = j;
        else if (middle >= i)
            low = i;
        else
            return;
    }
}

static void split(const struct cloud *cloud, int32_t *node, int32_t count)
{
    if (count <= LEAF) {
        inmo_ascending(node, count);
        return;
    }
    partition(cloud, widest(cloud, node, count), node, count, count / 2);
    split(cloud, node, count / 2);
    split(cloud, node + count / 2, count - count / 2);
}

static void order_side(float *x, int columns, int32_t first, int32_t count, int32_t *node)
{
    struct cloud cloud = {x, columns, first};
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < count; n++) { /* normalise: activity says nothing about which nodes belong together */
        float *row = x + (size_t)n * (size_t)columns, squares = 0;
        for (int j = 0; j < columns; j++)
            squares += row[j] * row[j];
        for (int j = 0; j < columns && squares > 0; j++)
            row[j] /= sqrtf(squares);
    }
    split(&cloud, node + first, count);
}

static enum inmo_status order_community(const struct inmo_graph *graph, const struct inmo_hooks *hooks,
                                        int32_t *node, struct inmo_error *error)
{
    struct inmo_svd *svd = NULL;
    enum inmo_status status = inmo_svd_compute(graph, RANK, 1, SVD_ITERATIONS, 1, hooks, &svd, error);
    if (!status) {
        order_side(svd->u, svd->rank, 0, graph->users, node);
        order_side(svd->v, svd->rank, graph->users, graph->items, node);
    }
    inmo_svd_free(svd);
    return status == INMO_NUMERIC ? INMO_OK : status; /* without vectors the order stays as it is */
}

enum inmo_status inmo_order_find(const struct inmo_graph *graph, const char *order, const struct inmo_hooks *hooks,
                                 int32_t *node, struct inmo_error *error)
{
    for (int32_t v = 0; v < graph->nodes; v++)
        node[v] = v;
    return strcmp(order, "community") == 0 ? order_community(graph, hooks, node, error) : INMO_OK;
}

enum inmo_status inmo_graph_order(struct inmo_graph **graph, const char *order, const struct inmo_hooks *hooks,
                                  struct inmo_error *error)
{
    struct inmo_graph *ordered = NULL;
    int32_t *node;
    enum inmo_status status;
    if (strcmp(order, "none") == 0)
        return INMO_OK;
    node = inmo_alloc((size_t)(*graph)->nodes, sizeof *node);
    status = node ? inmo_order_find(*graph, order, hooks, node, error)
                  : inmo_fail_memory(error, "an order of the nodes");
    if (!status)
        status = inmo_graph_renumber(*graph, node, &ordered, error);
    inmo_free(node);
    if (status)
        return status;
    inmo_graph_free(*graph);
    *graph = ordered;
    return INMO_OK;
}

enum inmo_status inmo_order_rows(int32_t count, const int32_t *from, int width, float *rows,
                                 struct inmo_error *error)
{
    size_t size = (size_t)width * sizeof *rows;
    uint8_t *done = inmo_alloc_zero((size_t)count, 1);
    float *kept = inmo_alloc((size_t)width, sizeof *kept);
    enum inmo_status status = done && kept ? INMO_OK : inmo_fail_memory(error, "the order of the nodes");
    for (int32_t start = 0; !status && start < count; start++) {
        int32_t n = start;
        if (done[start])
            continue;
        memcpy(kept, rows + (size_t)start * (size_t)width, size);
        for (; from[n] != start; n = from[n]) { /* along the cycle */
            memcpy(rows + (size_t)n * (size_t)width, rows + (size_t)from[n] * (size_t)width, size);
            done[n] = 1;
        }
        memcpy(rows + (size_t)n * (size_t)width, kept, size);
        done[n] = 1;
    }
    inmo_free(kept);
    inmo_free(done);
    return status;
}

enum inmo_status inmo_order_restore(const struct inmo_graph *graph, int width, float *rows,
                                    struct inmo_error *error)
{
    return graph->origin ? inmo_order_rows(graph->nodes, graph->place, width, rows, error) : INMO_OK;
}
