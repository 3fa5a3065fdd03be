/* test_serve_metrics.c - what the server counts: the text as Prometheus wants it, checked line by line; quantiles
 * of the last minute beside those of the sorted times; nothing lost with several threads; and what a request
 * costs. */
#include "support.h"

#include "base/text.h"
#include "server/metrics.h"

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <time.h>

static const char *const routes[] = {"/api/user/{id}", "/api/user/{id}", "/strange\"\\\n"};
static const char *const methods[] = {"GET", "DELETE", "GET"};

static struct metrics *created(void)
{
    struct metrics *metrics = metrics_create(routes, methods, COUNT(routes));
    assert_non_null(metrics);
    return metrics;
}

static char *written(const struct metrics *metrics)
{
    struct inmo_text text = {0};
    char *taken;
    metrics_write(metrics, &text);
    taken = inmo_text_take(&text);
    assert_non_null(taken);
    return taken;
}

/* The value of the series that begins its line with these words, NaN when there is none. */
static double value_of(const char *text, const char *series)
{
    size_t length = strlen(series);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, series, length) == 0 && line[length] == ' ')
            return strtod(line + length + 1, NULL);
    return NAN;
}

/* ---- The text format, by its rules -------------------------------------------------------------------------- */

static const char *skip_name(const char *at)
{
    assert_true(isalpha((unsigned char)*at) || *at == '_' || *at == ':');
    while (isalnum((unsigned char)*at) || *at == '_' || *at == ':')
        at++;
    return at;
}

static const char *skip_labels(const char *at)
{
    if (*at != '{')
        return at;
    at++;
    while (*at != '}') {
        at = skip_name(at);
        assert_memory_equal(at, "=\"", 2);
        for (at += 2; *at != '"'; at++) {
            assert_true(*at != '\0' && *at != '\n');
            if (*at == '\\') {
                at++;
                assert_true(*at == '\\' || *at == '"' || *at == 'n');
            }
        }
        at++;
        assert_true(*at == ',' || *at == '}');
        at += *at == ',';
    }
    return at + 1;
}

struct seen {
    char name[100], type[20];
};

/* The metric a series belongs to: a histogram's have endings. */
static int belongs(const struct seen *metric, const char *series, size_t length)
{
    size_t own = strlen(metric->name);
    if (length < own || strncmp(series, metric->name, own) != 0)
        return 0;
    if (strcmp(metric->type, "histogram") != 0)
        return length == own;
    return (length == own + 7 && strncmp(series + own, "_bucket", 7) == 0) ||
           (length == own + 4 && strncmp(series + own, "_sum", 4) == 0) ||
           (length == own + 6 && strncmp(series + own, "_count", 6) == 0);
}

/* Every line is HELP, then TYPE of the same name, or a series of the last such name with a number; no name and no
 * series occurs twice; counters end in _total; buckets grow and the last is +Inf and equal to the count. Returns
 * the number of series. */
static int check_text(const char *text)
{
    enum { MOST = 2000 };
    static struct seen metric[MOST];
    static char series[MOST][300];
    int metrics = 0, count = 0;
    double bucket = 0;
    assert_true(*text != '\0');
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n'), *at;
        assert_non_null(end); /* the last line ends, too */
        if (strncmp(line, "# HELP ", 7) == 0) {
            at = skip_name(line + 7);
            assert_true(*at == ' ' && at[1] != '\n' && metrics < MOST);
            snprintf(metric[metrics].name, sizeof metric->name, "%.*s", (int)(at - line - 7), line + 7);
            for (int n = 0; n < metrics; n++)
                assert_string_not_equal(metric[n].name, metric[metrics].name);
            line = end + 1;
            end = strchr(line, '\n');
            assert_non_null(end);
            assert_memory_equal(line, "# TYPE ", 7);
            at = skip_name(line + 7);
            assert_int_equal(at - line - 7, strlen(metric[metrics].name));
            assert_memory_equal(line + 7, metric[metrics].name, at - line - 7);
            snprintf(metric[metrics].type, sizeof metric->type, "%.*s", (int)(end - at - 1), at + 1);
            at = metric[metrics].type;
            assert_true(!strcmp(at, "counter") || !strcmp(at, "gauge") || !strcmp(at, "histogram"));
            at = metric[metrics].name + strlen(metric[metrics].name);
            assert_int_equal(strcmp(at - 6, "_total") == 0, strcmp(metric[metrics].type, "counter") == 0);
            metrics++;
        } else {
            const char *name_end = skip_name(line), *bound;
            char *number_end;
            double value;
            at = skip_labels(name_end);
            assert_true(metrics > 0 && belongs(&metric[metrics - 1], line, (size_t)(name_end - line)));
            assert_true(*at == ' ' && count < MOST);
            snprintf(series[count], sizeof series[0], "%.*s", (int)(at - line), line);
            for (int n = 0; n < count; n++)
                assert_string_not_equal(series[n], series[count]);
            value = strtod(at + 1, &number_end);
            assert_ptr_equal(number_end, end);
            assert_true(value >= 0);
            bound = strstr(series[count], "le=\"");
            if (bound) {
                assert_true(value >= bucket || strstr(series[count], "le=\"0.0001\""));
                bucket = value;
            } else if (strstr(series[count], "_count")) {
                assert_near(value, bucket, 0);
                bucket = 0;
            } else if (strstr(series[count], "seconds_sum")) {
                assert_non_null(strstr(series[count - 1], "le=\"+Inf\""));
            }
            count++;
        }
        line = end + 1;
    }
    return count;
}

