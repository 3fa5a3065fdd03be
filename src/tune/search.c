/* search.c - see search.h. */
#include "tune/search.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void inmo_search_plan(struct inmo_search *search, int trials, int epochs, int eval_every, int rate,
                      int least_epochs)
{
    double share = 1, part = 1; /* rate^(rungs - 1); rate^(rungs made so far) */
    int rungs = 1;
    while (rate > 1 && rungs < INMO_MOST_RUNGS && share * rate <= trials &&
           epochs / (share * rate) >= least_epochs) {
        share *= rate;
        rungs++;
    }
    search->rungs = 0;
    for (; rungs > 0; rungs--, share /= rate) {
        double exact = ceil(epochs / share / eval_every) * eval_every;
        int rounded = rungs == 1 || exact > epochs ? epochs : (int)exact;
        /* Rounding made two rungs equal: keep one. */
        if (search->rungs > 0 && search->epochs[0][search->rungs - 1] == rounded)
            continue;
        search->epochs[0][search->rungs] = rounded;
        search->trials[search->rungs] = (int)fmax(1, floor(trials / part));
        search->rungs++;
        part *= rate;
    }
}

void inmo_search_plan_arms(struct inmo_search *search, size_t arms, int trials, const int *epochs,
                           const int *eval_every, const int *closed, int rate, int least_epochs)
{
    int rungs = 0, whole[INMO_MOST_ARMS]; /* the fewest of any model that can be shortened; 1: it cannot */
    for (size_t a = 0; a < arms; a++) {
        struct inmo_search alone = {0};
        inmo_search_plan(&alone, trials, epochs[a], eval_every[a], rate,
                         least_epochs ? least_epochs : eval_every[a]);
        whole[a] = closed[a] || alone.rungs == 1;
        if (!whole[a] && (rungs == 0 || alone.rungs < rungs))
            rungs = alone.rungs;
    }
    search->rungs = rungs ? rungs : 1;
    for (int rung = 0; rung < search->rungs; rung++) {
        double share = pow(rate > 1 ? rate : 1, search->rungs - 1 - rung);
        for (size_t a = 0; a < arms; a++) {
            double exact = ceil(epochs[a] / share / eval_every[a]) * eval_every[a];
            search->epochs[a][rung] = whole[a] || share <= 1 || exact > epochs[a] ? epochs[a] : (int)exact;
        }
        search->trials[rung] = (int)fmax(1, floor(trials / pow(rate > 1 ? rate : 1, rung)));
    }
}

int inmo_search_epochs(const struct inmo_search *search, int trial, int rung)
{
    return search->epochs[search->arms ? inmo_arms_find(search->arms, trial) : 0][rung];
}

/* ---- Standings ----------------------------------------------------------------------------------------------- */

/* Fills in the result of a trial in a rung, with one outcome that is not in the record yet (NULL: none). Returns 0
 * if a seed is not finished. */
static int standing_in_rung(const struct inmo_search *search, const struct inmo_tune_record *record, int trial,
                            int rung, const struct inmo_outcome *fresh, struct inmo_standing *standing)
{
    double sum = 0, squares = 0, count = (double)search->seed_count;
    int epochs = inmo_search_epochs(search, trial, rung);
    *standing = (struct inmo_standing){.trial = trial, .rung = rung, .score = NAN, .deviation = NAN};
    for (int pass = 0; pass < 2; pass++) /* first the mean, then the deviation */
        for (size_t s = 0; s < search->seed_count; s++) {
            const struct inmo_outcome *outcome =
                fresh && fresh->seed == search->seed[s]
                    ? fresh
                    : inmo_tune_record_find(record, trial, epochs, search->seed[s]);
            if (!outcome)
                return 0;
            if (outcome->code && !standing->failed)
                standing->failed = outcome;
            if (pass == 0)
                sum += outcome->score;
            else
                squares += (outcome->score - sum / count) * (outcome->score - sum / count);
        }
    if (!standing->failed) {
        standing->score = sum / count;
        if (search->seed_count > 1)
            standing->deviation = sqrt(squares / (count - 1));
    }
    return 1;
}

