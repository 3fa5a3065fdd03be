/* conjugate.c - see conjugate.h. The preconditioner is the diagonal. */
#include "kernel/conjugate.h"

#include "kernel/kernel.h"

enum { MORE_PRODUCTS = 50 };
static const float TOLERANCE = 1e-5F;

/* q = (a + diag(diagonal)) p, with p as long as a row of a */
static void multiply(int n, const float *a, const float *diagonal, const float *p, float *q)
{
    inmo_kernels()->dot_rows(n, inmo_conjugate_stride(n), p, a, q);
    for (int j = 0; j < n; j++)
        q[j] += diagonal[j] * p[j];
}

int inmo_conjugate_solve(int n, const float *a, const float *diagonal, const float *b, float *x, float *work)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int stride = inmo_conjugate_stride(n), products = 1;
    float *residual = work, *scaled = residual + stride, *direction = scaled + stride;
    float *product = direction + stride, enough, error;
    for (int j = 0; j < n; j++)
        scaled[j] = b[j] / diagonal[j];
    enough = TOLERANCE * TOLERANCE * kernels->dot(n, b, scaled);
    for (int j = 0; j < stride; j++)
        direction[j] = j < n ? x[j] : 0;
    multiply(n, a, diagonal, direction, product);
    for (int j = 0; j < n; j++) {
        residual[j] = b[j] - product[j];
        direction[j] = scaled[j] = residual[j] / diagonal[j];
    }
    error = kernels->dot(n, residual, scaled);
    while (error > enough) {
        float step, curvature, before = error, turn;
        if (products == n + MORE_PRODUCTS)
            return -1;
        multiply(n, a, diagonal, direction, product);
        products++;
        curvature = kernels->dot(n, direction, product);
        if (!(curvature > 0))
            return -1;
        step = error / curvature;
        for (int j = 0; j < n; j++) {
            x[j] += step * direction[j];
            residual[j] -= step * product[j];
            scaled[j] = residual[j] / diagonal[j];
        }
        error = kernels->dot(n, residual, scaled);
        turn = error / before;
        for (int j = 0; j < n; j++)
            direction[j] = scaled[j] + turn * direction[j];
    }
    return error >= 0 ? products : -1; /* not a number */
}
