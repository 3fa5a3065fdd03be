/* metrics_parts.h - what metrics.c counts in and metrics_text.c writes. */
#ifndef INMO_SERVER_METRICS_PARTS_H
#define INMO_SERVER_METRICS_PARTS_H

#include "server/metrics.h"

#include <stdatomic.h>

enum {
    METRICS_BOUNDS = 16,  /* of the histograms for Prometheus */
    METRICS_CODES = 32,   /* status codes counted one by one; the last is any other */
    METRICS_STATUS = 600, /* status codes are below */
    RECENT_SECONDS = 2,   /* of one slot */
    RECENT_SLOTS = 32,    /* more than a minute */
    RECENT_BUCKETS = 192, /* 128 ns to 8.6 s */
};

struct metrics_distribution {
    _Atomic uint64_t bucket[METRICS_BOUNDS + 1]; /* not cumulative */
    _Atomic uint64_t nanoseconds;                /* their sum */
};

struct metrics_route {
    const char *name, *method;
    _Atomic uint64_t code[METRICS_CODES];
    struct metrics_distribution seconds;
    _Atomic uint64_t recent[RECENT_SLOTS][RECENT_BUCKETS]; /* the slot's time << 32 | count */
};

struct metrics {
    struct metrics_route *route;  // (count)
    size_t count;
    int64_t start;                      /* seconds of the clock of metrics_request_at */
    uint8_t code_place[METRICS_STATUS]; /* place of a status in code */
    _Atomic uint64_t counter[METRICS_COUNTERS];
    struct metrics_distribution histogram[METRICS_HISTOGRAMS];
    _Atomic uint64_t gauge[METRICS_GAUGES]; /* bits of a double; NaN: not set */
};

extern const double metrics_bounds[METRICS_BOUNDS]; /* seconds, ascending */
extern const int16_t metrics_codes[METRICS_CODES];

#endif
