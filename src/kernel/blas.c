/* blas.c - checks whether OpenBLAS knows this processor. It picks its kernels by the processor's model number and
 * falls back to 20-year-old ones for an unknown model, as virtual machines and new processors often are: here its
 * products were 3.4 times slower than with the best kernels the processor can run. The choice is made when the
 * library is loaded and can only be changed through the environment. */
#include "inmo.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *inmo_blas_advice(void)
{
    static const char *const old[] = {"Prescott",  "Core2",  "Penryn",  "Dunnington", "Katmai",  "Coppermine",
                                      "Northwood", "Banias", "Generic", "Unknown",    "Nehalem", "Atom"};
    const char *core = openblas_get_corename();
    if (getenv("OPENBLAS_CORETYPE"))
        return NULL;
#if defined(__x86_64__)
    for (size_t n = 0; n < sizeof old / sizeof *old; n++)
        if (strcasecmp(core, old[n]) == 0) {
            if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
                return "SkylakeX";
            if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
                return "Haswell";
        }
#else
    (void)old;
    (void)core;
#endif
    return NULL;
}
