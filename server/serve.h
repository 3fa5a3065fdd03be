/* serve.h - the entrance to the server: `inmo serve` fills in the options and calls serve_run. */
#ifndef INMO_SERVER_SERVE_H
#define INMO_SERVER_SERVE_H

#include "inmo.h"

struct serve_options {
    const char *model;  /* a model file; NULL: the one in use when the server ended, or none */
    const char *store;  /* a file or postgresql://... */
    const char *models; /* folder of trained models; NULL: STORE.models */
    const char *host;
    int port;
    int threads; /* that answer requests; 0: one a core */

    const char *positive, *seen; /* types of feedback: that count as choosing, that only mark as seen */
    const char *import_type;     /* type of imported interactions without one */
    double refresh;              /* seconds */

    const char *keys;                      /* key file */
    const char *tls_certificate, *tls_key; /* files; NULL: plain HTTP */
    double rate, anonymous_rate; /* requests a second for a key, and for everybody without one; 0: any number */
    const char *allow_origin;

    int most_n;       /* longest list of one answer */
    int most_history; /* longest history in a request */
    double most_body; /* bytes */
    int connections;  /* at once */
    int idle_seconds; /* until a request has come whole, and between requests */

    double retrain_seconds; /* between retrainings; 0: not by time */
    int retrain_events;     /* retrain after so many new events; 0: not by events */
    int first_events;       /* events it takes to train for the first time */
    const char *train;      /* further options of `inmo train`, as on its command line */
    int keep_models;
    int retrain_threads;
    const char *log_format; /* text|json */
};

void serve_options_init(struct serve_options *options);
/* Rows for the command line. */
const struct inmo_setting *serve_settings(size_t *count);

/* What the options mean, without doing it: prints sentences by the hooks' log; opens what must be there. */
enum inmo_status serve_check(const struct serve_options *options, const struct inmo_hooks *hooks,
                             struct inmo_error *error);
/* Serves until SIGTERM or SIGINT. The caller has not started threads yet. started (may be NULL) is called when
 * requests are answered, with the address. */
enum inmo_status serve_run(const struct serve_options *options, void (*started)(const char *address),
                           struct inmo_error *error);
/* Brings logs into the store, with the types of their events if they have any. by opens a file and gives its lines,
 * unpacked and decoded. */
struct store_lines;
struct serve_lines {
    enum inmo_status (*open)(const char *path, const struct inmo_read_options *read, struct store_lines *lines,
                             struct inmo_error *error);
    void (*close)(struct store_lines *lines);
};
enum inmo_status serve_import(const struct serve_options *options, const char *const *paths, size_t count,
                              const struct inmo_read_options *read, const struct serve_lines *by,
                              const struct inmo_hooks *hooks, int64_t *added, struct inmo_error *error);
/* Prints a new API key, and its line for the key file, which is appended to path instead if that is not NULL. */
enum inmo_status serve_new_key(const char *path, const char *name, const char *right,
                               void (*print)(const char *text), struct inmo_error *error);
/* Writes "METHOD pattern right" of every route, for documentation and tests. */
void serve_print_routes(void (*line)(const char *text));

#endif