static void test_text(void **state)
{
    struct metrics *metrics = created();
    char *text = written(metrics);
    int at_start = check_text(text), later;
    (void)state;
    assert_null(strstr(text, "route=")); /* nothing was asked for yet */
    assert_null(strstr(text, "inmo_model_number"));
    assert_near(value_of(text, "inmo_events_total{kind=\"inserted\"}"), 0, 0);
    inmo_free(text);

    metrics_request(metrics, 0, 200, 0.0004);
    metrics_request(metrics, 0, 200, 0.0006);
    metrics_request(metrics, 0, 404, 20);
    metrics_request(metrics, 1, 299, 0.0001); /* a bound belongs to its bucket */
    metrics_request(metrics, 2, -5, -1);
    metrics_request(metrics, 2, 100000, NAN);
    metrics_request(metrics, 77, 200, 1); /* no such route */
    metrics_count(metrics, METRICS_EVENTS_INSERTED, 5);
    metrics_count(metrics, METRICS_EVENTS_INSERTED, 2);
    metrics_count(metrics, METRICS_ITEMS_CHANGED, 1);
    metrics_observe(metrics, METRICS_STORE_COMMIT, 0.0003);
    metrics_set(metrics, METRICS_MODEL_NUMBER, 3);
    metrics_set(metrics, METRICS_MODEL_VALIDATION, 0.1234567890123);
    text = written(metrics);
    later = check_text(text);
    assert_int_equal(later, at_start + 2 + 1 + 1 + 3 * 19 + 2); /* codes, histograms, gauges */
    assert_near(value_of(text, "inmo_http_requests_total{route=\"/api/user/{id}\",method=\"GET\",code=\"200\"}"), 2,
                0);
    assert_near(value_of(text, "inmo_http_requests_total{route=\"/api/user/{id}\",method=\"GET\",code=\"404\"}"), 1,
                0);
    assert_near(
        value_of(text, "inmo_http_requests_total{route=\"/api/user/{id}\",method=\"DELETE\",code=\"other\"}"), 1,
        0);
    assert_near(
        value_of(text, "inmo_http_requests_total{route=\"/strange\\\"\\\\\\n\",method=\"GET\",code=\"other\"}"), 2,
        0);
#define BUCKET(bound) "inmo_http_request_seconds_bucket{route=\"/api/user/{id}\",method=\"GET\",le=\"" bound "\"}"
    assert_near(value_of(text, BUCKET("0.00025")), 0, 0);
    assert_near(value_of(text, BUCKET("0.0005")), 1, 0);
    assert_near(value_of(text, BUCKET("0.001")), 2, 0);
    assert_near(value_of(text, BUCKET("10")), 2, 0);
    assert_near(value_of(text, BUCKET("+Inf")), 3, 0);
    assert_near(value_of(text, "inmo_http_request_seconds_sum{route=\"/api/user/{id}\",method=\"GET\"}"), 20.001,
                1e-9);
    assert_near(value_of(text, "inmo_http_request_seconds_count{route=\"/api/user/{id}\",method=\"GET\"}"), 3, 0);
    assert_near(
        value_of(text,
                 "inmo_http_request_seconds_bucket{route=\"/api/user/{id}\",method=\"DELETE\",le=\"0.0001\"}"),
        1, 0);
    assert_near(value_of(text, "inmo_events_total{kind=\"inserted\"}"), 7, 0);
    assert_near(value_of(text, "inmo_items_changed_total"), 1, 0);
    assert_near(value_of(text, "inmo_store_commit_seconds_count"), 1, 0);
    assert_near(value_of(text, "inmo_model_number"), 3, 0);
    assert_near(value_of(text, "inmo_model_validation_score"), 0.1234567890123, 1e-15);
    assert_int_equal(metrics_requests(metrics), 6);
    assert_int_equal(metrics_counted(metrics, METRICS_EVENTS_INSERTED), 7);
    inmo_free(text);
    metrics_destroy(metrics);
}

