/* record.h - what a search has found so far, in a file that survives being killed at any moment.
 *
 * DIR/trials.jsonl: a line that says which search it is, then a line for each finished training, appended and
 * synced. A line that was being written when the power went is not there the next time. docs/formats.md has the
 * fields. */
#ifndef INMO_TUNE_RECORD_H
#define INMO_TUNE_RECORD_H

#include "tune/space.h"

/* How one training ended. (trial, epochs, seed) is its name. Trials are numbered from 0 here, from 1 where
 * people see them. */
struct inmo_outcome {
    int trial, epochs;
    uint64_t seed;
    double score; /* best validation NDCG@20; NaN when it failed */
    int best_epoch;
    double seconds;        /* for people: nothing depends on it */
    enum inmo_status code; /* OK, or why the settings cannot be trained */
    char *error;           /* the sentence to code; NULL when OK */
};

struct inmo_tune_record {
    const struct inmo_space *space;
    char *path;                    // of the file; NULL: only in memory
    int descriptor;                /* open and locked; -1: none */
    struct inmo_outcome *outcome;  // (count) in the order they finished
    size_t count;
};

/* Makes the directory or goes on with what is in it. search is a JSON object; a file that begins with another
 * one is refused. directory NULL: nothing is kept. Errors: EXISTS (a directory with other things in it; another
 * search, says in what it differs), FORMAT (a damaged line that is not the last), IO (also when another process
 * has it), MEMORY. */
enum inmo_status inmo_tune_record_open(struct inmo_tune_record *record, const char *directory, const char *search,
                                       const struct inmo_space *space, struct inmo_error *error);
void inmo_tune_record_close(struct inmo_tune_record *record);

const struct inmo_outcome *inmo_tune_record_find(const struct inmo_tune_record *record, int trial, int epochs,
                                                 uint64_t seed);
/* On the disk when it returns. Takes over outcome->error, also on failure. */
enum inmo_status inmo_tune_record_add(struct inmo_tune_record *record, const struct inmo_outcome *outcome,
                                      struct inmo_error *error);

#endif