/* By score, whatever the rung. */
static int higher_first(const void *left, const void *right)
{
    const struct inmo_standing *a = left, *b = right;
    if (!a->failed != !b->failed)
        return a->failed ? 1 : -1;
    if (!a->failed && a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->trial < b->trial ? -1 : a->trial > b->trial;
}

/* By rung, then by score. */
static int better_first(const void *left, const void *right)
{
    const struct inmo_standing *a = left, *b = right;
    if (!a->failed == !b->failed && a->rung != b->rung)
        return a->rung > b->rung ? -1 : 1;
    return higher_first(left, right);
}

static int (*order_of(const struct inmo_search *search))(const void *, const void *)
{
    return search->by_time ? higher_first : better_first;
}

/* The rung that counts for a trial, of those in which all seeds are finished: the last one, or by_time the best.
 * Returns 0 if there is none. */
static int standing_of(const struct inmo_search *search, const struct inmo_tune_record *record, int trial,
                       struct inmo_standing *standing)
{
    int any = 0;
    for (int rung = 0; rung < search->rungs; rung++) {
        struct inmo_standing here;
        if (!standing_in_rung(search, record, trial, rung, NULL, &here) ||
            (any && search->by_time && higher_first(&here, standing) >= 0))
            continue;
        *standing = here;
        any = 1;
    }
    return any;
}

static int lower_number_first(const void *left, const void *right)
{
    return ((const struct inmo_standing *)left)->trial < ((const struct inmo_standing *)right)->trial ? -1 : 1;
}

size_t inmo_search_standings(const struct inmo_search *search, const struct inmo_tune_record *record,
                             struct inmo_standing *standing)
{
    size_t count = 0;
    for (int trial = 0; trial < search->trials[0]; trial++)
        count += (size_t)standing_of(search, record, trial, &standing[count]);
    qsort(standing, count, sizeof *standing, order_of(search));
    return count;
}

/* ---- The search ---------------------------------------------------------------------------------------------- */

struct course {
    const struct inmo_search *search;
    struct inmo_tune_record *record;
    const struct inmo_objective *objective;
    struct inmo_standing best; /* of all trials so far */
    int any;                   /* 1: there is a best */
};

/* Says so before it is recorded: a kill between the two repeats the training, and its model is not lost. */
static enum inmo_status note_lead(struct course *course, int rung, const struct inmo_outcome *outcome,
                                  struct inmo_error *error)
{
    struct inmo_standing now;
    enum inmo_status status = INMO_OK;
    if (!standing_in_rung(course->search, course->record, outcome->trial, rung, outcome, &now) || now.failed)
        return INMO_OK;
    if (course->any && order_of(course->search)(&now, &course->best) >= 0)
        return INMO_OK;
    if (course->objective->leads)
        status = course->objective->leads(course->objective->context, rung, outcome->trial, error);
    if (!status) {
        course->best = now;
        course->any = 1;
    }
    return status;
}

static enum inmo_status train_trial(struct course *course, int rung, int trial, struct inmo_error *error)
{
    const struct inmo_search *search = course->search;
    const struct inmo_objective *objective = course->objective;
    enum inmo_status status = INMO_OK;
    int trained = 0;
    for (size_t s = 0; s < search->seed_count && !status; s++) {
        struct inmo_outcome outcome = {.trial = trial,
                                       .epochs = inmo_search_epochs(search, trial, rung),
                                       .seed = search->seed[s],
                                       .score = NAN,
                                       .best_epoch = -1};
        if (inmo_tune_record_find(course->record, trial, outcome.epochs, outcome.seed))
            continue;
        status = objective->train(objective->context, rung, &outcome, error);
        if (!status) {
            status = note_lead(course, rung, &outcome, error);
            if (status)
                inmo_free(outcome.error);
        }
        if (!status)
            status = inmo_tune_record_add(course->record, &outcome, error);
        trained = 1;
    }
    if (!status && trained && objective->finished)
        objective->finished(objective->context, rung, trial);
    return status;
}

static int is_over(const struct course *course, int rung)
{
    const struct inmo_objective *objective = course->objective;
    return course->search->by_time && objective->is_over && objective->is_over(objective->context, rung);
}

static void enter(const struct course *course, int rung, int may_end)
{
    if (course->search->by_time && course->objective->enter)
        course->objective->enter(course->objective->context, rung, may_end);
}

/* Trains the trials of a rung and moves those that are finished to the front; *done is their number. */
static enum inmo_status run_rung(struct course *course, int rung, struct inmo_standing *field, int count, int *done,
                                 struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    *done = 0;
    enter(course, rung, 0);
    for (int n = 0; n < count && !status; n++) {
        struct inmo_standing here;
        int trial = field[n].trial;
        if (!standing_in_rung(course->search, course->record, trial, rung, NULL, &here)) {
            if (*done > 0 && is_over(course, rung))
                continue;
            status = train_trial(course, rung, trial, error);
            if (status == INMO_INTERRUPTED && *done > 0 && is_over(course, rung)) {
                status = INMO_OK;
                continue;
            }
            if (!status)
                standing_in_rung(course->search, course->record, trial, rung, NULL, &here);
        }
        if (!status) {
            field[n] = field[*done]; /* keeps the unfinished behind */
            field[(*done)++] = here;
            if (*done == 1)
                enter(course, rung, 1);
        }
    }
    return status;
}

/* Orders the finished trials of a rung, best first, and returns how many go on. */
static int choose(const struct inmo_search *search, int rung, struct inmo_standing *field, int count, int done)
{
    int stay = rung + 1 == search->rungs ? 0 : search->trials[rung + 1];
    qsort(field, (size_t)done, sizeof *field, better_first);
    if (done < count && stay > 0) /* the rung ended early: the same share of those that were trained */
        stay = (int)fmax(1, floor((double)stay * done / count));
    stay = stay < done ? stay : done;
    while (stay > 0 && field[stay - 1].failed)
        stay--;
    for (int n = stay; search->by_time && rung + 1 < search->rungs && n < done; n++)
        if (field[n].trial == 0 && !field[n].failed) {
            struct inmo_standing first = field[n];
            field[n] = field[stay];
            field[stay++] = first;
        }
    return stay;
}

enum inmo_status inmo_search_run(const struct inmo_search *search, struct inmo_tune_record *record,
                                 const struct inmo_objective *objective, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct course course = {.search = search, .record = record, .objective = objective};
    int count = search->trials[0];
    struct inmo_standing *field = inmo_alloc_zero((size_t)count, sizeof *field); /* ordered by trial number */
    if (!field)
        return inmo_fail_memory(error, "the search");
    for (int n = 0; n < count; n++) {
        struct inmo_standing here;
        field[n].trial = n;
        if (!standing_of(search, record, n, &here) || here.failed ||
            (course.any && order_of(search)(&here, &course.best) > 0))
            continue;
        course.best = here;
        course.any = 1;
    }
    for (int rung = 0; rung < search->rungs && !status; rung++) {
        int done = 0, stay;
        status = run_rung(&course, rung, field, count, &done, error);
        if (status)
            break;
        stay = choose(search, rung, field, count, done);
        for (int n = stay; n < done && objective->dropped; n++)
            objective->dropped(objective->context, field[n].trial);
        count = stay;
        if (!search->by_time)
            qsort(field, (size_t)count, sizeof *field, lower_number_first);
    }
    inmo_free(field);
    return status;
}
