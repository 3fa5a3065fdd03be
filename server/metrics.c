/* metrics.c - atomic counters; metrics_text.c writes them.
 *
 * Two histograms for each route. That for Prometheus has the bounds below and counts since the start. That for the
 * last minute has eight buckets an octave, so that a quantile is known well, and a ring of slots of two seconds.
 * Each of its buckets is 64 bits, the slot's time above and the count below: whoever comes first in a new slot
 * replaces the old count by its own, bucket by bucket, so there is no moment at which a slot is cleared and no
 * count gets lost. */
#include "server/metrics_parts.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>
#include <time.h>

const double metrics_bounds[METRICS_BOUNDS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                               0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
const int16_t metrics_codes[METRICS_CODES] = {200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403,
                                              404, 405, 406, 408, 409, 411, 412, 413, 414, 415, 417,
                                              422, 429, 431, 500, 501, 503, 504, 505, 507, 0};

/* Seconds since some moment; a millisecond off, in exchange for a tenth of the time of CLOCK_MONOTONIC. */
static int64_t now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

struct metrics *metrics_create(const char *const *route, const char *const *method, size_t count)
{
    struct metrics *metrics = inmo_alloc_zero(1, sizeof *metrics);
    if (!metrics)
        return NULL;
    metrics->route = inmo_alloc_zero(count, sizeof *metrics->route);
    if (!metrics->route) {
        inmo_free(metrics);
        return NULL;
    }
    metrics->count = count;
    metrics->start = now_seconds();
    for (size_t n = 0; n < count; n++) {
        metrics->route[n].name = route[n];
        metrics->route[n].method = method[n];
    }
    for (int n = 0; n < METRICS_GAUGES; n++)
        metrics_set(metrics, (enum metrics_gauge)n, NAN);
    memset(metrics->code_place, METRICS_CODES - 1, sizeof metrics->code_place);
    for (int n = 0; n < METRICS_CODES - 1; n++)
        metrics->code_place[metrics_codes[n]] = (uint8_t)n;
    return metrics;
}

void metrics_destroy(struct metrics *metrics)
{
    if (metrics) {
        inmo_free(metrics->route);
        inmo_free(metrics);
    }
}

/* ---- Counting ----------------------------------------------------------------------------------------------- */

static void add(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static uint64_t nanoseconds_of(double seconds)
{
    return seconds > 0 ? (uint64_t)fmin(seconds * 1e9, 1e15) : 0; /* also for NaN */
}

static void observe(struct metrics_distribution *distribution, double seconds)
{
    int bucket = 0;
    while (bucket < METRICS_BOUNDS && seconds > metrics_bounds[bucket])
        bucket++;
    add(&distribution->bucket[bucket], 1);
    add(&distribution->nanoseconds, nanoseconds_of(seconds));
}

/* Eight buckets for each doubling of v, in units of 128 ns: v = 0 ... 7 have one each, then the three bits below
 * the highest choose. */
static int bucket_of(uint64_t nanoseconds)
{
    uint64_t v = nanoseconds >> 7;
    int high, bucket;
    if (v < 8)
        return (int)v;
    high = 63 - __builtin_clzll(v);
    bucket = (high - 2) * 8 + (int)(v >> (high - 3) & 7);
    return bucket < RECENT_BUCKETS ? bucket : RECENT_BUCKETS - 1;
}

/* The smallest time of a bucket, in seconds. */
static double bucket_start(int bucket)
{
    uint64_t v = bucket < 8 ? (uint64_t)bucket : (uint64_t)(8 + bucket % 8) << (bucket / 8 - 1);
    return (double)(v << 7) / 1e9;
}

static uint32_t slot_time(int64_t now)
{
    return (uint32_t)(now / RECENT_SECONDS);
}

static void add_recent(struct metrics_route *route, int64_t now, double seconds)
{
    uint64_t slot = slot_time(now);
    _Atomic uint64_t *bucket = &route->recent[slot % RECENT_SLOTS][bucket_of(nanoseconds_of(seconds))];
    uint64_t old = get(bucket);
    while (old >> 32 != slot)
        if (atomic_compare_exchange_weak_explicit(bucket, &old, slot << 32 | 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return;
    add(bucket, 1);
}

void metrics_request_at(struct metrics *metrics, size_t route, int status, double seconds, int64_t now)
{
    struct metrics_route *r;
    if (route >= metrics->count)
        return;
    r = &metrics->route[route];
    add(&r->code[status >= 0 && status < METRICS_STATUS ? metrics->code_place[status] : METRICS_CODES - 1], 1);
    observe(&r->seconds, seconds);
    add_recent(r, now, seconds);
}

void metrics_request(struct metrics *metrics, size_t route, int status, double seconds)
{
    metrics_request_at(metrics, route, status, seconds, now_seconds());
}

void metrics_count(struct metrics *metrics, enum metrics_counter counter, uint64_t more)
{
    add(&metrics->counter[counter], more);
}

void metrics_observe(struct metrics *metrics, enum metrics_histogram histogram, double seconds)
{
    observe(&metrics->histogram[histogram], seconds);
}

void metrics_set(struct metrics *metrics, enum metrics_gauge gauge, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    atomic_store_explicit(&metrics->gauge[gauge], bits, memory_order_relaxed);
}

/* ---- Asking ------------------------------------------------------------------------------------------------- */

uint64_t metrics_requests(const struct metrics *metrics)
{
    uint64_t sum = 0;
    for (size_t r = 0; r < metrics->count; r++)
        for (int c = 0; c < METRICS_CODES; c++)
            sum += get(&metrics->route[r].code[c]);
    return sum;
}

uint64_t metrics_counted(const struct metrics *metrics, enum metrics_counter counter)
{
    return get(&metrics->counter[counter]);
}

static void gather_recent(const struct metrics_route *route, uint32_t newest, uint64_t bucket[RECENT_BUCKETS])
{
    for (int slot = 0; slot < RECENT_SLOTS; slot++)
        for (int b = 0; b < RECENT_BUCKETS; b++) {
            uint64_t value = get(&route->recent[slot][b]);
            /* 0 to 29 slots ago, or one that has begun since the caller looked at the clock. */
            if (newest + 1 - (uint32_t)(value >> 32) <= 60 / RECENT_SECONDS)
                bucket[b] += value & UINT32_MAX;
        }
}

/* The time that the share q of all requests did not exceed, linear within its bucket. */
static double quantile(const uint64_t bucket[RECENT_BUCKETS], uint64_t count, double q)
{
    double before = 0, wanted = q * (double)count;
    for (int b = 0; b < RECENT_BUCKETS; b++) {
        double here = (double)bucket[b];
        if (here > 0 && before + here >= wanted)
            return bucket_start(b) + (bucket_start(b + 1) - bucket_start(b)) * (wanted - before) / here;
        before += here;
    }
    return NAN;
}

void metrics_latency_at(const struct metrics *metrics, const size_t *route, size_t count, int64_t now,
                        struct metrics_latency *latency)
{
    uint64_t bucket[RECENT_BUCKETS] = {0};
    uint64_t requests = 0;
    /* 29 whole slots and half a second more than what is over of the present one; less soon after the start. */
    double span =
        fmin(60 - RECENT_SECONDS + (double)(now % RECENT_SECONDS) + 0.5, fmax((double)(now - metrics->start), 1));
    for (size_t n = 0; n < (count ? count : metrics->count); n++) {
        size_t r = count ? route[n] : n;
        if (r < metrics->count)
            gather_recent(&metrics->route[r], slot_time(now), bucket);
    }
    for (int b = 0; b < RECENT_BUCKETS; b++)
        requests += bucket[b];
    *latency = (struct metrics_latency){
        .requests = requests,
        .per_second = (double)requests / span,
        .p50 = quantile(bucket, requests, 0.5),
        .p95 = quantile(bucket, requests, 0.95),
        .p99 = quantile(bucket, requests, 0.99),
    };
}

void metrics_latency(const struct metrics *metrics, const size_t *route, size_t count,
                     struct metrics_latency *latency)
{
    metrics_latency_at(metrics, route, count, now_seconds(), latency);
}
