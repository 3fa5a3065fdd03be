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
        if (search->rungs > 0 && search->epochs[search->rungs - 1] == rounded)
            continue;
        search->epochs[search->rungs] = rounded;
        search->trials[search->rungs] = (int)fmax(1, floor(trials / part));
        search->rungs++;
        part *= rate;
    }
}

/* Fills in the result of a trial in a rung. Returns 0 if a seed is not finished. */
static int standing_in_rung(const struct inmo_search *search, const struct inmo_tune_record *record, int trial,
                            int rung, struct inmo_standing *standing)
{
    double sum = 0, squares = 0, count = (double)search->seed_count;
    *standing = (struct inmo_standing){.trial = trial, .rung = rung, .score = NAN, .deviation = NAN};
    for (int pass = 0; pass < 2; pass++) /* first the mean, then the deviation */
        for (size_t s = 0; s < search->seed_count; s++) {
            const struct inmo_outcome *outcome =
                inmo_tune_record_find(record, trial, search->epochs[rung], search->seed[s]);
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

static int better_first(const void *left, const void *right)
{
    const struct inmo_standing *a = left, *b = right;
    if (!a->failed != !b->failed)
        return a->failed ? 1 : -1;
    if (a->rung != b->rung)
        return a->rung > b->rung ? -1 : 1;
    if (!a->failed && a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->trial < b->trial ? -1 : a->trial > b->trial;
}

static int lower_number_first(const void *left, const void *right)
{
    return ((const struct inmo_standing *)left)->trial < ((const struct inmo_standing *)right)->trial ? -1 : 1;
}

static enum inmo_status train_trial(const struct inmo_search *search, struct inmo_tune_record *record,
                                    const struct inmo_objective *objective, int rung, int trial,
                                    struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int trained = 0;
    for (size_t s = 0; s < search->seed_count && !status; s++) {
        struct inmo_outcome outcome = {.trial = trial,
                                       .epochs = search->epochs[rung],
                                       .seed = search->seed[s],
                                       .score = NAN,
                                       .best_epoch = -1};
        if (inmo_tune_record_find(record, trial, outcome.epochs, outcome.seed))
            continue;
        status = objective->train(objective->context, rung, &outcome, error);
        if (!status)
            status = inmo_tune_record_add(record, &outcome, error);
        trained = 1;
    }
    if (!status && trained && objective->finished)
        objective->finished(objective->context, rung, trial);
    return status;
}

enum inmo_status inmo_search_run(const struct inmo_search *search, struct inmo_tune_record *record,
                                 const struct inmo_objective *objective, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int count = search->trials[0];
    struct inmo_standing *field = inmo_alloc_zero((size_t)count, sizeof *field); /* ordered by trial number */
    if (!field)
        return inmo_fail_memory(error, "the search");
    for (int n = 0; n < count; n++)
        field[n].trial = n;
    for (int rung = 0; rung < search->rungs && !status; rung++) {
        int last = rung + 1 == search->rungs, stay = last ? 0 : search->trials[rung + 1];
        for (int n = 0; n < count && !status; n++) {
            status = train_trial(search, record, objective, rung, field[n].trial, error);
            if (!status)
                standing_in_rung(search, record, field[n].trial, rung, &field[n]);
        }
        if (status)
            break;
        qsort(field, (size_t)count, sizeof *field, better_first);
        stay = stay < count ? stay : count;
        while (stay > 0 && field[stay - 1].failed)
            stay--;
        for (int n = stay; n < count && objective->dropped; n++)
            objective->dropped(objective->context, field[n].trial);
        count = stay;
        qsort(field, (size_t)count, sizeof *field, lower_number_first);
    }
    inmo_free(field);
    return status;
}

size_t inmo_search_standings(const struct inmo_search *search, const struct inmo_tune_record *record,
                             struct inmo_standing *standing)
{
    size_t count = 0;
    for (int trial = 0; trial < search->trials[0]; trial++)
        for (int rung = search->rungs - 1; rung >= 0; rung--)
            if (standing_in_rung(search, record, trial, rung, &standing[count])) {
                count++;
                break;
            }
    qsort(standing, count, sizeof *standing, better_first);
    return count;
}
