/* warm.h - a warm start: training begins with the parameters of an earlier model, matched by external id, and takes
 * only the last epochs of the schedule, where the learning rate is low. Users and items the earlier model does not
 * have start as they always do, but turned into the space of its vectors (docs/math.md, "Warm start"). */
#ifndef INMO_TRAIN_WARM_H
#define INMO_TRAIN_WARM_H

#include "data/dataset.h"
#include "train/step.h"

struct inmo_warm {
    struct inmo_model *model; /* the earlier one; NULL: no warm start */
    /* The caller's, but what the earlier model was trained and validated on stays in these parts. */
    struct inmo_dataset data;
    struct inmo_csr train, valid;  // owned: those of data
    int32_t epochs, skipped;       // to be trained; of the schedule, left out before them
    uint64_t fingerprint;          // of the earlier model's parameters
    int64_t kept, fresh;           // parameter rows from it, and new ones; set by inmo_warm_copy
};

/* Loads options->from (NULL: does nothing) and checks that it fits the options. Errors: those of loading; USAGE
 * (names the option that differs), UNSUPPORTED (a model that does not learn by steps), INPUT (it was trained on
 * test interactions of the data, or shares nothing with them). */
enum inmo_status inmo_warm_open(const struct inmo_dataset *data, const struct inmo_train_options *options,
                                const struct inmo_hooks *hooks, struct inmo_warm *warm, struct inmo_error *error);
void inmo_warm_close(struct inmo_warm *warm);

/* kept (nodes, in the data set's numbers): 1 for templates of the earlier model, which stay templates. */
enum inmo_status inmo_warm_templates(const struct inmo_warm *warm, const struct inmo_graph *graph, uint8_t *kept,
                                     struct inmo_error *error);
/* Says how much of the earlier model is kept. */
void inmo_warm_tell(const struct inmo_warm *warm, const struct inmo_hooks *hooks);
/* Replaces the starting parameters of a stepper. */
enum inmo_status inmo_warm_copy(struct inmo_warm *warm, struct inmo_stepper *stepper, struct inmo_error *error);

#endif
