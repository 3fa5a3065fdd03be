/* trials.h - the kernels, ready to run at the sizes of training and serving (d = 64), with the minimum of bytes (by
 * access pattern and memory level) and flops that each needs. docs/benchmarks.md says how they are counted.
 *
 *     limit = max( Σ bytes / rate of that traffic and level,  flops / peak flops per second ) */
#ifndef INMO_LIMIT_TRIALS_H
#define INMO_LIMIT_TRIALS_H

#include "data/dataset.h"
#include "score/quantised.h"
#include "limit/machine.h"
#include "model/seam.h"
#include "loss/listwise.h"
#include "loss/softmax.h"

enum { INMO_TRIALS = 10 };

struct inmo_trials;

struct inmo_trial {
    const char *name;
    int one_thread;
    double moved[INMO_TRAFFICS][INMO_LEVELS]; /* bytes */
    double flops;
    enum inmo_status (*run)(struct inmo_trials *trials, struct inmo_error *error);
};

struct inmo_trials {
    const struct inmo_machine *machine;
    const struct inmo_dataset *data;
    struct inmo_graph *graph;
    struct inmo_trial trial[INMO_TRIALS];
    float *x, *out;                      // (nodes, d)
    float *m, *v, *gradient;             // (nodes, d)
    uint32_t *half, *half_out;           // (nodes, d / 2)
    int32_t *node, node_count;           // nodes of a batch
    int32_t *identity;                   // (nodes) every node is a template
    int32_t *index;                      // (2 batch + negatives) of softmax
    int32_t *who, who_count, *top_item;  // users to rank; (who_count, k)
    float *top_score;                    // (k)
    int32_t k;
    struct inmo_provider_state *provider;
    struct inmo_listwise listwise;
    struct inmo_softmax softmax;
    struct inmo_quantised *quantised;
};

/* trials must be freed even after a failure. Errors: INPUT (no interactions), MEMORY. */
enum inmo_status inmo_trials_make(const struct inmo_dataset *data, const struct inmo_machine *machine,
                                  struct inmo_trials *trials, struct inmo_error *error);
void inmo_trials_free(struct inmo_trials *trials);

/* The limit in seconds; *by_memory: 1 if memory decides, 0 if arithmetic does. */
double inmo_trial_limit(const struct inmo_trial *trial, const struct inmo_machine *machine, int *by_memory);

#endif
