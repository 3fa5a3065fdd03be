/* seam.h - the seam of the whole design: embedding provider x backbone.
 *
 *     parameters --provider--> e (embeddings) --backbone--> r (representations)
 *     gradient  <--provider-- de             <--backbone-- dr
 *
 * A provider knows nothing of what its embeddings are used for, a backbone nothing of where they come from. Both
 * work on all nodes or, where that is enough, on the rows a step needs; which of the two is the backbone's word
 * (needs_all): MF needs e of the batch only, LightGCN of every node. Both own their buffers, made once before the
 * first step; what forward and backward return stays valid until the next call. */
#ifndef INMO_MODEL_SEAM_H
#define INMO_MODEL_SEAM_H

#include "base/status.h"
#include "graph/graph.h"

/* Nodes a step needs, ascending; arrays "by rows" have count rows in this order. */
struct inmo_rows {
    int32_t count;
    const int32_t *node;      // (count)
    const int32_t *position;  // (nodes) index in node, or -1; NULL for mf on a lookup table
};

/* How the parameters lie: row r of the block belongs to node node_of_row[r]. */
struct inmo_binding {
    const struct inmo_graph *graph;
    int dim;
    int32_t rows;                // bound rows: nodes of a lookup table, templates of inmo
    const int32_t *row_of_node;  // (nodes) row or -1; NULL: row = node
    const int32_t *node_of_row;  // (rows) node or -1; NULL likewise
};

/* Gradient of the parameter block: value[n] is that of row rows->node[n], and the other rows have none; rows NULL: all
 * rows are there. */
struct inmo_gradient {
    float *value;
    const struct inmo_rows *rows;
};

/* What a training step changes about the embeddings. Outside training: dropout 0. */
struct inmo_moment {
    double alpha, dropout;
    uint64_t seed;
    int64_t step;
};

struct inmo_provider_state;
struct inmo_provider {
    const char *name;
    int inductive;          /* serves nodes that were not there in training */
    int extra_rows;         /* parameter rows after the bound ones */
    int regularises_output; /* L2 falls on r (1) or on e (0) */
    int is_table;           /* e is rows of the parameters themselves, for the rows that touches names */
    struct inmo_provider_state *(*create)(const struct inmo_binding *binding, int32_t most_rows, int for_training);
    void (*destroy)(struct inmo_provider_state *state);
    void (*begin)(struct inmo_provider_state *state, const struct inmo_moment *moment);
    /* Rows of the parameter block that forward reads for these nodes and backward has a gradient for. Asked after begin,
     * with the rows that forward and backward will get. NULL, or rows NULL: all. */
    const struct inmo_rows *(*touches)(struct inmo_provider_state *state, const struct inmo_rows *rows);
    /* e, of all nodes (rows NULL) or by rows. parameter has the rows that touches names, in its order. */
    const float *(*forward)(struct inmo_provider_state *state, const float *parameter, const struct inmo_rows *rows);
    /* de is of the shape forward gave, and may be used up. */
    struct inmo_gradient (*backward)(struct inmo_provider_state *state, const struct inmo_rows *rows, float *de);
};

struct inmo_backbone_state;
struct inmo_backbone {
    const char *name;
    int needs_all;
    int passes_through;     /* r is e */
    /* half: what lies between input and output may be stored in half precision. */
    struct inmo_backbone_state *(*create)(const struct inmo_graph *graph, int dim, int layers, int32_t most_rows,
                                          int half);
    void (*destroy)(struct inmo_backbone_state *state);
    /* r by rows, from e of all nodes or by rows. */
    const float *(*forward)(struct inmo_backbone_state *state, const float *e, const struct inmo_rows *rows);
    float *(*backward)(struct inmo_backbone_state *state, const struct inmo_rows *rows, float *dr);
    /* r of all nodes, and (if sums is not NULL) what folding in somebody unseen takes: see docs/math.md. 0, or -1
     * when memory is short. */
    int (*represent)(const struct inmo_graph *graph, int dim, int layers, const float *e, float *r, float *sums);
};

extern const struct inmo_provider inmo_provider_lookup, inmo_provider_inmo;
extern const struct inmo_backbone inmo_backbone_mf, inmo_backbone_lightgcn;

#endif