/* The same text to the parser of Prometheus's own client, where there is one (Debian:
 * python3-prometheus-client). */
static void test_beside_prometheus(void **state)
{
    static const char command[] =
        "PATH=/usr/bin:$PATH python3 -c 'from prometheus_client.parser import text_string_to_metric_families as "
        "parse\n"
        "families = list(parse(open(\"metrics.txt\", newline=\"\").read()))\n"
        "assert all(f.type != \"unknown\" and f.samples is not None for f in families)\n"
        "samples = {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples}\n"
        "assert samples[\"inmo_http_requests_total\", ((\"code\", \"200\"), (\"method\", \"GET\"), (\"route\", "
        "\"/strange\\\"\\\\\\n\"))] == 1, samples\n'";
    struct metrics *metrics;
    char *text;
    (void)state;
    if (system("PATH=/usr/bin:$PATH python3 -c 'import prometheus_client' 2>/dev/null") != 0) {
        print_message("skipped: Python has no prometheus_client\n");
        skip();
    }
    metrics = created();
    metrics_request(metrics, 2, 200, 0.1);
    metrics_set(metrics, METRICS_MODEL_AGE, 1e9);
    text = written(metrics);
    write_bytes("metrics.txt", text, strlen(text));
    assert_int_equal(system(command), 0);
    inmo_free(text);
    metrics_destroy(metrics);
}

static void test_process(void **state)
{
    struct metrics *metrics = created();
    char *text = written(metrics);
    double start = value_of(text, "process_start_time_seconds");
    (void)state;
    assert_true(value_of(text, "process_resident_memory_bytes") > 1e6);
    assert_true(value_of(text, "process_virtual_memory_bytes") >= value_of(text, "process_resident_memory_bytes"));
    assert_true(metrics_memory() > 1000000);
    assert_true(value_of(text, "process_cpu_seconds_total") > 0);
    assert_true(fabs(start - (double)time(NULL)) < 300);
    assert_true(value_of(text, "process_open_fds") >= 3);
    assert_true(value_of(text, "process_max_fds") >= 16);
    inmo_free(text);
    metrics_destroy(metrics);
}

/* ---- The last minute ---------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From 1 microsecond to 5 seconds, evenly in the logarithm, and one long tail. */
static void test_quantiles(void **state)
{
    enum { TIMES = 20000 };
    static double seconds[TIMES];
    (void)state;
    for (int tail = 0; tail < 2; tail++) {
        struct metrics *metrics = created();
        struct metrics_latency latency;
        size_t which[] = {0, 1};
        for (int n = 0; n < TIMES; n++) {
            double u = inmo_random_unit(inmo_random(inmo_key(7, (uint64_t)tail), (uint64_t)n));
            seconds[n] = tail ? 0.0005 / sqrt(1 - u) : 1e-6 * pow(5e6, u);
            metrics_request_at(metrics, (size_t)n % 2, 200, seconds[n], 1000 + n % 58);
            metrics_request_at(metrics, 2, 200, 7, 1000); /* not asked for */
        }
        qsort(seconds, TIMES, sizeof *seconds, ascending);
        metrics_latency_at(metrics, which, 2, 1057, &latency);
        assert_int_equal(latency.requests, TIMES);
        assert_near(latency.p50 / seconds[TIMES / 2], 1, 0.07);
        assert_near(latency.p95 / seconds[TIMES * 95 / 100], 1, 0.07);
        assert_near(latency.p99 / seconds[TIMES * 99 / 100], 1, 0.07);
        metrics_latency_at(metrics, NULL, 0, 1057, &latency);
        assert_int_equal(latency.requests, 2 * TIMES);
        metrics_destroy(metrics);
    }
}

