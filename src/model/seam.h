/* seam.h - the two interfaces that make up most models: embedding provider x backbone.
 *
 *     parameters --provider--> e (embeddings) --backbone--> r (representations)
 *     gradient  <--provider-- de             <--backbone-- dr
 *
 * A provider does not know how its embeddings are used, and a backbone does not know where they come from. A
 * backbone may have its own parameters: whole rows of dim numbers that follow the provider's in one block. r may
 * be wider than e. Both work on all nodes or only on the rows a step needs, as the backbone requires (needs_all):
 * MF needs e of the batch, LightGCN e of every node. Both allocate their buffers before the first step; what
 * forward and backward return is valid until the next call. */
#ifndef INMO_MODEL_SEAM_H
#define INMO_MODEL_SEAM_H

#include "base/status.h"
#include "graph/graph.h"

/* The nodes a step needs, ascending. Arrays "by rows" have count rows in this order. */
struct inmo_rows {
    int32_t count;
    const int32_t *node;      // (count)
    const int32_t *position;  // (nodes) index in node, or -1; NULL for mf on a lookup table
};

/* The layout of the parameters: row r of the block belongs to node node_of_row[r]. */
struct inmo_binding {
    const struct inmo_graph *graph;
    int dim;
    int32_t rows;                // bound rows: one for each node of a lookup table, or each template of inmo
    const int32_t *row_of_node;  // (nodes) row or -1; NULL: row = node
    const int32_t *node_of_row;  // (rows) node or -1; NULL: node = row
    int32_t user_rows;           // if rows are templates: the number of template users, which come first
    int shared_attention; /* idcf: 1: users and items have the same weights, and keys are drawn with repeats */
    int64_t sample;       /* idcf: the number of the sample of keys outside training */
};

/* Gradient of the parameter block. value[n] belongs to the provider's row rows->node[n]; its other rows have none.
 * rows NULL: value has all rows. value NULL: the rows are frozen. */
struct inmo_gradient {
    float *value;
    const struct inmo_rows *rows;
    const float *weights;  // (rows of the provider's weights, dim); NULL: it has none
    const float *own;      // (rows of the backbone's parameters, dim); NULL: it has none
    const float *head;     // (rows of the head's parameters, dim); NULL: it has none
};

/* What varies between training steps. Outside training both dropouts are 0. */
struct inmo_moment {
    double alpha, dropout; /* the provider's */
    double graph_dropout;  /* the backbone's */
    uint64_t seed;
    int64_t step;
};

/* One tensor of the extra parameters of a provider, a backbone or a head, in the order of its block. */
struct inmo_part {
    char name[32];
    int32_t rows;
    int32_t columns; /* 0: dim; only heads use other values */
    int is_vector;   /* 1: has one row, and is a vector in files */
};

struct inmo_row_start;
/* A user or an item outside the graph, and its neighbours in it. */
struct inmo_composition {
    const struct inmo_binding *binding;
    const float *parameter;
    const float *base;  // as filled by the provider's base()
    double alpha;
    int is_item;          /* 1: its neighbours are users */
    int32_t own_row;      /* its row in a lookup table, or -1 */
    const int32_t *node;  // (count)
    int32_t count;
    int32_t usable;       /* neighbours with a row in the whole history; node may list only some of them */
    int with_base;        /* 0: compute only what the listed neighbours add */
    const float *weight;  // (count) of the listed neighbours; NULL: 1
    double mean;          /* of the weights of the whole history; 1 without weights */
};

struct inmo_provider_state;
struct inmo_provider {
    const char *name;
    const char *family; /* name for all its models in messages, "an inmo model"; NULL: each model's own name */
    int inductive;      /* 1: can represent nodes that were not in the training data */
    int templates;      /* 1: only templates, chosen once, have rows; 0: every node has one */
    int extra_rows;     /* parameter rows after the bound ones */
    int diagonal;       /* which of the extra rows, from 1, is the diagonal w of the self-enhanced loss; 0: none */
    int regularises_output; /* L2 applies to r (1) or to e (0) */
    int is_table;           /* 1: e consists of the parameter rows that touches names, unchanged */
    /* Name of the model whose trained embeddings are the rows, which stay frozen; NULL: rows are trained. */
    const char *frozen_from;
    int base_rows; /* rows of dim numbers that base() fills for each side */
    int weights;   /* 1: its sums heed the weights of edges; a table's have none to heed */
    int additive;  /* 1: compose is a sum of one term for each neighbour and one that depends on none */
    /* Sets *part to part n of its weights (parameters besides its rows) and returns 1; returns 0 after the last.
     * NULL: no weights. */
    int (*part)(int dim, int n, struct inmo_part *part);
    void (*start_weights)(const struct inmo_binding *binding, uint64_t key, float *weights);
    /* Sets the starting values of its rows, (rows + extra_rows, dim): see start.h. Frozen rows may get any values,
     * as they are replaced. */
    void (*start_rows)(const struct inmo_row_start *start, float *parameter);
    struct inmo_provider_state *(*create)(const struct inmo_binding *binding, int32_t most_rows, int for_training);
    void (*destroy)(struct inmo_provider_state *state);
    void (*begin)(struct inmo_provider_state *state, const float *weights, const struct inmo_moment *moment);
    /* The rows of the parameter block that forward reads and backward has a gradient for. Called after begin, with
     * the rows that forward and backward will get. NULL, or rows NULL: all. */
    const struct inmo_rows *(*touches)(struct inmo_provider_state *state, const struct inmo_rows *rows);
    /* Computes e of all nodes (rows NULL) or by rows. parameter has the rows that touches returned, in that
     * order. */
    const float *(*forward)(struct inmo_provider_state *state, const float *parameter,
                            const struct inmo_rows *rows);
    /* Computes what compose needs besides the neighbours: base_rows rows for users, then as many for items. 0, or
     * -1 when memory is short. NULL: compose needs nothing. */
    int (*base)(const struct inmo_binding *binding, const float *parameter, const float *weights, float *base);
    /* Computes e of one user or item outside the graph, from its neighbours in it. */
    void (*compose)(const struct inmo_composition *job, float *e);
    /* The provider's own term of a step's loss, computed between forward and backward: a term for each node of the
     * batch, times its weight in the mean over the batch (by rows), with the gradient added to de; and l2 times
     * the squared norms of its weights, whose gradient backward adds. NULL: no such term. */
    double (*own_loss)(struct inmo_provider_state *state, const struct inmo_rows *rows, const float *weight,
                       double l2, float *de);
    /* de has the shape of forward's result and may be overwritten. */
    struct inmo_gradient (*backward)(struct inmo_provider_state *state, const struct inmo_rows *rows, float *de);
    /* Between two steps: gives back the memory of what only steps need (inmo_release). NULL: keeps it. */
    void (*rest)(struct inmo_provider_state *state);
};

