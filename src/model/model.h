/* model.h - a trained model: parameters + which node each belongs to + configuration. It has no graph of its own to
 * compute on; the interactions it was trained on are kept so that its users can be served by name. */
#ifndef INMO_MODEL_MODEL_H
#define INMO_MODEL_MODEL_H

#include "base/csr.h"
#include "base/idmap.h"
#include "model/head.h"
#include "model/recipe.h"
#include "model/seam.h"
#include "model/system.h"

/* A row of the table of models (table.c): a pair, with or without a head, or a standalone system. */
struct inmo_model_kind {
    const char *name, *alias; /* as --model has it; alias NULL: none */
    const char *label;        /* as reports print it */
    const char *help;         /* a few words */
    const struct inmo_provider *provider;
    const struct inmo_backbone *backbone;
    const struct inmo_head *head; /* NULL: scores are dot products */
    const struct inmo_system *system;
    struct inmo_paper_recipe paper;
    struct inmo_fast_recipe fast;
};
const struct inmo_model_kind *inmo_model_kind_find(const char *name);
/* Kind n of the table, from 0; NULL when there are not so many. */
const struct inmo_model_kind *inmo_model_kind_at(size_t n);
/* Of the table: all names and aliases, "a|b|c"; what --help says of each; those that serve people who were not
 * there in training, for messages, "a, b or c". */
const char *inmo_model_names(void);
const char *inmo_model_help(void);
const char *inmo_models_for_unseen(void);

/* Whether the model serves people who were not there in training, */
static inline int inmo_kind_serves_unseen(const struct inmo_model_kind *kind)
{
    return kind->system ? kind->system->new_users : kind->provider->inductive;
}
/* offers items that were not there, if somebody has chosen them since, */
static inline int inmo_kind_offers_unseen(const struct inmo_model_kind *kind)
{
    return kind->system ? kind->system->new_items : kind->provider->inductive;
}
/* and if nobody has. */
static inline int inmo_kind_offers_unchosen(const struct inmo_model_kind *kind)
{
    return kind->system ? kind->system->new_items : kind->provider->templates;
}

/* Whether a score is a product of vectors, to which walks can be added. */
static inline int inmo_kind_takes_walks(const struct inmo_model_kind *kind)
{
    return kind->provider && !kind->head;
}

/* Neighbours that walks keep of each item by default (score/walk.h). */
enum { INMO_WALK_NEIGHBOURS = 30 };

struct inmo_model {
    const struct inmo_model_kind *kind;
    int dim, layers;                 /* columns of e */
    double alpha_reached;            /* of the epoch whose parameters these are */
    double popularity;               /* exponent of an item's degree in its representation */
    double walks;                    /* weight of short walks in a score (score/walk.h); 0: none */
    int walk_neighbours;             /* of each item, at most */
    int alpha_one;                   /* outside training alpha is 1, not the one reached */
    struct inmo_idmap users, items;  // those with training interactions
    struct inmo_csr train, valid;    // among them
    int32_t rows;                    // bound parameter rows
    const int32_t *node_of_row;      // (rows) template -> node of this model; NULL: row = node
    const float *parameter;          // (rows + extra rows, dim); NULL for systems
    float *own;  // (own rows, dim) of provider, backbone and head, never in the file's memory; NULL for systems
    struct inmo_tensor *tensor;  // (tensors) of a system, in the order of its rules; NULL for others
    size_t tensors;
    void *tensor_block;  // owner of all tensors' numbers; NULL: each is allocated, or the file's
    char *configuration, *record;
    struct inmo_tensorfile *file;  // owner of the arrays; NULL: they are allocated one by one
    int32_t *owned_nodes;          // node_of_row of a loaded model, which the file has in two parts
};

int64_t inmo_model_parameter_count(const struct inmo_model *model);
int inmo_model_width(const struct inmo_model *model); /* columns of r; 0: no vectors */
/* Rows that the own parameters of provider, backbone and head take, one after the other. */
int32_t inmo_own_rows(const struct inmo_model_kind *kind, int dim, int layers);
/* Part n of them, and 1; 0 past the last. Their numbers stand one after the other, too: only the head's end has
 * zeros. */
int inmo_model_part(const struct inmo_model *model, int n, struct inmo_part *part);
const float *inmo_model_head(const struct inmo_model *model);
/* The backbone's among them. */
static inline const float *inmo_kind_backbone_own(const struct inmo_model_kind *kind, int dim, const float *own)
{
    return own ? own + (size_t)inmo_provider_rows(kind->provider, dim) * (size_t)dim : NULL;
}
double inmo_model_alpha(const struct inmo_model *model);
/* The next tensor of a system's model, named by its rule; data becomes the model's, whatever the status. */
enum inmo_status inmo_model_add_tensor(struct inmo_model *model, int64_t rows, int64_t columns, void *data,
                                       struct inmo_error *error);

/* The model's parameters on another set of users and items, matched by external id. */
struct inmo_model_binding {
    struct inmo_binding binding;
    const struct inmo_graph *graph; /* whose numbers scores have: the binding's, or what that was before training
                                       renumbered it (graph/order.h) */
    int32_t *row_of_node;           // (nodes)
    int32_t *node_of_row;           // (rows) -1 where the graph does not have the node
    int32_t *model_user;            // (users of the graph) number in the model, or -1
    int32_t *model_item;
    int32_t *graph_item;  // (items of the model) number in the graph, or -1
};
enum inmo_status inmo_model_bind(const struct inmo_model *model, const struct inmo_graph *graph,
                                 const struct inmo_idmap *users, const struct inmo_idmap *items,
                                 struct inmo_model_binding *bound, struct inmo_error *error);
/* The same for a graph whose first users and items are the model's, in its order: nothing is looked up. Nodes whose
 * fate (nodes; NULL: none) has one of the flags of dropped are treated as unknown to the model. */
enum inmo_status inmo_model_bind_numbered(const struct inmo_model *model, const struct inmo_graph *graph,
                                          const uint8_t *fate, uint8_t dropped, struct inmo_model_binding *bound,
                                          struct inmo_error *error);
void inmo_model_unbind(struct inmo_model_binding *bound);
/* Indexes the ids once, for lookups of all views; from any number of threads. */
enum inmo_status inmo_model_index(const struct inmo_model *model, struct inmo_error *error);

/* Whether L2 falls on r, by the word of either. */
int inmo_regularises_output(const struct inmo_model_kind *kind);
/* Representations of all nodes of a graph by provider and backbone: r (nodes, width), and memory (nodes, memory
 * width) or NULL. own: what provider and backbone have beside rows of nodes; popularity: see readout.h. */
enum inmo_status inmo_represent(const struct inmo_model_kind *kind, const struct inmo_binding *binding, int layers,
                                const float *parameter, const float *own, double alpha, double popularity, float *r,
                                float *memory, struct inmo_error *error);

#endif