static void test_only_the_last_minute(void **state)
{
    struct metrics *metrics = created();
    struct metrics_latency latency;
    (void)state;
    metrics_latency_at(metrics, NULL, 0, 5000, &latency);
    assert_int_equal(latency.requests, 0);
    assert_true(isnan(latency.p50) && isnan(latency.p99));
    for (int64_t now = 100000; now < 100300; now++) { /* 10 a second for five minutes: fast, then slow */
        for (int n = 0; n < 10; n++)
            metrics_request_at(metrics, 0, 200, now < 100150 ? 0.001 : 0.1, now);
        metrics_latency_at(metrics, NULL, 0, now, &latency);
        if (now >= 100060) {
            assert_in_range(latency.requests, 590, 600);
            assert_near(latency.per_second, 10, 0.2);
        }
        if (now == 100149)
            assert_near(latency.p99, 0.001, 0.0001);
        if (now == 100152) /* the slow ones are a few per cent */
            assert_true(latency.p50 < 0.0011 && latency.p99 > 0.09);
        if (now == 100215)
            assert_near(latency.p50, 0.1, 0.007);
    }
    metrics_latency_at(metrics, NULL, 0, 100300 + 30, &latency);
    assert_in_range(latency.requests, 280, 300);
    metrics_latency_at(metrics, NULL, 0, 100300 + 61, &latency); /* nothing came for a minute */
    assert_int_equal(latency.requests, 0);
    metrics_latency_at(metrics, NULL, 0, 100300 + 64, &latency); /* the ring's length: not mistaken for now */
    assert_int_equal(latency.requests, 0);
    metrics_latency_at(metrics, NULL, 0, INT64_C(8000000000), &latency);
    assert_int_equal(latency.requests, 0);
    metrics_destroy(metrics);
}

/* ---- Threads and cost --------------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 100000 };

static void *request_many(void *context)
{
    for (int n = 0; n < EACH; n++) {
        metrics_request_at(context, 0, n % 2 ? 200 : 404, 0.0001 * (1 + n % 7), n / 1000); /* slots turn over */
        metrics_count(context, METRICS_EVENTS_INSERTED, 3);
    }
    return NULL;
}

static void *write_while(void *context)
{
    for (int n = 0; n < 20; n++) {
        char *text = written(context);
        check_text(text);
        inmo_free(text);
    }
    return NULL;
}

static void test_threads_lose_nothing(void **state)
{
    struct metrics *metrics = created();
    struct metrics_latency latency;
    pthread_t thread[THREADS], reader;
    char *text;
    (void)state;
    assert_int_equal(pthread_create(&reader, NULL, write_while, metrics), 0);
    for (int n = 0; n < THREADS; n++)
        assert_int_equal(pthread_create(&thread[n], NULL, request_many, metrics), 0);
    for (int n = 0; n < THREADS; n++)
        assert_int_equal(pthread_join(thread[n], NULL), 0);
    assert_int_equal(pthread_join(reader, NULL), 0);
    text = written(metrics);
    check_text(text);
    assert_near(value_of(text, "inmo_http_requests_total{route=\"/api/user/{id}\",method=\"GET\",code=\"200\"}"),
                THREADS * EACH / 2, 0);
    assert_near(value_of(text, "inmo_http_request_seconds_count{route=\"/api/user/{id}\",method=\"GET\"}"),
                THREADS * EACH, 0);
    assert_near(value_of(text, "inmo_events_total{kind=\"inserted\"}"), 3 * THREADS * EACH, 0);
    assert_int_equal(metrics_requests(metrics), THREADS * EACH);
    metrics_latency_at(metrics, NULL, 0, 99, &latency);
    assert_in_range(latency.requests, 1, THREADS * 60 * 1000);
    inmo_free(text);
    metrics_destroy(metrics);
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* By the processor's time, the best of a few: the bound holds on a machine that is busy as well. Sanitizers make it
 * slower, so the bound is for what people build. */
static void test_cost(void **state)
{
    struct metrics *metrics = created();
    double best = 1;
    (void)state;
    for (int round = 0; round < 10; round++) {
        double began = processor_seconds(), took;
        for (int n = 0; n < EACH; n++)
            metrics_request(metrics, (size_t)n % 2, 200, 0.0001 * (1 + n % 50));
        took = (processor_seconds() - began) / EACH;
        best = took < best ? took : best;
    }
    print_message("a request costs %.0f ns\n", best * 1e9);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(best < 100e-9);
#endif
    metrics_destroy(metrics);
}

static void test_memory_runs_out(void **state)
{
    struct metrics *metrics = NULL;
    long n = 0;
    (void)state;
    for (; !metrics; n++) {
        inmo_alloc_fail_after(n);
        metrics = metrics_create(routes, methods, COUNT(routes));
        inmo_alloc_fail_after(-1);
    }
    assert_true(n >= 2);
    metrics_destroy(metrics);
    metrics_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_beside_prometheus),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_only_the_last_minute),
        cmocka_unit_test(test_threads_lose_nothing),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