/* The input for folding in one user or item outside the graph, which does not change the graph: its embedding e,
 * the nodes of its history, and the memory that represent() filled. degree is the length of the whole history;
 * node may list only a part of it, as the r of an affine backbone is a sum over the items. */
struct inmo_fold {
    const struct inmo_graph *graph;
    int dim, layers;
    const float *own, *memory;
    const float *e;       // (dim)
    const int32_t *node;  // (count)
    int32_t count, degree;
    const float *weight;  // (count) of the listed nodes; NULL: 1
    double strength;      /* sum of the weights of the whole history; degree without weights */
    float *space;         // (INMO_FOLD_SPACE dim)
    int is_item;          /* 1: its neighbours are users */
};
enum { INMO_FOLD_SPACE = 4 };

struct inmo_backbone_state;
struct inmo_backbone {
    const char *name;
    int needs_all;
    int weights;            /* 1: it heeds the weights of edges, or looks at none */
    int passes_through;     /* 1: r is e */
    int reads_output;       /* 1: backward needs r as forward returned it */
    int regularises_output; /* 1: L2 applies to r, whatever the provider says */
    /* 1: r is affine in e and in the sum over neighbours, so a score can be split exactly */
    int affine;
    /* Sets *part to part n of its own parameters and returns 1; returns 0 after the last. NULL: it has none. */
    int (*part)(int dim, int layers, int n, struct inmo_part *part);
    /* Sets the starting values of its own parameters. scale: the standard deviation of normal values. */
    void (*start)(int dim, int layers, double scale, uint64_t key, float *own);
    int (*width)(int dim, int layers);        /* of a row of r; NULL: dim */
    int (*memory_width)(int dim, int layers); /* floats per node that fold() needs; NULL: 0 */
    /* half: intermediate results may be stored in half precision. */
    struct inmo_backbone_state *(*create)(const struct inmo_graph *graph, int dim, int layers, int32_t most_rows,
                                          int half);
    void (*destroy)(struct inmo_backbone_state *state);
    /* Called before each step, with its own parameters; NULL: nothing to prepare. */
    void (*begin)(struct inmo_backbone_state *state, const float *own, const struct inmo_moment *moment);
    /* Computes r by rows, from e of all nodes or by rows. The caller may change r unless it is e itself or
     * backward reads it. */
    float *(*forward)(struct inmo_backbone_state *state, const float *e, const struct inmo_rows *rows);
    float *(*backward)(struct inmo_backbone_state *state, const struct inmo_rows *rows, float *dr);
    void (*rest)(struct inmo_backbone_state *state); /* as a provider's */
    /* The gradient of its own parameters, after backward; NULL: it has none. */
    const float *(*own_gradient)(const struct inmo_backbone_state *state);
    /* Computes r of all nodes, (nodes, width), and, if memory is not NULL, what folding in needs, (nodes, memory
     * width): see docs/math.md. 0, or -1 when memory is short. */
    int (*represent)(const struct inmo_graph *graph, int dim, int layers, const float *own, const float *e,
                     float *r, float *memory);
    void (*fold)(const struct inmo_fold *fold, float *r);
};

int inmo_backbone_width(const struct inmo_backbone *backbone, int dim, int layers);
int inmo_backbone_memory_width(const struct inmo_backbone *backbone, int dim, int layers);
/* The number of rows that the extra parameters of each need. */
int32_t inmo_backbone_rows(const struct inmo_backbone *backbone, int dim, int layers);
int32_t inmo_provider_rows(const struct inmo_provider *provider, int dim);

extern const struct inmo_provider inmo_provider_lookup, inmo_provider_average, inmo_provider_inmo,
    inmo_provider_idcf;
extern const struct inmo_backbone inmo_backbone_mf, inmo_backbone_lightgcn, inmo_backbone_ngcf,
    inmo_backbone_imc_gae;

#endif
