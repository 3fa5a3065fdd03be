/* search.h - which trials are trained for how long, whatever training is.
 *
 * All methods are one: rungs. Every trial is trained for the epochs of the first rung, the best go on to the
 * second, and so on. A grid and a random search have one rung. What has been trained before is in the record and
 * is not asked again, so a search that was stopped takes the same way a second time, without the work, to where
 * it was. */
#ifndef INMO_TUNE_SEARCH_H
#define INMO_TUNE_SEARCH_H

#include "tune/record.h"

enum { INMO_MOST_RUNGS = 16 };

struct inmo_search {
    int rungs;
    int epochs[INMO_MOST_RUNGS]; /* of each rung, rising */
    int trials[INMO_MOST_RUNGS]; /* so many take part */
    const uint64_t *seed;        // (seed_count) each trial is trained once with each
    size_t seed_count;
};

struct inmo_objective {
    void *context;
    /* Trains outcome->trial for outcome->epochs with outcome->seed and fills in the rest. Settings that cannot be
     * trained are an outcome with a code; a status ends the search. */
    enum inmo_status (*train)(void *context, int rung, struct inmo_outcome *outcome, struct inmo_error *error);
    /* All seeds of a trial are through in a rung; may be NULL. */
    void (*finished)(void *context, int rung, int trial);
    /* Nothing more will be asked of the trial; may be NULL. */
    void (*dropped)(void *context, int trial);
};

/* Where a trial stands: its last rung in which all seeds were trained. */
struct inmo_standing {
    int trial, rung;
    double score, deviation;           /* mean and standard deviation over the seeds; NaN when a seed failed */
    const struct inmo_outcome *failed; /* the first that did; NULL */
};

/* Plans halving: in each rung the best 1/rate of the one before, for rate times as many epochs; as many rungs as
 * the trials allow while the first has least_epochs. Epochs are rounded up to multiples of eval_every, so that a
 * training that stops there is validated where a longer one is. rate 0: one rung. */
void inmo_search_plan(struct inmo_search *search, int trials, int epochs, int eval_every, int rate,
                      int least_epochs);

/* Trains what the record does not have. On any status the record holds what was finished. */
enum inmo_status inmo_search_run(const struct inmo_search *search, struct inmo_tune_record *record,
                                 const struct inmo_objective *objective, struct inmo_error *error);

/* Trials with at least one finished rung, best first: by rung, then score, then number; failed ones last.
 * standing has room for trials[0]. Returns how many there are. */
size_t inmo_search_standings(const struct inmo_search *search, const struct inmo_tune_record *record,
                             struct inmo_standing *standing);

#endif
