/* fuzz.h - what the fuzz targets share. A target gets any bytes, writes them to a file where the reader expects
 * one, reads it, and uses what was read. It must come back; what it checks itself is the contract of inmo.h:
 *
 *     a call that fails says why in one sentence, with the code it returns
 *     what was read can be used without a fault
 *
 * Files with checksums get right ones first (inmo_fuzz_reseal), so that the checks behind them are reached: the
 * library itself knows nothing of this.
 *
 *     entry.c   a program for each target, for libFuzzer (clang; cmake --preset fuzz)
 *     replay.c  one plain program that runs the files of corpus/ through all targets, in the ordinary tests
 *     seeds.c   writes corpus/ again from synthetic data */
#ifndef INMO_FUZZ_FUZZ_H
#define INMO_FUZZ_FUZZ_H

#include "inmo.h"

typedef void inmo_fuzz_call(const uint8_t *data, size_t size);

inmo_fuzz_call inmo_fuzz_log, inmo_fuzz_dataset, inmo_fuzz_model, inmo_fuzz_checkpoint, inmo_fuzz_rows,
    inmo_fuzz_run, inmo_fuzz_trials, inmo_fuzz_config, inmo_fuzz_routes, inmo_fuzz_import;

#define INMO_FUZZ_TARGETS(X)                                                                                       \
    X(log) X(dataset) X(model) X(checkpoint) X(rows) X(run) X(trials) X(config) INMO_FUZZ_SERVER(X)
#ifdef INMO_HAS_SERVER /* a build without it has no such targets */
#define INMO_FUZZ_SERVER(X) X(routes) X(import)
#else
#define INMO_FUZZ_SERVER(X)
#endif

/* Prints the sentence and aborts: how a target says that something is wrong. */
void inmo_fuzz_broken(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Aborts unless the outcome of a call is as inmo.h promises. Returns 1 when it succeeded. With INMO_FUZZ_SHOW in
 * the environment every failure is printed. */
int inmo_fuzz_ended(const char *call, enum inmo_status status, const struct inmo_error *error);

/* What was read has been used: said by a target when an input is whole. How often that was so. */
void inmo_fuzz_used(void);
long inmo_fuzz_uses(void);

/* A folder of this process, in memory if the system has such a place; removed at the end. */
const char *inmo_fuzz_folder(void);
/* Writes FOLDER/name, or over it; returns its path, which stays until the next call. */
const char *inmo_fuzz_file(const char *name, const void *data, size_t size);

/* A tensor file's two checksums made right, in place. 0: it does not look like one. */
int inmo_fuzz_reseal(uint8_t *data, size_t size);
/* The same on a copy, which the caller frees. */
uint8_t *inmo_fuzz_resealed(const uint8_t *data, size_t size);

/* A small data set from a fixed log, with 7 users and 6 items, for the caller to free; and one that is made
 * once. */
struct inmo_dataset *inmo_fuzz_prepared(const char *scenario);
const struct inmo_dataset *inmo_fuzz_dataset_at_hand(void);
/* Options of a training that takes a millisecond. */
void inmo_fuzz_train_options(struct inmo_train_options *options, const char *model);

/* Which run (lab/run.h) the target reads: the identity its file must have. */
#define INMO_FUZZ_RUN_IDENTITY "{\"fuzz\": 1}"
#define INMO_FUZZ_RUN_NAME "00000000000000aa"

#endif
