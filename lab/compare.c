/* compare.c - see compare.h. Every resample draws as many users as there are, by the random stream of its number:
 * the same at any number of threads. */
#include "lab/compare.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "lab/significance.h"

#include <math.h>
#include <stdlib.h>

enum { RESAMPLES = 2000 };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum inmo_status resample(const float *user_score, int64_t users, struct inmo_compare_score *score,
                                 struct inmo_error *error)
{
    double *kept = inmo_alloc((size_t)users, sizeof *kept), *mean = inmo_alloc(RESAMPLES, sizeof *mean), sum = 0;
    int64_t count = 0;
    enum inmo_status status = kept && mean ? INMO_OK : inmo_fail_memory(error, "comparing");
    for (int64_t u = 0; !status && u < users; u++)
        if (isfinite(user_score[u])) {
            kept[count++] = user_score[u];
            sum += user_score[u];
        }
    if (!status) {
        *score = (struct inmo_compare_score){count, count ? sum / (double)count : NAN, NAN, NAN, 0, 1};
        if (count > 0) {
#pragma omp parallel for num_threads(inmo_threads())
            for (int draw = 0; draw < RESAMPLES; draw++) {
                uint64_t key = inmo_key((uint64_t)draw, INMO_STREAM_RESAMPLE);
                double total = 0;
                for (int64_t n = 0; n < count; n++)
                    total += kept[inmo_random_below(inmo_random(key, (uint64_t)n), (uint32_t)count)];
                mean[draw] = total / (double)count;
            }
            qsort(mean, RESAMPLES, sizeof *mean, by_size);
            score->low = mean[RESAMPLES / 40 - 1];
            score->high = mean[RESAMPLES - RESAMPLES / 40];
        }
    }
    inmo_free(mean);
    inmo_free(kept);
    return status;
}

/* Holm: the smallest p counts times the number of tests, the next times one less, and none less than one before. */
static void adjust(struct inmo_compare_score *score, size_t systems, size_t reference)
{
    double before = 0, least = 0;
    for (size_t left = systems - 1; left > 0; left--) {
        size_t next = systems;
        for (size_t s = 0; s < systems; s++) /* those adjusted already are marked by a p of 2 or more */
            if (s != reference && score[s].p <= 1 && (next == systems || score[s].p < score[next].p))
                next = s;
        if (next == systems)
            break;
        least = fmin(1, (double)left * score[next].p);
        before = fmax(before, least);
        score[next].p = 2 + before;
    }
    for (size_t s = 0; s < systems; s++)
        if (score[s].p >= 2)
            score[s].p -= 2;
}

enum inmo_status inmo_compare_scores(const float *const *user_score, size_t systems, int64_t users,
                                     size_t reference, struct inmo_compare_score *score, struct inmo_error *error)
{
    double *difference = inmo_alloc((size_t)users, sizeof *difference);
    enum inmo_status status = difference ? INMO_OK : inmo_fail_memory(error, "comparing");
    for (size_t s = 0; s < systems && !status; s++) {
        struct inmo_paired_test test;
        status = resample(user_score[s], users, score + s, error);
        if (status || s == reference)
            continue;
        for (int64_t u = 0; u < users; u++)
            difference[u] = (double)user_score[reference][u] - (double)user_score[s][u];
        status = inmo_paired_test(difference, users, &test, error);
        score[s].difference = test.mean;
        score[s].p = test.p;
    }
    if (!status)
        adjust(score, systems, reference);
    inmo_free(difference);
    return status;
}
