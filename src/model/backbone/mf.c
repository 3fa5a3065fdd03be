/* mf.c - matrix factorization: r = e, with nothing to compute or store. */
#include "base/memory.h"
#include "model/seam.h"

#include <string.h>

struct inmo_backbone_state {
    int unused;
};

static struct inmo_backbone_state *mf_create(const struct inmo_graph *graph, int dim, int layers, int32_t most_rows,
                                             int half)
{
    (void)half;
    (void)graph;
    (void)dim;
    (void)layers;
    (void)most_rows;
    return inmo_alloc_zero(1, sizeof(struct inmo_backbone_state));
}

static void mf_destroy(struct inmo_backbone_state *state)
{
    inmo_free(state);
}

static float *mf_forward(struct inmo_backbone_state *state, const float *e, const struct inmo_rows *rows)
{
    (void)state;
    (void)rows;
    return (float *)e; /* allowed by seam.h: a caller that changes r checks whether it is e */
}

static float *mf_backward(struct inmo_backbone_state *state, const struct inmo_rows *rows, float *dr)
{
    (void)state;
    (void)rows;
    return dr;
}

static int mf_represent(const struct inmo_graph *graph, int dim, int layers, const float *own, const float *e,
                        float *r, float *memory)
{
    (void)layers;
    (void)own;
    (void)memory;
    memcpy(r, e, (size_t)graph->nodes * (size_t)dim * sizeof *r);
    return 0;
}

static void mf_fold(const struct inmo_fold *fold, float *r)
{
    memcpy(r, fold->e, (size_t)fold->dim * sizeof *r);
}

const struct inmo_backbone inmo_backbone_mf = {
    .name = "mf",
    .needs_all = 0,
    .passes_through = 1,
    .weights = 1,
    .affine = 1,
    .create = mf_create,
    .destroy = mf_destroy,
    .forward = mf_forward,
    .backward = mf_backward,
    .represent = mf_represent,
    .fold = mf_fold,
};
