/* lazy.c - see lazy.h. */
#include "train/lazy.h"

#include "base/memory.h"
#include "base/threads.h"

#include <math.h>
#include <string.h>

enum { RING = INMO_LAZY_RING, WINDOW = INMO_LAZY_WINDOW, EARLY = INMO_LAZY_EARLY };
enum { CHUNK = INMO_LAZY_CHUNK };

void inmo_lazy_free(struct inmo_lazy *lazy)
{
    inmo_free(lazy->decay_root);
    inmo_free(lazy->decay_m);
    inmo_free(lazy->early);
    inmo_free(lazy->start);
    inmo_free(lazy->moment);
    inmo_free(lazy->pause);
    inmo_free(lazy->rate);
    inmo_free(lazy->touched);
    inmo_free(lazy->current);
    *lazy = (struct inmo_lazy){0};
}

enum inmo_status inmo_lazy_make(const struct inmo_block *block, int32_t most, struct inmo_lazy *out,
                                struct inmo_error *error)
{
    struct inmo_lazy lazy = {.block = *block};
    lazy.current = inmo_alloc((size_t)most * (size_t)block->dim, sizeof *lazy.current);
    lazy.touched = inmo_alloc_zero((size_t)block->rows, sizeof *lazy.touched);
    lazy.rate = inmo_alloc_zero(RING, sizeof *lazy.rate);
    lazy.pause = inmo_alloc_zero(RING, sizeof *lazy.pause);
    lazy.moment = inmo_alloc_zero(4 * WINDOW, sizeof *lazy.moment);
    lazy.start = inmo_alloc(WINDOW, sizeof *lazy.start);
    lazy.early = inmo_alloc(EARLY + WINDOW, sizeof *lazy.early);
    lazy.decay_m = inmo_alloc(RING, sizeof *lazy.decay_m);
    lazy.decay_root = inmo_alloc(RING, sizeof *lazy.decay_root);
    if (!lazy.current || !lazy.touched || !lazy.rate || !lazy.pause || !lazy.moment || !lazy.start || !lazy.early ||
        !lazy.decay_m || !lazy.decay_root) {
        inmo_lazy_free(&lazy);
        return inmo_fail_memory(error, "the optimiser");
    }
    for (int k = 0; k < RING; k++) {
        double left = pow(0.9, k);
        lazy.decay_m[k] = left < 1e-30 ? 0 : (float)left; /* negligible; avoids subnormal numbers */
        lazy.decay_root[k] = (float)pow(0.999, 0.5 * k);
    }
    inmo_lazy_reset(&lazy);
    *out = lazy;
    return INMO_OK;
}

void inmo_lazy_reset(struct inmo_lazy *lazy)
{
    lazy->now = 0;
    memset(lazy->touched, 0, (size_t)lazy->block.rows * sizeof *lazy->touched);
    memset(lazy->rate, 0, RING * sizeof *lazy->rate);
    memset(lazy->pause, 0, RING * sizeof *lazy->pause);
    memset(lazy->moment, 0, 4 * WINDOW * sizeof *lazy->moment);
    for (int k = 0; k < WINDOW; k++)
        lazy->start[k] = 1;
}

/* Records update t, which adds one term to what every row has missed that was last updated at t0 = t - k:
 *
 *     weight 0.9^k η_t/(1 - 0.9^t),  at a root of v that is 0.999^(k/2) √v · root_bias(t) = √v · start (1 - h)
 *
 * moment holds Σ weight h^0 .. Σ weight h^3; pause holds the mean of the roots and the moments about it. */
