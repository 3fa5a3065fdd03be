/* metrics.h - what the server counts and measures, for Prometheus (GET /metrics) and for /api/status.
 *
 *     requests by route, method and status     counters, and a histogram of the time each took
 *     events, commits, refusals, ...           the counters of METRICS_COUNTER_LIST
 *     commits, refreshes                       the histograms of METRICS_HISTOGRAM_LIST
 *     how much, how fresh, how old             the gauges of METRICS_GAUGE_LIST
 *     memory, processor time, descriptors      read from the system when asked for
 *
 * Threads: every call may come from any thread. Nothing is locked; a request costs a few atomic additions and
 * allocates nothing (tests/test_serve_metrics.c prints how long it takes).
 *
 * What was never counted or set is left out of the text, except plain counters, which begin at 0. */
#ifndef INMO_SERVER_METRICS_H
#define INMO_SERVER_METRICS_H

#include "base/text.h"
#include "inmo.h"

/* Name in C, name for Prometheus, label with its value or "", help. Rows of the same name follow each other. */
#define METRICS_COUNTER_LIST(X)                                                                                    \
    X(EVENTS_INSERTED, "inmo_events_total", "kind=\"inserted\"", "Feedback taken in, by what it did.")             \
    X(EVENTS_OVERWRITTEN, "inmo_events_total", "kind=\"overwritten\"", "")                                         \
    X(EVENTS_DUPLICATE, "inmo_events_total", "kind=\"duplicate\"", "")                                             \
    X(EVENTS_DELETED, "inmo_events_total", "kind=\"deleted\"", "")                                                 \
    X(EVENTS_IMPORTED, "inmo_events_total", "kind=\"imported\"", "")                                               \
    X(ITEMS_CHANGED, "inmo_items_changed_total", "", "Items written or deleted.")                                  \
    X(USERS_CHANGED, "inmo_users_changed_total", "", "Users written or deleted.")                                  \
    X(RECOMMEND_MODEL, "inmo_recommendations_total", "by=\"model\"", "Lists made, by what they came from.")        \
    X(RECOMMEND_FALLBACK, "inmo_recommendations_total", "by=\"popularity\"", "")                                   \
    X(REFUSED_KEY, "inmo_http_refused_total", "reason=\"key\"", "Requests refused before they were handled.")      \
    X(REFUSED_RATE, "inmo_http_refused_total", "reason=\"rate\"", "")                                              \
    X(REFUSED_SIZE, "inmo_http_refused_total", "reason=\"size\"", "")                                              \
    X(REFUSED_BUSY, "inmo_http_refused_total", "reason=\"busy\"", "")                                              \
    X(STORE_FAILED_FULL, "inmo_store_failures_total", "reason=\"full\"", "Commits that failed.")                   \
    X(STORE_FAILED_AWAY, "inmo_store_failures_total", "reason=\"away\"", "")                                       \
    X(STORE_FAILED_OTHER, "inmo_store_failures_total", "reason=\"other\"", "")                                     \
    X(MODEL_SWAPPED, "inmo_model_retrains_total", "result=\"swapped\"", "Retrainings, by how they ended.")         \
    X(MODEL_KEPT, "inmo_model_retrains_total", "result=\"kept\"", "")                                              \
    X(MODEL_FAILED, "inmo_model_retrains_total", "result=\"failed\"", "")

/* Name in C, name for Prometheus, help. */
#define METRICS_HISTOGRAM_LIST(X)                                                                                  \
    X(STORE_COMMIT, "inmo_store_commit_seconds", "Time of a commit to the store.")                                 \
    X(FRESHNESS_REFRESH, "inmo_freshness_refresh_seconds", "Time of a rebuild of the snapshot.")                   \
    X(FRESHNESS_EVENT, "inmo_freshness_event_seconds", "Time from an event's arrival to its acknowledgement.")

