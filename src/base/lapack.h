/* lapack.h - what is used of LAPACK, on row-major matrices. LAPACKE would turn them around in memory of its own,
 * print on standard output when it has none, and return a code that reads as "did not converge"; here memory is
 * ours, and short memory is MEMORY. The bytes are those LAPACKE gives: the same calls on the same transposed
 * copies. */
#ifndef INMO_BASE_LAPACK_H
#define INMO_BASE_LAPACK_H

#include "base/status.h"

#include <stddef.h>

/* The Cholesky factor of the symmetric a, in the triangle ('U' or 'L') it is given in. work: (n, n). NUMERIC when a
 * is not positive definite. */
enum inmo_status inmo_lapack_cholesky(char triangle, int n, float *a, int stride, float *work);
/* Solves a x = b for a symmetric positive definite a (n, n), of which the lower triangle is read; a is used up, b
 * becomes x. NUMERIC when a is not positive definite. */
enum inmo_status inmo_lapack_solve(int n, float *a, float *b);
/* The inverse of a triangular a. work: (n, n). NUMERIC when it is singular. */
enum inmo_status inmo_lapack_invert_triangle(char triangle, int n, float *a, int stride, float *work);
/* a (rows, columns) = q r by Householder reflections; a becomes q, r (columns, columns) is upper triangular. */
enum inmo_status inmo_lapack_qr(int rows, int columns, float *a, float *r);
/* a (n, n) = left diag(s) right', s descending; a is used up. */
enum inmo_status inmo_lapack_svd(int n, float *a, float *s, float *left, float *right);
/* Eigenvectors of the symmetric a (n, n), of which the upper triangle is read, in its columns; values ascending.
 * memory has inmo_lapack_eigenvectors_size bytes: this one is called in training steps, which allocate nothing. */
size_t inmo_lapack_eigenvectors_size(int n);
enum inmo_status inmo_lapack_eigenvectors(int n, float *a, float *value, void *memory);

#endif
