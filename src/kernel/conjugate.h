/* conjugate.h - a small symmetric positive definite system, solved by conjugate gradients.
 *
 * A regression whose ridge is not small beside the diagonal has all but a few of its eigenvalues close together, so
 * a dozen products with the matrix are as good as its factors, at a fraction of the time. Sums are the kernels', so
 * the bytes are the same on every machine, which LAPACK's are not. */
#ifndef INMO_KERNEL_CONJUGATE_H
#define INMO_KERNEL_CONJUGATE_H

/* Rows of a matrix of n columns begin so many floats apart: whole vectors. */
static inline int inmo_conjugate_stride(int n)
{
    return (n + 15) / 16 * 16;
}
/* Solves (a + diag(diagonal)) x = b. a (n, stride): symmetric, both triangles, row-major, 0 after column n; x:
 * where to start, and the solution, with a residual of at most 1e-5 of that of x = 0 (norms weighed by 1 /
 * diagonal); work: (4 stride). Returns the number of products, or -1: the matrix is not positive definite, or n
 * products and more were not enough. */
int inmo_conjugate_solve(int n, const float *a, const float *diagonal, const float *b, float *x, float *work);

#endif