static void remember(struct inmo_lazy *lazy, int64_t t, double learning_rate)
{
    double *sum = lazy->moment, *start = lazy->start;
    double rate = learning_rate / (1 - pow(0.9, (double)t)), bias = 1 / sqrt(1 - pow(0.999, (double)t));
    double left = 1, root = bias;
    lazy->rate[t % RING] = learning_rate;
    if (t < EARLY + WINDOW)
        lazy->early[t] = inmo_adam_at(learning_rate, t);
    for (int64_t t0 = t - 1; t0 > 0 && t0 >= t - WINDOW; t0--) {
        int64_t at = t0 % WINDOW;
        double h, weight, mean, scale, second, third;
        left *= 0.9;
        root *= 0.99949987493746093; /* √0.999 */
        h = 1 - root / start[at];
        weight = rate * left;
        sum[at] += weight;
        sum[WINDOW + at] += weight * h;
        sum[2 * WINDOW + at] += weight * h * h;
        sum[3 * WINDOW + at] += weight * h * h * h;
        scale = 1 / (sum[at] + 1e-300); /* 1e-300: the sum is 0 if all learning rates were */
        mean = sum[WINDOW + at] * scale;
        second = sum[2 * WINDOW + at] * scale;
        third = sum[3 * WINDOW + at] * scale;
        third -= mean * (3 * second - 2 * mean * mean);
        second -= mean * mean;
        scale = 1 / (1 - mean);
        lazy->pause[t0 % RING] = (struct inmo_pause){
            .weight = (float)sum[at],
            .centre = (float)(start[at] * (1 - mean)),
            .second = (float)(second * scale * scale),
            .third = (float)(third * scale * scale * scale),
        };
    }
    /* Start the sums for rows last updated at t. */
    start[t % WINDOW] = bias;
    for (int part = 0; part < 4; part++)
        sum[part * WINDOW + t % WINDOW] = 0;
    lazy->pause[t % RING] = (struct inmo_pause){.centre = (float)bias};
    lazy->now = t;
}

void inmo_lazy_restore(struct inmo_lazy *lazy, int64_t updates)
{
    for (int64_t t = updates > RING - 1 ? updates - (RING - 1) : 1; t <= updates; t++)
        remember(lazy, t, lazy->rate[t % RING]);
    lazy->now = updates;
}

/* What the row has missed up to now. */
static struct inmo_pause pause_of(const struct inmo_lazy *lazy, int32_t row)
{
    int64_t t0 = lazy->touched[row], missed = lazy->now - t0;
    struct inmo_pause pause = {.centre = 1, .decay_m = 1, .decay_root = 1};
    if (t0 == 0 || missed == 0)
        return pause;
    if (t0 >= EARLY)
        pause = lazy->pause[t0 % RING];
    pause.decay_m = lazy->decay_m[missed];
    pause.decay_root = lazy->decay_root[missed];
    return pause;
}

/* Catches up step by step, on a copy of the moments, while it is too early for the closed form. */
static void catch_up_early(const struct inmo_lazy *lazy, const struct inmo_kernels *kernels, int32_t row,
                           float *parameter)
{
    static const float none[CHUNK];
    const struct inmo_block *block = &lazy->block;
    int64_t t0 = lazy->touched[row], end = lazy->now < t0 + WINDOW ? lazy->now : t0 + WINDOW;
    if (t0 == 0 || t0 >= EARLY)
        return;
    for (int j = 0; j < block->dim; j += CHUNK) {
        float m[CHUNK], root[CHUNK];
        int64_t here = block->dim - j < CHUNK ? block->dim - j : CHUNK, at = (int64_t)row * block->dim + j;
        memcpy(m, block->m + at, (size_t)here * sizeof *m);
        memcpy(root, block->root + at, (size_t)here * sizeof *root);
        for (int64_t t = t0 + 1; t <= end; t++)
            kernels->adam(here, lazy->early[t], none, m, root, parameter + j);
    }
}

void inmo_lazy_read_chunk(struct inmo_lazy *lazy, const struct inmo_rows *rows, int32_t first, int32_t count,
                          struct inmo_chunk next)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const int32_t *row = rows->node + first;
    int64_t dim = lazy->block.dim;
    struct inmo_pause pause[CHUNK];
    for (int32_t n = 0; n < count; n++)
        pause[n] = pause_of(lazy, row[n]);
    kernels->adam_read(count, &lazy->block, row, pause, next, lazy->current + first * dim);
    for (int32_t n = 0; lazy->now < EARLY + RING && n < count; n++)
        catch_up_early(lazy, kernels, row[n], lazy->current + (first + n) * dim);
}