#define METRICS_GAUGE_LIST(X)                                                                                      \
    X(READY, "inmo_ready", "1 when requests are answered from a model or from popularity.")                        \
    X(HTTP_CONNECTIONS, "inmo_http_connections", "Open connections.")                                              \
    X(STORE_FEEDBACK, "inmo_store_feedback", "Feedback in the store.")                                             \
    X(STORE_USERS, "inmo_store_users", "Users in the store.")                                                      \
    X(STORE_ITEMS, "inmo_store_items", "Items in the store.")                                                      \
    X(STORE_BYTES, "inmo_store_bytes", "Size of the store.")                                                       \
    X(STORE_WAITING, "inmo_store_waiting_changes", "Changes that wait for a commit.")                              \
    X(STORE_LAG, "inmo_store_lag_changes", "Changes in the store that are not served yet.")                        \
    X(STORE_WRITABLE, "inmo_store_writable", "1 when the last commit succeeded.")                                  \
    X(FRESHNESS_PENDING, "inmo_freshness_pending_events", "Events since the snapshot.")                            \
    X(FRESHNESS_SNAPSHOT, "inmo_freshness_snapshot_timestamp_seconds", "When the snapshot was made.")              \
    X(FRESHNESS_NEWEST, "inmo_freshness_newest_event_timestamp_seconds", "Time of the newest event.")              \
    X(MODEL_NUMBER, "inmo_model_number", "Number of the model in use.")                                            \
    X(MODEL_TRAINED, "inmo_model_trained_timestamp_seconds", "When the model in use was trained.")                 \
    X(MODEL_ACTIVATED, "inmo_model_activated_timestamp_seconds", "Since when the model is in use.")                \
    X(MODEL_AGE, "inmo_model_age_seconds", "Time since the model in use was trained.")                             \
    X(MODEL_VALIDATION, "inmo_model_validation_score", "Validation score of the model in use.")                    \
    X(MODEL_USERS, "inmo_model_users", "Users the model in use was trained on.")                                   \
    X(MODEL_ITEMS, "inmo_model_items", "Items the model in use was trained on.")                                   \
    X(MODEL_RETRAINING, "inmo_model_retraining", "1 while a model is trained.")

#define METRICS_ENUM(name, ...) METRICS_##name,
enum metrics_counter { METRICS_COUNTER_LIST(METRICS_ENUM) METRICS_COUNTERS };
enum metrics_histogram { METRICS_HISTOGRAM_LIST(METRICS_ENUM) METRICS_HISTOGRAMS };
enum metrics_gauge { METRICS_GAUGE_LIST(METRICS_ENUM) METRICS_GAUGES };
#undef METRICS_ENUM

struct metrics;

/* Route n is route[n] ("/api/user/{id}") with method[n] ("GET"); the strings are kept, not copied. Each pair may
 * occur once. NULL if memory is short. */
struct metrics *metrics_create(const char *const *route, const char *const *method, size_t count);
void metrics_destroy(struct metrics *metrics);

/* A request was answered: the route's number, the HTTP status, seconds from its arrival. */
void metrics_request(struct metrics *metrics, size_t route, int status, double seconds);
void metrics_count(struct metrics *metrics, enum metrics_counter counter, uint64_t more);
void metrics_observe(struct metrics *metrics, enum metrics_histogram histogram, double seconds);
void metrics_set(struct metrics *metrics, enum metrics_gauge gauge, double value);

/* Requests since the start, and the present value of a counter. */
uint64_t metrics_requests(const struct metrics *metrics);
uint64_t metrics_counted(const struct metrics *metrics, enum metrics_counter counter);

/* The last minute of these routes together (count 0: of all). Quantiles are in seconds, at most 7 % off; NaN when
 * there was no request. */
struct metrics_latency {
    uint64_t requests;
    double per_second, p50, p95, p99;
};
void metrics_latency(const struct metrics *metrics, const size_t *route, size_t count,
                     struct metrics_latency *latency);

/* Bytes of memory in use by this process; 0 when /proc is not there. */
uint64_t metrics_memory(void);

/* Appends everything as Prometheus's text format. METRICS_CONTENT_TYPE goes with it. */
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
void metrics_write(const struct metrics *metrics, struct inmo_text *text);

/* For tests: the same with the clock given, in seconds. */
void metrics_request_at(struct metrics *metrics, size_t route, int status, double seconds, int64_t now);
void metrics_latency_at(const struct metrics *metrics, const size_t *route, size_t count, int64_t now,
                        struct metrics_latency *latency);

#endif
