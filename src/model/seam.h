/* seam.h - the seam of the whole design: embedding provider x backbone.
 *
 *     parameters --provider--> e (embeddings) --backbone--> r (representations)
 *     gradient  <--provider-- de             <--backbone-- dr
 *
 * A provider knows nothing of what its embeddings are used for, a backbone nothing of where they come from. A
 * backbone may have parameters of its own, whole rows of dim numbers that follow the provider's in one block,
 * and r may be wider than e. Both work on all nodes or, where that is enough, on the rows a step needs; which of
 * the two is the backbone's word (needs_all): MF needs e of the batch only, LightGCN of every node. Both own
 * their buffers, made once before the first step; what forward and backward return stays valid until the next
 * call. */
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
    int32_t user_rows;           // where rows are templates: those of users come first
};

/* Gradient of the parameter block: value[n] is that of the provider's row rows->node[n], and its other rows have
 * none; rows NULL: all its rows are there; value NULL: its rows are frozen. */
struct inmo_gradient {
    float *value;
    const struct inmo_rows *rows;
    const float *weights;  // (provider's own rows, dim); NULL: it has none
    const float *own;      // (backbone's rows, dim) likewise
    const float *head;     // (head's rows, dim) likewise
};

/* What a training step changes about the computation. Outside training: both dropouts 0. */
struct inmo_moment {
    double alpha, dropout; /* the provider's */
    double graph_dropout;  /* the backbone's */
    uint64_t seed;
    int64_t step;
};

/* One tensor among the own parameters of a provider, a backbone or a head, in the order they have in its block. */
struct inmo_part {
    char name[32];
    int32_t rows;
    int32_t columns; /* 0: dim, as all have but a head's */
    int is_vector;   /* one row, and a vector in files */
};

struct inmo_row_start;
/* A user or an item that is not in the graph, and its neighbours there. */
struct inmo_composition {
    const struct inmo_binding *binding;
    const float *parameter;
    const float *base;  // as the provider's base() filled it
    double alpha;
    int is_item;          /* then its neighbours are users */
    int32_t own_row;      /* its own row of a table, or -1 */
    const int32_t *node;  // (count)
    int32_t count;
    int32_t usable; /* neighbours with a row in the whole history, of which node may list a part */
    int with_base;  /* 0: only what the listed neighbours add */
};

struct inmo_provider_state;
struct inmo_provider {
    const char *name;
    const char *family; /* what messages call all its models, "an inmo model"; NULL: each by its name */
    int inductive;      /* serves nodes that were not there in training */
    int templates;      /* rows belong to templates, chosen once, rather than to every node */
    int extra_rows;     /* parameter rows after the bound ones */
    int diagonal;       /* which of them, from 1, is the diagonal w of the self-enhanced loss; 0: there is none */
    int regularises_output; /* L2 falls on r (1) or on e (0) */
    int is_table;           /* e is rows of the parameters themselves, for the rows that touches names */
    const char
        *frozen_from; /* the rows are the embeddings of a trained model of this name, and stay; NULL: they learn */
    int base_rows;    /* rows of dim numbers that base fills for each side */
    int additive;     /* compose is a sum: of a term for each neighbour, and of one without them */
    /* Part n of the weights it has beside its rows, and 1; 0 past the last. NULL: it has none. */
    int (*part)(int dim, int n, struct inmo_part *part);
    void (*start_weights)(int dim, uint64_t key, float *weights);
    /* Starting values of its rows, (rows + extra_rows, dim): see start.h. Of frozen rows any, as they are
     * replaced. */
    void (*start_rows)(const struct inmo_row_start *start, float *parameter);
    struct inmo_provider_state *(*create)(const struct inmo_binding *binding, int32_t most_rows, int for_training);
    void (*destroy)(struct inmo_provider_state *state);
    void (*begin)(struct inmo_provider_state *state, const float *weights, const struct inmo_moment *moment);
    /* Rows of the parameter block that forward reads for these nodes and backward has a gradient for. Asked
     * after begin, with the rows that forward and backward will get. NULL, or rows NULL: all. */
    const struct inmo_rows *(*touches)(struct inmo_provider_state *state, const struct inmo_rows *rows);
    /* e, of all nodes (rows NULL) or by rows. parameter has the rows that touches names, in its order. */
    const float *(*forward)(struct inmo_provider_state *state, const float *parameter,
                            const struct inmo_rows *rows);
    /* What composing takes beside the neighbours, base_rows rows for a user and then as many for an item. 0, or -1
     * when storage is short. NULL: nothing. */
    int (*base)(const struct inmo_binding *binding, const float *parameter, const float *weights, float *base);
    /* e of one user or item that is not in the graph, from its neighbours there. */
    void (*compose)(const struct inmo_composition *job, float *e);
    /* What it adds to the loss of a step by itself, between forward and backward: for the batch's nodes, each
     * with its weight in the mean over the batch (by rows), with the gradient added to de; and l2 times the
     * squared norms of its weights, whose gradient backward adds. NULL: nothing. */
    double (*own_loss)(struct inmo_provider_state *state, const struct inmo_rows *rows, const float *weight,
                       double l2, float *de);
    /* de is of the shape forward gave, and may be used up. */
    struct inmo_gradient (*backward)(struct inmo_provider_state *state, const struct inmo_rows *rows, float *de);
};

