/* tell.c - what a search says while it runs: the name of a training, and how a trial ended. */
#include "base/memory.h"
#include "base/text.h"
#include "tune/tune.h"

#include <inttypes.h>

void inmo_tune_name_stage(const struct inmo_tuning *tuning, int rung, const struct inmo_outcome *outcome,
                          char *name, size_t size)
{
    const struct inmo_search *search = &tuning->search;
    struct inmo_text stage = {0};
    char *text;
    inmo_text_format(&stage, "trial %d of %d", outcome->trial + 1, search->trials[0]);
    if (search->rungs > 1)
        inmo_text_format(&stage, ", rung %d of %d", rung + 1, search->rungs);
    if (search->seed_count > 1)
        inmo_text_format(&stage, ", seed %" PRIu64, outcome->seed);
    text = inmo_text_take(&stage);
    snprintf(name, size, "%s", text ? text : "trial");
    inmo_free(text);
}

void inmo_tune_tell(const struct inmo_tuning *tuning, const struct inmo_tune_record *record, int rung, int trial,
                    const struct inmo_hooks *hooks)
{
    const struct inmo_search *search = &tuning->search;
    const struct inmo_arms *arms = &tuning->arms;
    const struct inmo_arm *arm = &arms->arm[inmo_arms_find(arms, trial)];
    struct inmo_text settings = {0};
    int epochs = inmo_search_epochs(search, trial, rung);
    double sum = 0;
    char *text;

    if (arms->count > 1)
        inmo_text_format(&settings, "%s", arm->model);
    for (size_t a = 0; a < arm->space.axis_count; a++) {
        char buffer[INMO_VALUE_SIZE];
        inmo_text_format(&settings, "%s%s %s", settings.length ? ", " : "", arm->space.axis[a].row->name,
                         inmo_arms_value(arms, trial, a, buffer));
    }
    text = inmo_text_take(&settings);
    for (size_t s = 0; s < search->seed_count; s++) {
        const struct inmo_outcome *outcome = inmo_tune_record_find(record, trial, epochs, search->seed[s]);
        if (outcome->code) {
            inmo_note(hooks, INMO_NOTE, "trial %d of %d (%s) failed: %s", trial + 1, search->trials[0],
                      text ? text : "", outcome->error);
            inmo_free(text);
            return;
        }
        sum += outcome->score;
    }
    if (arm->closed)
        inmo_note(hooks, INMO_NOTE, "trial %d of %d (%s): ndcg@20 %.4f", trial + 1, search->trials[0],
                  text ? text : "", sum / (double)search->seed_count);
    else
        inmo_note(hooks, INMO_NOTE, "trial %d of %d (%s): ndcg@20 %.4f in %d epochs", trial + 1, search->trials[0],
                  text ? text : "", sum / (double)search->seed_count, epochs);
    inmo_free(text);
}
