/* search.h - decides which trials are trained for how many epochs. Training itself is a callback.
 *
 * All methods use rungs. Every trial is trained for the epochs of the first rung, the best continue to the second,
 * and so on. Grid and random search have one rung. Trainings in the record are not repeated, so an interrupted
 * search that is started again follows the same path through the record and continues where it stopped. */
#ifndef INMO_TUNE_SEARCH_H
#define INMO_TUNE_SEARCH_H

#include "tune/record.h"

enum { INMO_MOST_RUNGS = 16 };

struct inmo_search {
    int rungs;
    int epochs[INMO_MOST_ARMS][INMO_MOST_RUNGS]; /* of each model and rung, ascending */
    int trials[INMO_MOST_RUNGS];                 /* number of trials in each rung */
    const struct inmo_arms *arms;                /* NULL: one model */
    const uint64_t *seed;                        // (seed_count) each trial is trained once with each
    size_t seed_count;
    /* 1: made for a limit of time, and for several models. The best of a rung are trained first in the next one, a
     * rung ends early when the objective says so, and trial 0 always goes on: what others gain is measured from
     * there. Any finished training may be the best, also a short one. */
    int by_time;
};

struct inmo_objective {
    void *context;
    /* Trains outcome->trial for outcome->epochs with outcome->seed and fills in the rest. Settings that cannot be
     * trained give an outcome with a code; a status other than OK ends the search. */
    enum inmo_status (*train)(void *context, int rung, struct inmo_outcome *outcome, struct inmo_error *error);
    /* Called before a training is recorded that makes its trial the best of all; may be NULL. A status other than
     * OK ends the search, and the training is not recorded. */
    enum inmo_status (*leads)(void *context, int rung, int trial, struct inmo_error *error);
    /* by_time: called when a rung begins, and again when it has a finished trial and thus may end; and whether it
     * is to end now. A training that has the status INTERRUPTED then is left as it is. */
    void (*enter)(void *context, int rung, int may_end);
    int (*is_over)(void *context, int rung);
    /* Called when all seeds of a trial have finished a rung; may be NULL. */
    void (*finished)(void *context, int rung, int trial);
    /* Called when a trial will not be trained again; may be NULL. */
    void (*dropped)(void *context, int trial);
};

/* Standing of a trial: its last rung in which all seeds are finished; by_time: its best. */
struct inmo_standing {
    int trial, rung;
    double score, deviation;           /* mean and standard deviation over the seeds; NaN when a seed failed */
    const struct inmo_outcome *failed; /* the first failed outcome, or NULL */
};

/* Plans the rungs. Each rung takes the best 1/rate of the previous one for rate times as many epochs. There are as
 * many rungs as the number of trials allows while the first rung has least_epochs. Epochs are rounded up to
 * multiples of eval_every, so that short and long trainings are validated at the same epochs. rate 0: one rung. */
void inmo_search_plan(struct inmo_search *search, int trials, int epochs, int eval_every, int rate,
                      int least_epochs);

/* The same for several models, each with its own epochs: rung r has the same share of each model's. eval_every and
 * closed (1: a closed form) have one entry for each model, as epochs. A closed form, or a model whose epochs are
 * too few for a second rung, is trained in full in every rung. */
void inmo_search_plan_arms(struct inmo_search *search, size_t arms, int trials, const int *epochs,
                           const int *eval_every, const int *closed, int rate, int least_epochs);
/* Epochs of a trial in a rung. */
int inmo_search_epochs(const struct inmo_search *search, int trial, int rung);

/* Trains what is missing in the record. Whatever the status, the record holds all finished trainings. */
enum inmo_status inmo_search_run(const struct inmo_search *search, struct inmo_tune_record *record,
                                 const struct inmo_objective *objective, struct inmo_error *error);

/* Trials with a finished rung, best first: by rung (not by_time), then score, then number; failed ones last.
 * standing has room for trials[0]. Returns their number. */
size_t inmo_search_standings(const struct inmo_search *search, const struct inmo_tune_record *record,
                             struct inmo_standing *standing);

#endif
