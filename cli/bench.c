/* bench.c - inmo bench: the limits of this machine, and how close the kernels come. */
#include "common.h"
#include "limit/bench.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bench_settings {
    struct cli_common common;
    double seconds;
};

static const struct inmo_setting rows[] = {
    {"seconds", 'r', offsetof(struct bench_settings, seconds), 0.01, 3600, NULL, "Measuring", "S",
     "Measuring time; longer gives more stable numbers."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct bench_settings *settings = structure;
    settings->seconds = 12;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_common(options, &settings->common, CLI_JSON);
}

/* A synthetic data set of Gowalla's size, through a temporary file. */
static enum inmo_status make_data(struct inmo_dataset **dataset, struct inmo_error *error)
{
    const char *parent = getenv("TMPDIR");
    char *folder = cli_format("%s/inmo-bench-XXXXXX", parent && *parent ? parent : "/tmp"), *path = NULL;
    struct inmo_synth_options synth;
    struct inmo_read_options read;
    struct inmo_prepare_options prepare;
    struct inmo_log *log = NULL;
    enum inmo_status status;

    inmo_synth_options_init(&synth);
    synth.interactions = 1027370;
    synth.users = 29858;
    synth.items = 40981;
    inmo_read_options_init(&read);
    inmo_prepare_options_init(&prepare);
    if (!mkdtemp(folder)) {
        status = cli_fail(error, INMO_IO, "cannot create %s: %s", folder, strerror(errno));
        free(folder);
        return status;
    }
    path = cli_format("%s/log.tsv", folder);
    status = inmo_synth(&synth, path, 0, cli_hooks(), error);
    if (!status)
        status = inmo_log_read((const char *const *)&path, 1, &read, cli_hooks(), &log, error);
    if (!status)
        status = inmo_dataset_prepare(log, &prepare, dataset, error);
    inmo_log_free(log);
    unlink(path);
    rmdir(folder);
    free(path);
    free(folder);
    return status;
}

static void print_json(const struct inmo_bench_report *report)
{
    json_t *rates = json_array(), *kernels = json_array();

    for (size_t n = 0; n < report->rate_count; n++) {
        const struct inmo_bench_rate *rate = &report->rate[n];
        json_array_append_new(rates, json_pack("{ss ss? sI si so}", "what", rate->what, "level", rate->level,
                                               "set_bytes", (json_int_t)rate->bytes, "threads", rate->threads,
                                               "per_second", cli_json_number(rate->per_second)));
    }
    for (size_t n = 0; n < report->kernel_count; n++) {
        const struct inmo_bench_kernel *kernel = &report->kernel[n];
        json_array_append_new(
            kernels, json_pack("{ss si so so ss so so so si}", "name", kernel->name, "threads", kernel->threads,
                               "bytes", cli_json_number(kernel->bytes), "flops", cli_json_number(kernel->flops),
                               "bound", kernel->bound, "limit_ms", cli_json_number(1e3 * kernel->limit), "ms",
                               cli_json_number(1e3 * kernel->seconds), "ratio",
                               cli_json_number(kernel->seconds / kernel->limit), "runs", kernel->runs));
    }
    cli_json_put(stdout,
                 json_pack("{si ss ss sI sI si si sI so so so}", "threads", report->threads, "instructions",
                           report->instructions, "blas", report->blas, "l2_bytes", (json_int_t)report->l2,
                           "l3_bytes", (json_int_t)report->l3, "users", (int)report->users, "items",
                           (int)report->items, "interactions", (json_int_t)report->interactions, "rates", rates,
                           "kernels", kernels, "seconds", cli_json_number(report->seconds)),
                 1);
}

/* The rates of one kind in one line: all levels with one thread, then with all threads. */
static void print_rates(const struct inmo_bench_report *report, const char *what)
{
    printf("  %-32s", what);
    for (size_t n = 0; n < report->rate_count; n++)
        if (!strcmp(report->rate[n].what, what))
            printf(report->rate[n].level ? " %8.1f" : " %26.1f", 1e-9 * report->rate[n].per_second);
    putchar('\n');
}

static void print_table(const struct inmo_bench_report *report)
{
    char a[32], b[32], c[32];

    printf("%d thread%s, %s kernels, OpenBLAS %s, L2 %.3g MB a core, L3 %.4g MB\n", report->threads,
           report->threads > 1 ? "s" : "", report->instructions, report->blas, (double)report->l2 / 1048576,
           (double)report->l3 / 1048576);
    printf("%-34s %26s", "GB/s; multiply-add: Gflop/s", "one thread");
    if (report->threads > 1)
        printf(" %26s", "all threads");
    printf("\n%-34s", "");
    for (int n = 0; n < (report->threads > 1 ? 2 : 1); n++)
        printf(" %8s %8s %8s", "L2", "L3", "memory");
    putchar('\n');
    for (size_t n = 0; n < report->rate_count && report->rate[n].threads == 1; n++)
        if (!n || strcmp(report->rate[n].what, report->rate[n - 1].what))
            print_rates(report, report->rate[n].what);
    printf("%s users, %s items, %s interactions, d = 64\n", cli_thousands(report->users, a),
           cli_thousands(report->items, b), cli_thousands(report->interactions, c));
    printf("  %-32s %7s %8s %8s  %-10s %9s %9s %6s\n", "", "threads", "MB", "Mflop", "bound by", "limit ms",
           "took ms", "ratio");
    for (size_t n = 0; n < report->kernel_count; n++) {
        const struct inmo_bench_kernel *kernel = &report->kernel[n];
        printf("  %-32s %7d %8.1f %8.1f  %-10s %9.3f %9.3f %6.2f\n", kernel->name, kernel->threads,
               1e-6 * kernel->bytes, 1e-6 * kernel->flops, kernel->bound, 1e3 * kernel->limit,
               1e3 * kernel->seconds, kernel->seconds / kernel->limit);
    }
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct bench_settings *settings = structure;
    struct inmo_dataset *dataset = NULL;
    struct inmo_bench_report *report = NULL;
    enum inmo_status status;

    if (options->argument.count)
        status = inmo_dataset_open(options->argument.value[0], &dataset, error);
    else
        status = make_data(&dataset, error);
    if (!status)
        status = inmo_bench(dataset, settings->seconds, cli_hooks(), &report, error);
    cli_hooks_end();
    if (!status)
        (settings->common.json ? print_json : print_table)(report);
    inmo_bench_free(report);
    inmo_dataset_free(dataset);
    return status;
}

const struct cli_command cli_bench = {
    .name = "bench",
    .arguments = "[DATA]",
    .summary = "compare the kernels with the limits of this machine",
    .description =
        "Measures the limits of this machine (bytes per second from each level of memory, for reading, updating "
        "and gathering rows; multiply-adds per second) and then the kernels of training and serving. For each "
        "kernel it prints the minimum of bytes and flops, the least time they take on this machine, the measured "
        "median time, and the ratio; 1 is the limit.\n\nThe graph is that of a prepared data set or, without DATA, "
        "a synthetic one of Gowalla's size. Run it on an otherwise idle machine.",
    .examples = "  inmo bench\n"
                "  inmo bench data --threads 1 --json\n",
    .least_arguments = 0,
    .most_arguments = 1,
    .settings_size = sizeof(struct bench_settings),
    .declare = declare,
    .run = run,
};
