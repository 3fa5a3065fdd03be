/* record.h - the finished trainings of a search, in a file that survives a kill at any moment.
 *
 * DIR/trials.jsonl has one line that identifies the search, then one line for each finished training, appended and
 * synced. A line cut off by a crash is dropped when the file is opened again. docs/formats.md lists the fields. */
#ifndef INMO_TUNE_RECORD_H
#define INMO_TUNE_RECORD_H

#include "tune/arms.h"

enum { INMO_MOST_TRIALS = 10000 };

/* The outcome of one training, identified by (trial, epochs, seed). Trials count from 0 here and from 1 in
 * messages. */
struct inmo_outcome {
    int trial, epochs;
    uint64_t seed;
    double score; /* best validation NDCG@20; NaN when it failed */
    int best_epoch;
    double seconds;        /* informative only */
    enum inmo_status code; /* OK, or why the training failed */
    char *error;           /* message for code; NULL when OK */
};

struct inmo_tune_record {
    const struct inmo_arms *arms;
    char *path;                    // of the file; NULL: only in memory
    int descriptor;                /* open and locked; -1: none */
    struct inmo_outcome *outcome;  // (count) in the order they finished
    size_t count;
};

/* Creates the directory or continues with its record. search is a JSON object that identifies the search. directory
 * NULL: keep the record in memory only. Errors: EXISTS (the directory has other files, or another search; the
 * message says in what it differs), FORMAT (a damaged line before the last), IO (also if another process uses it),
 * MEMORY. */
enum inmo_status inmo_tune_record_open(struct inmo_tune_record *record, const char *directory, const char *search,
                                       const struct inmo_arms *arms, struct inmo_error *error);
void inmo_tune_record_close(struct inmo_tune_record *record);

const struct inmo_outcome *inmo_tune_record_find(const struct inmo_tune_record *record, int trial, int epochs,
                                                 uint64_t seed);
/* Synced to disk when it returns. Takes ownership of outcome->error, also on failure. */
enum inmo_status inmo_tune_record_add(struct inmo_tune_record *record, const struct inmo_outcome *outcome,
                                      struct inmo_error *error);

#endif