/* Somebody who is not in the graph, seen by it without changing it: what the backbone makes of the embedding e,
 * the items of the history (nodes) and what represent() kept of the graph. degree is the length of the history,
 * which node need not list whole: an affine backbone's r is the sum of what each item adds. */
struct inmo_fold {
    const struct inmo_graph *graph;
    int dim, layers;
    const float *own, *memory;
    const float *e;       // (dim)
    const int32_t *node;  // (count)
    int32_t count, degree;
    float *space;  // (INMO_FOLD_SPACE dim)
    int is_item;   /* then its neighbours are users */
};
enum { INMO_FOLD_SPACE = 4 };

struct inmo_backbone_state;
struct inmo_backbone {
    const char *name;
    int needs_all;
    int passes_through;     /* r is e */
    int reads_output;       /* backward needs r as forward left it */
    int regularises_output; /* L2 falls on r whatever the provider says */
    int affine;             /* r is affine in e and in the sum over neighbours, so that a score has exact parts */
    /* Part n of its own parameters, and 1; 0 past the last. NULL: it has none. */
    int (*part)(int dim, int layers, int n, struct inmo_part *part);
    /* Starting values of its own parameters. scale: standard deviation where they are normal. */
    void (*start)(int dim, int layers, double scale, uint64_t key, float *own);
    int (*width)(int dim, int layers);        /* of a row of r; NULL: dim */
    int (*memory_width)(int dim, int layers); /* floats a node that fold() needs; NULL: 0 */
    /* half: what lies between input and output may be stored in half precision. */
    struct inmo_backbone_state *(*create)(const struct inmo_graph *graph, int dim, int layers, int32_t most_rows,
                                          int half);
    void (*destroy)(struct inmo_backbone_state *state);
    /* Before each step, with its own parameters; NULL: nothing to prepare. */
    void (*begin)(struct inmo_backbone_state *state, const float *own, const struct inmo_moment *moment);
    /* r by rows, from e of all nodes or by rows. The caller may change it, unless it is e itself or backward
     * reads it. */
    float *(*forward)(struct inmo_backbone_state *state, const float *e, const struct inmo_rows *rows);
    float *(*backward)(struct inmo_backbone_state *state, const struct inmo_rows *rows, float *dr);
    /* Gradient of its own parameters, after backward; NULL: it has none. */
    const float *(*own_gradient)(const struct inmo_backbone_state *state);
    /* r of all nodes, (nodes, width), and (if memory is not NULL) what folding in somebody unseen takes, (nodes,
     * memory width): see docs/math.md. 0, or -1 when storage is short. */
    int (*represent)(const struct inmo_graph *graph, int dim, int layers, const float *own, const float *e,
                     float *r, float *memory);
    void (*fold)(const struct inmo_fold *fold, float *r);
};

int inmo_backbone_width(const struct inmo_backbone *backbone, int dim, int layers);
int inmo_backbone_memory_width(const struct inmo_backbone *backbone, int dim, int layers);
/* Rows of dim numbers that the own parameters of each take. */
int32_t inmo_backbone_rows(const struct inmo_backbone *backbone, int dim, int layers);
int32_t inmo_provider_rows(const struct inmo_provider *provider, int dim);

extern const struct inmo_provider inmo_provider_lookup, inmo_provider_average, inmo_provider_inmo,
    inmo_provider_idcf;
extern const struct inmo_backbone inmo_backbone_mf, inmo_backbone_lightgcn, inmo_backbone_ngcf,
    inmo_backbone_imc_gae;

#endif
