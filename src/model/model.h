/* model.h - a trained model: parameters, the node each row belongs to, and configuration. It has no graph to
 * compute on; it keeps its training interactions so that its users can be served by name. */
#ifndef INMO_MODEL_MODEL_H
#define INMO_MODEL_MODEL_H

#include "base/csr.h"
#include "base/idmap.h"
#include "model/choice.h"
#include "model/head.h"
#include "model/recipe.h"
#include "model/seam.h"
#include "model/system.h"
#include "model/links.h"

/* A row of the table of models (table.c): provider and backbone, with or without a head, or a standalone system. */
struct inmo_model_kind {
    const char *name, *alias; /* names for --model; alias may be NULL */
    const char *label;        /* name in reports */
    const char *help;         /* short description */
    const struct inmo_provider *provider;
    const struct inmo_backbone *backbone;
    const struct inmo_head *head; /* NULL: scores are dot products */
    const struct inmo_system *system;
    struct inmo_paper_recipe paper, yelp, amazon_book;
    struct inmo_fast_recipe fast;
    const struct inmo_choice *choice; /* settings that training chooses; NULL: none */
};
const struct inmo_model_kind *inmo_model_kind_find(const char *name);
/* Row n of the table, from 0; NULL after the last. */
const struct inmo_model_kind *inmo_model_kind_at(size_t n);
/* From the table: all names and aliases, "a|b|c"; the same for messages, "a, b, c"; the help for all; the models
 * that serve unseen users, for messages, "a, b or c". */
const char *inmo_model_names(void);
const char *inmo_model_list(void);
const char *inmo_model_help(void);
const char *inmo_models_for_unseen(void);

/* Whether the model serves users who were not in the training data. */
static inline int inmo_kind_serves_unseen(const struct inmo_model_kind *kind)
{
    return kind->system ? kind->system->new_users : kind->provider->inductive;
}
/* Whether it recommends items that were not in the training data but have users now. */
static inline int inmo_kind_offers_unseen(const struct inmo_model_kind *kind)
{
    return kind->system ? kind->system->new_items : kind->provider->inductive;
}
/* Whether it recommends such items even if they have no users. */
static inline int inmo_kind_offers_unchosen(const struct inmo_model_kind *kind)
{
    return kind->system ? kind->system->new_items : kind->provider->templates;
}

/* Whether it heeds the weights of interactions. Others are trained without them. */
static inline int inmo_kind_takes_weights(const struct inmo_model_kind *kind)
{
    return kind->system ? kind->system->weights : !kind->head && kind->provider->weights && kind->backbone->weights;
}

/* Whether walks and links can be added to the score: it must be a dot product. */
static inline int inmo_kind_takes_walks(const struct inmo_model_kind *kind)
{
    return kind->provider && !kind->head;
}

/* Default number of walk neighbours kept for each item (score/walk.h). */
enum { INMO_WALK_NEIGHBOURS = 30 };

/* What a model has of the part that its settings were chosen by (train/refit.h): nothing; it is in its graph; it
 * was trained on it. */
enum inmo_refitted { INMO_REFIT_NONE, INMO_REFIT_GRAPH, INMO_REFIT_TRAIN };

struct inmo_model {
    const struct inmo_model_kind *kind;
    int dim, layers; /* columns of e */
    /* alpha of the epoch that the parameters come from, or of the next (eval-alpha) */
    double alpha_reached;
    double popularity;                           /* exponent of an item's degree in its representation */
    double walks;                                /* weight of short walks in a score (score/walk.h); 0: none */
    int walk_neighbours;                         /* most walk neighbours of each item */
    double prior;                                /* weight of popularity in a score (score/prior.h); 0: none */
    double links;                                /* weight of item links in a score (score/links.h); 0: none */
    struct inmo_link_rule link_rule;             /* how they were solved, for items that come later */
    struct inmo_links *linked;                   // among the model's items; NULL: not solved yet
    int alpha_one;                               /* 1: outside training alpha is 1 instead of alpha_reached */
    int shared_attention;                        /* idcf: see struct inmo_binding */
    enum inmo_refitted refitted;                 /* what it has of the validation part */
    struct inmo_idmap users, items;              // those with training interactions
    struct inmo_csr train, valid;                // among them
    struct inmo_csr untrained;                   // of train, what parameters never saw: refit by graph; or empty
    struct inmo_idmap extra_users, extra_items;  // known by name only: without training interactions
    struct inmo_csr seen;        // (users and extras, items and extras) never to be listed; offset NULL: nothing
    char *preparation;           // JSON object: how the data was split; NULL: unknown
    int32_t rows;                // bound parameter rows
    const int32_t *node_of_row;  // (rows) template -> node of this model; NULL: row = node
    const float *parameter;      // (rows + extra rows, dim); NULL for systems
    float *own;  // (own rows, dim) of provider, backbone and head; always allocated; NULL for systems
    struct inmo_tensor *tensor;  // (tensors) of a system, in the order of its rules; else NULL
    size_t tensors;
    void *tensor_block;  // the memory of all tensors; NULL: each is allocated alone, or belongs to the file
    char *configuration, *record;
    struct inmo_titles *titles;    // what people call the items; NULL: nobody said
    char *origin;                  // JSON object: how its log was read and split; NULL: not known
    struct inmo_tensorfile *file;  // owns the arrays; NULL: they are allocated one by one
    int32_t *owned_nodes;          // node_of_row of a loaded model; the file stores it in two parts
};

