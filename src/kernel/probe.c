/* probe.c - see probe.h. Compiled for each instruction set like the kernels, but with fused multiply-add where
 * available (src/CMakeLists.txt), because the results are never compared. */
#include "kernel/probe.h"
#include "kernel/vector.h"

#ifdef INMO_NEON
enum { CHAINS = 24 };
#else
enum { CHAINS = 12 }; /* independent chains: more than latency times units, fewer than registers */
#endif
enum { AT_ONCE = 64 / LANES, AHEAD = 24 };

static float total(const vec *sum, int count)
{
    float result = 0;
    for (int j = 0; j < count; j++)
        for (int l = 0; l < LANES; l++)
            result += sum[j][l];
    return result;
}

static float NAMED(read)(size_t count, const float *x)
{
    vec sum[AT_ONCE] = {{0}};
    for (size_t n = 0; n < count; n += 64)
        EACH(j, AT_ONCE)
    sum[j] += load(x + n + LANES * j);
    return total(sum, AT_ONCE);
}

static void NAMED(update)(size_t count, float *x)
{
    for (size_t n = 0; n < count; n += 64)
        EACH(j, AT_ONCE)
    store(x + n + LANES * j, 1 - load(x + n + LANES * j));
}

#define ROWS(floats)                                                                                               \
    static float NAMED(rows_##floats)(size_t count, const int32_t *row, const float *x)                            \
    {                                                                                                              \
        vec sum[(floats) / LANES] = {{0}};                                                                         \
        for (size_t n = 0; n < count; n++) {                                                                       \
            const float *from = x + (size_t)row[n] * (floats);                                                     \
            if (n + AHEAD < count)                                                                                 \
                for (int j = 0; j < (floats); j += 16)                                                             \
                    __builtin_prefetch(x + (size_t)row[n + AHEAD] * (floats) + j, 0, 3);                           \
            EACH(j, (floats) / LANES)                                                                              \
            sum[j] += load(from + LANES * j);                                                                      \
        }                                                                                                          \
        return total(sum, (floats) / LANES);                                                                       \
    }
ROWS(32)
ROWS(64)

static float NAMED(rows)(size_t count, const int32_t *row, int floats, const float *x)
{
    return floats == 32 ? NAMED(rows_32)(count, row, x) : NAMED(rows_64)(count, row, x);
}

static float NAMED(multiply_add)(int64_t rounds, float factor, float term)
{
    vec sum[CHAINS], factors = (vec){0} + factor, terms = (vec){0} + term;
    EACH(j, CHAINS) /* all different, or the compiler would compute them once */
    sum[j] = (vec){0} + (float)j;
    for (int64_t n = 0; n < rounds; n++)
        EACH(j, CHAINS)
    sum[j] = sum[j] * factors + terms;
    return total(sum, CHAINS);
}

const struct inmo_probes NAMED(inmo_probes) = {
    NAMED(read), NAMED(update), NAMED(rows), NAMED(multiply_add), 2 * CHAINS *LANES,
};
