/* refit.h - what becomes of the interactions that settings were chosen by, once all is chosen (`refit`).
 *
 *     none    they stay out of the model
 *     graph   the parameters stay as they are; the model's graph gets all interactions, and what follows from it in
 *             closed form, representations, walks and links, is that of everything
 *     train   a second pass: the model is trained again on all interactions, for as many epochs as the best one of
 *             the first pass had, with the settings and weights chosen there
 *
 * inmo_train is here: it holds out what is to be validated on, if the data set has no such part, and makes one or
 * two passes (train.c). The checkpoint of a second pass carries the record of the first, so that a resumed run
 * skips the first. */
#ifndef INMO_TRAIN_REFIT_H
#define INMO_TRAIN_REFIT_H

#include "data/dataset.h"
#include "model/model.h"

struct inmo_warm;
/* One training: what inmo_train does once or twice. */
struct inmo_train_pass {
    const struct inmo_dataset *data;          /* its validation part decides on epochs and weights */
    const struct inmo_dataset *exported;      /* whose interactions the model gets */
    const struct inmo_train_options *options; /* checked; `refit` is not auto */
    const struct inmo_hooks *hooks;
    const struct inmo_hooks
        *asked;             /* say whether to stop; on several ranks hooks do not, as all must stop at once */
    struct inmo_warm *warm; /* both passes begin with its model, if it has one (warm.h) */
    int64_t held_out;       /* interactions that were held out of the data set's training part */
    const char *before;     /* in a second pass: the record of the first; else NULL */
    int32_t epochs;         /* in a second pass: how many it has, of those that the schedule spans */
};
/* train.c */
enum inmo_status inmo_train_once(const struct inmo_train_pass *pass, struct inmo_model **model,
                                 struct inmo_train_report *report, struct inmo_error *error);

/* Whether `refit` graph is possible: the model represents nodes without parameters of their own by their
 * neighbours. */
static inline int inmo_refits_by_graph(const struct inmo_model_kind *kind)
{
    return kind->provider && kind->provider->templates;
}
/* Puts {"how", "held-out", "epochs", "ndcg@20"} into the first object of the record, which is made if it is not
 * there. epochs 0: a closed form. */
enum inmo_status inmo_refit_note(const struct inmo_train_pass *pass, int32_t epochs, double score, char **record,
                                 struct inmo_error *error);

#endif