int64_t inmo_model_parameter_count(const struct inmo_model *model);
int inmo_model_width(const struct inmo_model *model); /* columns of r; 0: no vectors */
/* The rows that the extra parameters of provider, backbone and head need, one after the other. */
int32_t inmo_own_rows(const struct inmo_model_kind *kind, int dim, int layers);
/* Sets *part to part n of these and returns 1; returns 0 after the last. The parts are contiguous; only the head's
 * end is padded with zeros. */
int inmo_model_part(const struct inmo_model *model, int n, struct inmo_part *part);
const float *inmo_model_head(const struct inmo_model *model);
/* The backbone's part of own. */
static inline const float *inmo_kind_backbone_own(const struct inmo_model_kind *kind, int dim, const float *own)
{
    return own ? own + (size_t)inmo_provider_rows(kind->provider, dim) * (size_t)dim : NULL;
}
double inmo_model_alpha(const struct inmo_model *model);
/* Adds the next tensor of a system's model, named by its rule. The model takes data over, even on failure. */
enum inmo_status inmo_model_add_tensor(struct inmo_model *model, int64_t rows, int64_t columns, void *data,
                                       struct inmo_error *error);

/* The model's parameters on another set of users and items, matched by external id. */
struct inmo_model_binding {
    struct inmo_binding binding;
    /* scores use its numbers: the binding's graph, or that graph before training renumbered it (graph/order.h) */
    const struct inmo_graph *graph;
    int divided;           /* 1: a rank scores by the vectors of all items and of its own users (graph/share.h) */
    int32_t *row_of_node;  // (nodes)
    int32_t *node_of_row;  // (rows) -1: the node is not in the graph
    int32_t *model_user;   // (users of the graph) number in the model, or -1
    int32_t *model_item;
    int32_t *graph_item;  // (items of the model) number in the graph, or -1
};
enum inmo_status inmo_model_bind(const struct inmo_model *model, const struct inmo_graph *graph,
                                 const struct inmo_idmap *users, const struct inmo_idmap *items,
                                 struct inmo_model_binding *bound, struct inmo_error *error);
/* The same without lookups, for a graph whose first users and items are the model's, in its order. Nodes whose
 * fate (nodes; may be NULL) has one of the flags in dropped count as unknown to the model. */
enum inmo_status inmo_model_bind_numbered(const struct inmo_model *model, const struct inmo_graph *graph,
                                          const uint8_t *fate, uint8_t dropped, struct inmo_model_binding *bound,
                                          struct inmo_error *error);
void inmo_model_unbind(struct inmo_model_binding *bound);
/* Indexes the ids once, for lookups by all views. May be called from any number of threads. */
enum inmo_status inmo_model_index(const struct inmo_model *model, struct inmo_error *error);

/* 1 if the provider or the backbone applies L2 to r rather than to e. */
int inmo_regularises_output(const struct inmo_model_kind *kind);
/* Computes the representations of all nodes of a graph with provider and backbone: r (nodes, width), and memory
 * (nodes, memory width) unless NULL. own: the extra parameters of provider and backbone; popularity: see
 * readout.h. */
enum inmo_status inmo_represent(const struct inmo_model_kind *kind, const struct inmo_binding *binding, int layers,
                                const float *parameter, const float *own, double alpha, double popularity, float *r,
                                float *memory, struct inmo_error *error);

#endif
