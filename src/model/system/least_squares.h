/* least_squares.h - the half-steps of implicit alternating least squares: vectors of one side of the graph from
 * those of the other. For a node with neighbours H among rows y_1 .. y_n of the other side,
 *
 *     x = argmin Σ_{i in H} w_i (x·y_i - 1)² + α0 Σ_i (x·y_i)² + λ' ‖x‖²,    λ' = λ (Σ_H w_i + α0 n)^ν
 *       = (Y_H'W Y_H + α0 G + λ' I)^-1 Y_H' W 1,    G = Y'Y,   W = diag(w), 1 without weights
 *
 * Y is first rotated into the eigenvectors of G, which changes no dot product; then α0 G + λ' I = D is diagonal,
 * and with Z = W^1/2 Y_H D^-1/2, s = W^1/2 1
 *
 *     x = D^-1/2 Z' (I + Z Z')^-1 s     |H| x |H|, when the history is shorter than the vector
 *       = D^-1/2 (I + Z'Z)^-1 Z' s      d x d, else
 *
 * both exact, by Cholesky. Most histories are short, so this saves most of the d³ of the direct formula. */
#ifndef INMO_MODEL_SYSTEM_LEAST_SQUARES_H
#define INMO_MODEL_SYSTEM_LEAST_SQUARES_H

#include "base/status.h"

#include <stdint.h>

/* α0, λ, ν, as in the model file. */
struct inmo_ials_setting {
    float unobserved, l2, exponent;
};

/* One side, prepared for solving the other. */
struct inmo_least_squares {
    struct inmo_ials_setting setting;
    int dim;
    int64_t count;
    float *row;         // (count, dim) rotated; borrowed
    float *eigenvalue;  // (dim) of G
    float *rotation;    // (dim, dim) columns are the eigenvectors
    float *scratch;     // what rotating takes
    void *work;         // what LAPACK takes
};

enum inmo_status inmo_least_squares_make(int dim, const struct inmo_ials_setting *setting,
                                         struct inmo_least_squares *squares, struct inmo_error *error);
void inmo_least_squares_free(struct inmo_least_squares *squares);
/* Rotates the rows in place. Errors: NUMERIC. */
enum inmo_status inmo_least_squares_turn(struct inmo_least_squares *squares, float *row, int64_t count,
                                         struct inmo_error *error);

/* Scratch of one thread. */
struct inmo_solver;
struct inmo_solver *inmo_solver_new(int dim);
void inmo_solver_free(struct inmo_solver *solver);
/* A node's neighbours: rows row_of[node[0] - first], ... (row_of NULL: the row itself; negative: skipped). */
struct inmo_neighbours {
    const int32_t *node, *row_of;
    int64_t count;
    int32_t first;
    const float *weight;  // (count) w; NULL: 1
};
/* x (dim) of such a node. Returns the minimum of the sum above, without α0's part over other nodes; NaN: failed. */
double inmo_solve(const struct inmo_least_squares *squares, struct inmo_solver *solver,
                  const struct inmo_neighbours *of, float *x);
/* x as a sum: term (count, dim), term_j = (...)^-1 w_j y_j, zero if there is no row. */
enum inmo_status inmo_solve_terms(const struct inmo_least_squares *squares, const struct inmo_neighbours *of,
                                  float *term, struct inmo_error *error);

#endif
