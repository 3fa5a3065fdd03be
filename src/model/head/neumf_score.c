/* neumf_score.c - scores of all items for a few users at a time. The items' halves of the first layer are computed
 * once for all users. Then one tile of items at a time, which stays in cache: GMF is one product for all users,
 * with its output weights applied to the users' side; the second layer is one product per user. */
#include "model/head/neumf.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"

#include <cblas.h>

enum { TILE = 256 };

struct inmo_head_scores {
    struct inmo_neumf net;
    const float *item;  // (items, width)
    int32_t items;
    float *half;  // (items, d)
};

/* half = a W1half' (+ b1) */
void inmo_neumf_half(const struct inmo_neumf *net, int of_items, const float *rows, int32_t count, float *half)
{
    for (int32_t n = 0; n < count; n++)
        for (int j = 0; j < net->d; j++)
            half[(size_t)n * (size_t)net->d + (size_t)j] = of_items ? 0 : net->part[INMO_NEUMF_B1][j];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, net->d, net->h, 1, rows + net->d, net->width,
                net->part[INMO_NEUMF_W1] + (of_items ? net->h : 0), 2 * net->h, 1, half, net->d);
}

void inmo_neumf_close(struct inmo_head_scores *scores)
{
    if (!scores)
        return;
    inmo_free(scores->half);
    inmo_free(scores);
}

struct inmo_head_scores *inmo_neumf_open(int width, const float *own, const float *item, int32_t items)
{
    struct inmo_head_scores *scores = inmo_alloc_zero(1, sizeof *scores);
    if (!scores)
        return NULL;
    scores->net = inmo_neumf_of(width, own);
    scores->item = item;
    scores->items = items;
    scores->half = inmo_alloc((size_t)items * (size_t)scores->net.d, sizeof *scores->half);
    if (!scores->half) {
        inmo_neumf_close(scores);
        return NULL;
    }
    inmo_blas_hold(); /* parallel over tiles instead */
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t begin = 0; begin < items; begin += TILE)
        inmo_neumf_half(&scores->net, 1, item + (size_t)begin * (size_t)width,
                        items - begin < TILE ? items - begin : TILE,
                        scores->half + (size_t)begin * (size_t)scores->net.d);
    inmo_blas_release();
    return scores;
}

/* Users' halves, users' p times the output weights, and two layers of a tile. */
size_t inmo_neumf_scratch_bytes(int width)
{
    return 2 * (INMO_NEUMF_USERS + TILE) * (size_t)inmo_neumf_of(width, NULL).d * sizeof(float);
}

void inmo_neumf_score(const struct inmo_head_scores *scores, const float *user, int32_t count, void *scratch,
                      float *score)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const struct inmo_neumf *net = &scores->net;
    const float *b2 = net->part[INMO_NEUMF_B2], *gmf = net->part[INMO_NEUMF_GMF], *mlp = net->part[INMO_NEUMF_MLP];
    size_t d = (size_t)net->d, width = (size_t)net->width, items = (size_t)scores->items;
    float *half = scratch, *product = half + INMO_NEUMF_USERS * d;
    float *x1 = product + INMO_NEUMF_USERS * d, *x2 = x1 + TILE * d;
    inmo_neumf_half(net, 0, user, count, half);
    for (int32_t n = 0; n < count; n++)
        for (size_t j = 0; j < d; j++)
            product[(size_t)n * d + j] = gmf[j] * user[(size_t)n * width + j];
    for (int32_t begin = 0; begin < scores->items; begin += TILE) {
        int32_t tile = scores->items - begin < TILE ? scores->items - begin : TILE;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, tile, net->d, 1, product, net->d,
                    scores->item + (size_t)begin * width, net->width, 0, score + begin, scores->items);
        for (int32_t n = 0; n < count; n++) {
            kernels->leaky_sums(tile, net->d, inmo_neumf_slope, half + (size_t)n * d,
                                scores->half + (size_t)begin * d, NULL, x1);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, tile, net->d, net->d, 1, x1, net->d,
                        net->part[INMO_NEUMF_W2], net->d, 0, x2, net->d);
            kernels->leaky_dots(tile, net->d, inmo_neumf_slope, b2, mlp, x2,
                                score + (size_t)n * items + (size_t)begin);
        }
    }
}

static double leaky(double x)
{
    return x > 0 ? x : (double)inmo_neumf_slope * x;
}

double inmo_neumf_pair(int width, const float *own, const float *user, const float *item)
{
    struct inmo_neumf net = inmo_neumf_of(width, own);
    const int d = net.d, h = net.h;
    double sum = 0;
    for (int j = 0; j < d; j++)
        sum += (double)net.part[INMO_NEUMF_GMF][j] * user[j] * item[j];
    for (int j = 0; j < d; j++) {
        double x2 = net.part[INMO_NEUMF_B2][j];
        for (int k = 0; k < d; k++) {
            double x1 = net.part[INMO_NEUMF_B1][k];
            for (int m = 0; m < h; m++)
                x1 += (double)net.part[INMO_NEUMF_W1][k * 2 * h + m] * user[d + m] +
                      (double)net.part[INMO_NEUMF_W1][k * 2 * h + h + m] * item[d + m];
            x2 += net.part[INMO_NEUMF_W2][j * d + k] * leaky(x1);
        }
        sum += net.part[INMO_NEUMF_MLP][j] * leaky(x2);
    }
    return sum;
}
