/* significance.c - the sign-flip test. If two systems were equally good, each user's difference could as well have
 * the other sign. So signs are drawn at random DRAWS times, and p is the share of draws (the observed one included)
 * whose mean is at least as far from 0 as the observed mean. The test assumes no distribution; most differences are
 * 0. Signs are bits of the random stream (draw, user / 64): the same at any number of threads, and nothing is
 * stored. Cost: DRAWS additions per user. */
#include "lab/significance.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"

#include <math.h>

enum { DRAWS = 9999 };

static double flipped_sum(const double *difference, int64_t count, uint64_t key)
{
    double sum = 0;
    uint64_t bits = 0;
    for (int64_t n = 0; n < count; n++, bits >>= 1) {
        if (n % 64 == 0)
            bits = inmo_random(key, (uint64_t)n / 64);
        sum += bits & 1 ? difference[n] : -difference[n];
    }
    return sum;
}

enum inmo_status inmo_paired_test(const double *difference, int64_t count, struct inmo_paired_test *test,
                                  struct inmo_error *error)
{
    double sum = 0, squares = 0, error_of_mean;
    int64_t users = 0, moved = 0, as_far = 0;
    double *kept = inmo_alloc((size_t)count, sizeof *kept); /* zeros have no sign */
    if (!kept)
        return inmo_fail_memory(error, "a test");
    for (int64_t n = 0; n < count; n++)
        if (isfinite(difference[n])) {
            users++;
            sum += difference[n];
            squares += difference[n] * difference[n];
            if (difference[n] != 0)
                kept[moved++] = difference[n];
        }
#pragma omp parallel for reduction(+ : as_far) num_threads(inmo_threads())
    for (int draw = 0; draw < DRAWS; draw++)
        /* allow for rounding: the order of additions differs */
        as_far +=
            fabs(flipped_sum(kept, moved, inmo_key((uint64_t)draw, INMO_STREAM_SIGN))) >= fabs(sum) * (1 - 1e-12);
    inmo_free(kept);
    *test = (struct inmo_paired_test){.users = users, .p = (1 + (double)as_far) / (1 + DRAWS)};
    if (users > 0)
        test->mean = sum / (double)users;
    error_of_mean =
        users > 1 ? sqrt(fmax(squares - sum * test->mean, 0) / (double)(users - 1) / (double)users) : NAN;
    test->low = test->mean - 1.96 * error_of_mean;
    test->high = test->mean + 1.96 * error_of_mean;
    return INMO_OK;
}