/* The chunk that starts at row first. */
static struct inmo_chunk chunk_at(const struct inmo_rows *rows, int64_t first)
{
    int64_t left = rows->count - first;
    return (struct inmo_chunk){(int32_t)(left < 0       ? 0
                                         : left < CHUNK ? left
                                                        : CHUNK),
                               rows->node + (left < 0 ? 0 : first)};
}

const float *inmo_lazy_read(struct inmo_lazy *lazy, const struct inmo_rows *rows)
{
    int threads = inmo_threads();
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int32_t first = 0; first < rows->count; first += CHUNK)
        inmo_lazy_read_chunk(lazy, rows, first, chunk_at(rows, first).count,
                             chunk_at(rows, first + (int64_t)threads * CHUNK));
    return lazy->current;
}

void inmo_lazy_catch_up(struct inmo_lazy *lazy)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int64_t dim = lazy->block.dim;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int64_t first = 0; first < lazy->block.rows; first += CHUNK) {
        int64_t end = first + CHUNK < lazy->block.rows ? first + CHUNK : lazy->block.rows;
        int32_t late[CHUNK], found = 0;
        struct inmo_pause pause[CHUNK];
        for (int64_t r = first; r < end; r++)
            if (lazy->touched[r] > 0 && lazy->touched[r] < lazy->now) {
                catch_up_early(lazy, kernels, (int32_t)r, lazy->block.parameter + r * dim);
                pause[found] = pause_of(lazy, (int32_t)r);
                late[found++] = (int32_t)r;
                lazy->touched[r] = (int32_t)lazy->now;
            }
        kernels->adam_catch_up(found, &lazy->block, late, pause);
    }
}

/* The pauses of rows that are about to be written. */
static void pauses_of(struct inmo_lazy *lazy, const int32_t *row, int32_t count, struct inmo_pause *pause)
{
    for (int32_t n = 0; n < count; n++) {
        pause[n] = pause_of(lazy, row[n]);
        lazy->touched[row[n]] = (int32_t)(lazy->now + 1);
    }
}

void inmo_lazy_write_sums(struct inmo_lazy *lazy, struct inmo_adam adam, const struct inmo_rows *rows,
                          int32_t first, int32_t count, struct inmo_chunk next, const struct inmo_terms *gradient)
{
    struct inmo_pause pause[CHUNK];
    pauses_of(lazy, rows->node + first, count, pause);
    inmo_kernels()->adam_write_sums(count, &lazy->block, rows->node + first, pause, next, adam,
                                    lazy->current + (int64_t)first * lazy->block.dim, gradient);
}

void inmo_lazy_write_sums_from(struct inmo_lazy *lazy, struct inmo_adam adam, const int32_t *row, int32_t count,
                               const float *from, const struct inmo_terms *gradient)
{
    struct inmo_pause pause[CHUNK];
    pauses_of(lazy, row, count, pause);
    inmo_kernels()->adam_write_sums(count, &lazy->block, row, pause, (struct inmo_chunk){0}, adam, from, gradient);
}

void inmo_lazy_written(struct inmo_lazy *lazy, double learning_rate)
{
    remember(lazy, lazy->now + 1, learning_rate);
    if (lazy->now % (RING / 2) == 0) /* no row may fall a whole ring behind */
        inmo_lazy_catch_up(lazy);
}

void inmo_lazy_write(struct inmo_lazy *lazy, double learning_rate, const struct inmo_rows *rows,
                     const float *gradient)
{
    struct inmo_adam adam = inmo_adam_at(learning_rate, lazy->now + 1);
    int threads = inmo_threads();
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int32_t first = 0; first < rows->count; first += CHUNK) {
        struct inmo_chunk here = chunk_at(rows, first), next = chunk_at(rows, first + (int64_t)threads * CHUNK);
        int64_t at = (int64_t)first * lazy->block.dim;
        struct inmo_pause pause[CHUNK];
        pauses_of(lazy, here.row, here.count, pause);
        inmo_kernels()->adam_write(here.count, &lazy->block, here.row, pause, next, adam, lazy->current + at,
                                   gradient + at);
    }
    inmo_lazy_written(lazy, learning_rate);
}
