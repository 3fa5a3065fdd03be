/* machine.c - see machine.h. */
#include "limit/machine.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PORTION = 1 << 14, SHORT_LIST = 1 << 17, LONG_LIST = 1 << 21, LEAST_TRIES = 3 };
#define LEAST_SECONDS 2e-3 /* per try: far more than starting the threads takes */

const char *const inmo_level_names[INMO_LEVELS] = {"L2", "L3", "memory"};
const char *const inmo_traffic_names[INMO_TRAFFICS] = {"read", "update", "rows of 128 bytes", "rows of 256 bytes"};

/* Size of a cache as the operating system reports it, or 0. */
static size_t cache_size(int level)
{
    for (int index = 0; index < 8; index++) {
        char path[96];
        unsigned found = 0;
        size_t size = 0;
        FILE *stream;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", index);
        stream = fopen(path, "r");
        if (!stream)
            break;
        if (fscanf(stream, "%u", &found) != 1)
            found = 0;
        fclose(stream);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        stream = (int)found == level ? fopen(path, "r") : NULL;
        if (stream && fscanf(stream, "%zuK", &size) != 1)
            size = 0;
        if (stream)
            fclose(stream);
        if (size)
            return size << 10;
    }
    return 0;
}

static size_t cache_or(int level, int name, size_t otherwise)
{
    size_t size = cache_size(level);
    long said = size ? 0 : sysconf(name);
    return size ? size : said > 0 ? (size_t)said : otherwise;
}

static size_t whole(double bytes)
{
    return (size_t)bytes / 65536 * 65536 + 65536;
}

