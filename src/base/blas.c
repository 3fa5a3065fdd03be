/* blas.c - which kernels OpenBLAS uses. It picks them by the processor's model number when it is loaded, and falls
 * back to 20-year-old ones for an unknown model, as virtual machines and new processors often are: its products
 * were 3.4 times slower than with the best kernels the processor can run, and one of the old ones (strsm of
 * Prescott, by which EASE inverts) crashes. So the choice is made again when this library is loaded, by two
 * functions that OpenBLAS's shared library exports, unless OPENBLAS_CORETYPE says what it must be. Nobody may be
 * inside OpenBLAS meanwhile: true of a program at its start, and of the copy of OpenBLAS that the Python package
 * brings along. */
#define _GNU_SOURCE /* environ */
#include "base/threads.h"

#include "inmo.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

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

void inmo_blas_choose_again(void)
{
    const char *core = inmo_blas_advice();
    char asked[64] = "OPENBLAS_CORETYPE=", *own[] = {asked, NULL}, **kept = environ;
    if (!core || !gotoblas_dynamic_init || !gotoblas_dynamic_quit)
        return;
    strncat(asked, core, sizeof asked - strlen(asked) - 1);
    environ = own; /* it is told by the environment alone, and setenv could be out of memory */
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    environ = kept;
}
