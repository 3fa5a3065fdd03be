/* metrics_text.c - the metrics in Prometheus's text format, version 0.0.4: for each name its HELP and TYPE once,
 * then its series. Buckets of a histogram are cumulative and end with +Inf, which is equal to its count: both come
 * from one reading of the buckets, so they agree while others count on. */
#include "server/metrics_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add(struct inmo_text *text, const char *string)
{
    inmo_text_add(text, string, strlen(string));
}

static void add_head(struct inmo_text *text, const char *name, const char *type, const char *help)
{
    inmo_text_format(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_value(struct inmo_text *text, double value)
{
    if (isfinite(value))
        inmo_text_number(text, value, 15);
    else
        add(text, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    add(text, "\n");
}

static void add_one(struct inmo_text *text, const char *name, const char *type, const char *help, double value)
{
    add_head(text, name, type, help);
    inmo_text_format(text, "%s ", name);
    add_value(text, value);
}

/* name="value", with what would end the value escaped. */
static void add_label(struct inmo_text *text, const char *name, const char *value)
{
    inmo_text_format(text, "%s=\"", name);
    for (const char *c = value; *c; c++)
        if (*c == '\n')
            add(text, "\\n");
        else if (*c == '"' || *c == '\\')
            inmo_text_format(text, "\\%c", *c);
        else
            inmo_text_add(text, c, 1);
    add(text, "\"");
}

static void add_route_labels(struct inmo_text *text, const struct metrics_route *route)
{
    add_label(text, "route", route->name);
    add(text, ",");
    add_label(text, "method", route->method);
}

/* The series of one histogram. route NULL: no labels. */
static void add_distribution(struct inmo_text *text, const char *name, const struct metrics_route *route,
                             const struct metrics_distribution *distribution)
{
    double sum = (double)get(&distribution->nanoseconds) / 1e9;
    uint64_t count = 0;
    for (int b = 0; b <= METRICS_BOUNDS; b++) {
        count += get(&distribution->bucket[b]);
        inmo_text_format(text, "%s_bucket{", name);
        if (route) {
            add_route_labels(text, route);
            add(text, ",");
        }
        if (b < METRICS_BOUNDS)
            inmo_text_format(text, "le=\"%.15g\"} %" PRIu64 "\n", metrics_bounds[b], count);
        else
            inmo_text_format(text, "le=\"+Inf\"} %" PRIu64 "\n", count);
    }
    for (int part = 0; part < 2; part++) {
        inmo_text_format(text, "%s_%s", name, part ? "count" : "sum");
        if (route) {
            add(text, "{");
            add_route_labels(text, route);
            add(text, "}");
        }
        add(text, " ");
        add_value(text, part ? (double)count : sum);
    }
}

static void add_requests(struct inmo_text *text, const struct metrics *metrics)
{
    static const char name[] = "inmo_http_request_seconds";
    add_head(text, "inmo_http_requests_total", "counter", "Requests answered, by route, method and status.");
    for (size_t r = 0; r < metrics->count; r++)
        for (int c = 0; c < METRICS_CODES; c++) {
            uint64_t count = get(&metrics->route[r].code[c]);
            if (count == 0)
                continue;
            add(text, "inmo_http_requests_total{");
            add_route_labels(text, &metrics->route[r]);
            if (metrics_codes[c])
                inmo_text_format(text, ",code=\"%d\"} %" PRIu64 "\n", metrics_codes[c], count);
            else
                inmo_text_format(text, ",code=\"other\"} %" PRIu64 "\n", count);
        }
    add_head(text, name, "histogram", "Time from a request's arrival to its answer.");
    for (size_t r = 0; r < metrics->count; r++) {
        int used = 0;
        for (int b = 0; b <= METRICS_BOUNDS; b++)
            used |= get(&metrics->route[r].seconds.bucket[b]) > 0;
        if (used)
            add_distribution(text, name, &metrics->route[r], &metrics->route[r].seconds);
    }
}

static void add_lists(struct inmo_text *text, const struct metrics *metrics)
{
#define METRICS_ROW(name, ...) {__VA_ARGS__},
    static const struct {
        const char *name, *label, *help;
    } counters[] = {METRICS_COUNTER_LIST(METRICS_ROW)};
    static const struct {
        const char *name, *help;
    } histograms[] = {METRICS_HISTOGRAM_LIST(METRICS_ROW)}, gauges[] = {METRICS_GAUGE_LIST(METRICS_ROW)};
#undef METRICS_ROW
    for (int n = 0; n < METRICS_COUNTERS; n++) {
        if (n == 0 || strcmp(counters[n].name, counters[n - 1].name) != 0)
            add_head(text, counters[n].name, "counter", counters[n].help);
        inmo_text_format(text, counters[n].label[0] ? "%s{%s} %" PRIu64 "\n" : "%s%s %" PRIu64 "\n",
                         counters[n].name, counters[n].label, get(&metrics->counter[n]));
    }
    for (int n = 0; n < METRICS_HISTOGRAMS; n++) {
        add_head(text, histograms[n].name, "histogram", histograms[n].help);
        add_distribution(text, histograms[n].name, NULL, &metrics->histogram[n]);
    }
    for (int n = 0; n < METRICS_GAUGES; n++) {
        uint64_t bits = get(&metrics->gauge[n]);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isnan(value))
            add_one(text, gauges[n].name, "gauge", gauges[n].help, value);
    }
}

/* ---- The process -------------------------------------------------------------------------------------------- */

/* A small file of /proc; 0 when it is not there. */
static int read_proc(const char *path, char *content, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, content, size - 1);
    if (file >= 0)
        close(file);
    if (length <= 0)
        return 0;
    content[length] = '\0';
    return 1;
}

/* Pages of /proc/self/statm: all, and those in memory. */
static int read_pages(uint64_t pages[2])
{
    char content[128];
    char *at = content;
    if (!read_proc("/proc/self/statm", content, sizeof content))
        return 0;
    for (int n = 0; n < 2; n++)
        pages[n] = strtoull(at, &at, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    return 1;
}

uint64_t metrics_memory(void)
{
    uint64_t pages[2] = {0};
    return read_pages(pages) ? pages[1] : 0;
}

/* Seconds since 1970 at which the process started: the 22nd field of /proc/self/stat, in ticks since the machine
 * did. */
static int read_start(double *seconds)
{
    char content[1024];
    char *at;
    struct timespec up, now;
    if (!read_proc("/proc/self/stat", content, sizeof content) || !(at = strrchr(content, ')')))
        return 0; /* the second field is the program's name, which may have spaces and brackets */
    for (int field = 3; at && field <= 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    clock_gettime(CLOCK_BOOTTIME, &up);
    clock_gettime(CLOCK_REALTIME, &now);
    *seconds = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9 +
               (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
    return 1;
}

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = -1; /* the folder's own */
    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void add_process(struct inmo_text *text)
{
    uint64_t pages[2];
    double start;
    struct timespec processor;
    struct rlimit files;
    int descriptors = count_descriptors();
    if (read_pages(pages)) {
        add_one(text, "process_resident_memory_bytes", "gauge", "Memory in use.", (double)pages[1]);
        add_one(text, "process_virtual_memory_bytes", "gauge", "Address space in use.", (double)pages[0]);
    }
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor) == 0)
        add_one(text, "process_cpu_seconds_total", "counter", "Processor time spent.",
                (double)processor.tv_sec + (double)processor.tv_nsec / 1e9);
    if (read_start(&start))
        add_one(text, "process_start_time_seconds", "gauge", "When the process started, since 1970.", start);
    if (descriptors >= 0)
        add_one(text, "process_open_fds", "gauge", "Open file descriptors.", descriptors);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        add_one(text, "process_max_fds", "gauge", "Most file descriptors that may be open.",
                (double)files.rlim_cur);
}

void metrics_write(const struct metrics *metrics, struct inmo_text *text)
{
    add_head(text, "inmo_build_info", "gauge", "Always 1; the version is its label.");
    add(text, "inmo_build_info{");
    add_label(text, "version", inmo_version());
    add(text, "} 1\n");
    add_requests(text, metrics);
    add_lists(text, metrics);
    add_process(text);
}