static void choose_sets(struct inmo_machine *machine)
{
    double l2, l3, room = 0.25 * (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    machine->l2 = cache_or(2, _SC_LEVEL2_CACHE_SIZE, 1 << 20);
    machine->l3 = cache_or(3, _SC_LEVEL3_CACHE_SIZE, 0);
    if (machine->l3 < machine->l2) /* no L3 */
        machine->l3 = 4 * machine->l2;
    l2 = (double)machine->l2;
    l3 = (double)machine->l3;
    machine->set[INMO_LEVEL_L2] = whole(l2 / 2);
    /* With many threads, the share of each must not fit its L2. */
    machine->set[INMO_LEVEL_L3] = whole(fmin(fmax(sqrt(l2 * l3), 4 * l2 * machine->threads), 0.75 * l3));
    machine->set[INMO_LEVEL_MEMORY] = whole(fmin(2 * l3, room));
}

/* A probe: kind of access, memory level, number of threads. */
struct probe {
    enum inmo_traffic traffic;
    int threads, private_sets;
    float *x;           // one set of floats per thread, or one for all
    size_t floats;      /* size of a set */
    int32_t *list;      // (entries) rows in random order
    size_t entries, at; /* current position in the list */
};

static int row_floats(enum inmo_traffic traffic)
{
    return traffic == INMO_ROWS_128 ? 32 : 64;
}

/* Runs that many passes in every thread; returns the bytes moved. */
static double run_probe(struct probe *probe, int64_t passes)
{
    const struct inmo_probes *probes = inmo_kernels()->probes;
    size_t share = probe->private_sets ? probe->floats : probe->floats / (size_t)probe->threads / 64 * 64;
    size_t portions = probe->entries / PORTION, start = probe->at;
    int by_rows = probe->traffic >= INMO_ROWS_128, floats = row_floats(probe->traffic);
    float result = 0;
#pragma omp parallel for schedule(static, 1) num_threads(probe->threads) reduction(+ : result)
    for (int t = 0; t < probe->threads; t++) {
        float *x = probe->x + (probe->private_sets ? (size_t)t * probe->floats : by_rows ? 0 : (size_t)t * share);
        for (int64_t n = 0; n < passes; n++) {
            if (probe->traffic == INMO_READ)
                result += probes->read(share, x);
            else if (probe->traffic == INMO_UPDATE)
                probes->update(share, x);
            else
                result += probes->rows(
                    PORTION, probe->list + (start + (size_t)(n * probe->threads + t)) % portions * PORTION, floats,
                    x);
        }
    }
    probe->at = (start + (size_t)passes * (size_t)probe->threads) % (portions ? portions : 1);
    if (isnan(result)) /* never true; keeps the compiler from removing the loop */
        return 0;
    return (double)passes * probe->threads * (by_rows ? (double)PORTION * floats : (double)share) * sizeof(float);
}

/* Bytes or flops per second: the best of the tries that fit into the time. */
static double best_rate(double (*run)(struct probe *, int64_t), struct probe *probe, double seconds)
{
    double start = inmo_now(), best = 0;
    int64_t passes = 1;
    for (int tries = 0; tries < LEAST_TRIES || inmo_now() - start < seconds;) {
        double begin = inmo_now(), done = run(probe, passes), took = inmo_now() - begin;
        if (took < LEAST_SECONDS && passes < INT64_C(1) << 40) {
            passes *= took > 0 && LEAST_SECONDS / took < 8 ? 2 : 8;
            continue; /* too short to count */
        }
        best = fmax(best, done / took);
        tries++;
    }
    return best;
}

static double run_multiply_add(struct probe *probe, int64_t rounds)
{
    const struct inmo_probes *probes = inmo_kernels()->probes;
    float result = 0;
#pragma omp parallel for schedule(static, 1) num_threads(probe->threads) reduction(+ : result)
    for (int t = 0; t < probe->threads; t++)
        result += probes->multiply_add(rounds, 0.5f, 1);
    return isnan(result) ? 0 : (double)rounds * probe->threads * probes->flops_per_round;
}

static void fill_list(struct probe *probe, enum inmo_level_of_memory level)
{
    uint64_t key = inmo_key(1, (uint64_t)level + 100);
    uint32_t rows = (uint32_t)(probe->floats / (size_t)row_floats(probe->traffic));
    probe->entries = level == INMO_LEVEL_MEMORY ? LONG_LIST : SHORT_LIST;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (size_t n = 0; n < probe->entries; n++)
        probe->list[n] = (int32_t)inmo_random_below(inmo_random(key, n), rows);
}

enum inmo_status inmo_machine_measure(double seconds, const struct inmo_hooks *hooks, struct inmo_machine *out,
                                      struct inmo_error *error)
{
    struct inmo_machine machine = {.threads = inmo_threads()};
    double each, begun = inmo_now();
    int columns = machine.threads > 1 ? 2 : 1, done = 0, all = columns * (INMO_TRAFFICS * INMO_LEVELS + 1);
    int32_t *list = inmo_alloc(LONG_LIST, sizeof *list);
    enum inmo_status status = INMO_OK;
    each = seconds / all;
    choose_sets(&machine);
    for (int level = 0; level < INMO_LEVELS && !status; level++) {
        int private_sets = level == INMO_LEVEL_L2;
        size_t floats = machine.set[level] / sizeof(float),
               size = floats * (private_sets ? (size_t)machine.threads : 1);
        float *x = inmo_alloc(size, sizeof *x);
        if (!x || !list) {
            inmo_free(x);
            status = inmo_fail_memory(error, "measuring the machine");
            break;
        }
#pragma omp parallel for schedule(static) num_threads(machine.threads)
        for (size_t n = 0; n < size; n++)
            x[n] = 0.5f;
        for (int traffic = 0; traffic < INMO_TRAFFICS && !status; traffic++) {
            struct probe probe = {
                .traffic = traffic, .private_sets = private_sets, .x = x, .floats = floats, .list = list};
            if (traffic >= INMO_ROWS_128)
                fill_list(&probe, level);
            for (int column = 0; column < columns && !status; column++) {
                struct inmo_progress progress = {"measuring the machine", ++done, all, "rates",
                                                 inmo_now() - begun,      NAN,    NAN, NAN};
                probe.threads = column ? machine.threads : 1;
                machine.rate[column][traffic][level] = best_rate(run_probe, &probe, each);
                inmo_report_progress(hooks, &progress);
                if (inmo_is_interrupted(hooks))
                    status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request while measuring");
            }
        }
        inmo_free(x);
    }
    for (int column = 0; column < columns && !status; column++) {
        struct probe probe = {.threads = column ? machine.threads : 1};
        machine.flops[column] = best_rate(run_multiply_add, &probe, each);
    }
    if (columns == 1) {
        memcpy(machine.rate[1], machine.rate[0], sizeof machine.rate[0]);
        machine.flops[1] = machine.flops[0];
    }
    inmo_free(list);
    if (!status)
        *out = machine;
    return status;
}

enum inmo_level_of_memory inmo_machine_level(const struct inmo_machine *machine, double bytes)
{
    return bytes <= (double)machine->l2   ? INMO_LEVEL_L2
           : bytes <= (double)machine->l3 ? INMO_LEVEL_L3
                                          : INMO_LEVEL_MEMORY;
}
