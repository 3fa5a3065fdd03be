/* bench.c - inmo_bench: measures the machine, then every kernel, and compares. A rate is the best of several tries,
 * a kernel's time the median of its runs: the ratio is typical time over best possible time. */
#include "limit/bench.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "limit/machine.h"
#include "limit/trials.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_RUNS = 2000, LEAST_RUNS = 3, RATES = 2 * (INMO_TRAFFICS * INMO_LEVELS + 1) };
#define MACHINE_SHARE 0.4 /* of the time */

/* The report and everything it points to, in one block. */
struct report {
    struct inmo_bench_report report;
    struct inmo_bench_rate rate[RATES];
    struct inmo_bench_kernel kernel[INMO_TRIALS];
};

void inmo_bench_free(struct inmo_bench_report *report)
{
    inmo_free(report);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void list_rates(const struct inmo_machine *machine, struct report *report)
{
    for (int column = 0; column < (machine->threads > 1 ? 2 : 1); column++) {
        int threads = column ? machine->threads : 1;
        for (int traffic = 0; traffic < INMO_TRAFFICS; traffic++)
            for (int level = 0; level < INMO_LEVELS; level++)
                report->rate[report->report.rate_count++] = (struct inmo_bench_rate){
                    inmo_traffic_names[traffic], inmo_level_names[level], (int64_t)machine->set[level], threads,
                    machine->rate[column][traffic][level]};
        report->rate[report->report.rate_count++] =
            (struct inmo_bench_rate){"multiply-add", NULL, 0, threads, machine->flops[column]};
    }
}

/* Median of the runs that fit into the time, after one warm-up run. */
static enum inmo_status time_trial(struct inmo_trials *trials, const struct inmo_trial *trial, double seconds,
                                   double *run, struct inmo_bench_kernel *kernel, struct inmo_error *error)
{
    int threads = inmo_threads(), runs = 0, by_memory;
    double start = inmo_now();
    enum inmo_status status;
    if (trial->one_thread)
        inmo_set_threads(1);
    status = trial->run(trials, error);
    while (!status && runs < MOST_RUNS && (runs < LEAST_RUNS || inmo_now() - start < seconds)) {
        double begin = inmo_now();
        status = trial->run(trials, error);
        run[runs++] = inmo_now() - begin;
    }
    inmo_set_threads(threads);
    if (status)
        return status;
    qsort(run, (size_t)runs, sizeof *run, by_size);
    *kernel = (struct inmo_bench_kernel){.name = trial->name,
                                         .threads = trial->one_thread ? 1 : threads,
                                         .flops = trial->flops,
                                         .seconds = run[runs / 2],
                                         .runs = runs};
    for (int traffic = 0; traffic < INMO_TRAFFICS; traffic++)
        for (int level = 0; level < INMO_LEVELS; level++)
            kernel->bytes += trial->moved[traffic][level];
    kernel->limit = inmo_trial_limit(trial, trials->machine, &by_memory);
    kernel->bound = by_memory ? "memory" : "arithmetic";
    return INMO_OK;
}

enum inmo_status inmo_bench(const struct inmo_dataset *dataset, double seconds, const struct inmo_hooks *hooks,
                            struct inmo_bench_report **out, struct inmo_error *error)
{
    struct inmo_machine machine;
    struct inmo_trials trials = {0};
    struct report *report = inmo_alloc_zero(1, sizeof *report);
    double *run = inmo_alloc(MOST_RUNS, sizeof *run), start = inmo_now();
    enum inmo_status status = INMO_OK;
    if (!report || !run)
        status = inmo_fail_memory(error, "measuring");
    if (!status)
        status = inmo_machine_measure(MACHINE_SHARE * seconds, hooks, &machine, error);
    if (!status)
        status = inmo_trials_make(dataset, &machine, &trials, error);
    for (int n = 0; n < INMO_TRIALS && !status; n++) {
        struct inmo_progress progress = {"measuring the kernels", n,   INMO_TRIALS, "kernels",
                                         inmo_now() - start,      NAN, NAN,         NAN};
        inmo_report_progress(hooks, &progress);
        status = time_trial(&trials, &trials.trial[n], (1 - MACHINE_SHARE) * seconds / INMO_TRIALS, run,
                            &report->kernel[n], error);
        if (!status && inmo_is_interrupted(hooks))
            status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request while measuring");
    }
    if (!status) {
        list_rates(&machine, report);
        report->report.instructions = inmo_kernels()->name;
        report->report.blas = openblas_get_corename();
        report->report.threads = machine.threads;
        report->report.l2 = (int64_t)machine.l2;
        report->report.l3 = (int64_t)machine.l3;
        report->report.users = trials.graph->users;
        report->report.items = trials.graph->items;
        report->report.interactions = trials.graph->edges;
        report->report.rate = report->rate;
        report->report.kernel_count = INMO_TRIALS;
        report->report.kernel = report->kernel;
        report->report.seconds = inmo_now() - start;
        *out = &report->report;
        report = NULL;
    }
    inmo_trials_free(&trials);
    inmo_free(run);
    inmo_free(report);
    return status;
}
