/* recipe.c - see recipe.h. */
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Takes the searched values from the model's row. */
static void take_searched(struct inmo_train_options *options, const struct inmo_fast_recipe *fast)
{
    options->learning_rate = fast->learning_rate;
    options->temperature = fast->temperature;
    options->graph_dropout = fast->graph_dropout;
    options->l2 = fast->l2;
    options->dim = fast->dim;
    options->walks = fast->walks;
    options->links = fast->links;
    options->layers = fast->layers ? fast->layers : options->layers;
    options->prior = fast->links < 0 ? INMO_AUTO : 0; /* what is weighed is weighed together */
}

/* Reaches the best quality soonest (docs/results.md). alpha is annealed slowly, and evaluation uses the final
 * value. */
void inmo_recipe_listwise(struct inmo_train_options *options, const struct inmo_model_kind *kind)
{
    int has_weights = kind->backbone && kind->backbone->part;
    take_searched(options, &kind->fast);
    options->dropout = options->dropout > 0 ? 0.6 : 0;
    options->loss = "listwise";
    options->start = "spectral";
    options->start_scale = 0.1;
    options->popularity = -0.2;
    options->batch = 2048;
    options->negatives = 4096;
    options->key_learning_rate = kind->provider && kind->provider->frozen_from ? 0.0066 : 0;
    options->schedule = "eager";
    options->annealing = 0.988;
    options->eval_alpha = "reached";
    options->self_weight = 0;
    options->storage = has_weights ? "float" : "half"; /* backbones with weights always use floats */
    options->epochs = 36;
    options->eval_every = 6;
    options->patience = 18;
}

void inmo_recipe_pairwise(struct inmo_train_options *options, const struct inmo_model_kind *kind)
{
    double published_dropout = options->dropout;
    inmo_recipe_listwise(options, kind);
    options->loss = "bpr";
    options->batch = 32768; /* a pass over the graph costs as much with few triples */
    options->popularity = 0;
    options->dropout = published_dropout;
}

/* From a random start, training takes hundreds of epochs, with pretraining. Here the half that is a product has
 * the spectral start of the other models. Chosen by validation on one small log (docs/results-history.md). */
void inmo_recipe_head(struct inmo_train_options *options, const struct inmo_model_kind *kind)
{
    options->init = "normal";
    options->start = "spectral";
    options->learning_rate = kind->fast.learning_rate;
    options->l2 = kind->fast.l2;
    options->self_weight = 0;
    options->schedule = "cosine";
    options->pretrain = 0;
    options->epochs = 40;
    options->eval_every = 5;
    options->patience = 15;
}

/* The model has its own loss and start. These are the paper's settings, but with a higher learning rate that falls
 * to 0 within a few epochs; searched like the others. */
void inmo_recipe_standalone(struct inmo_train_options *options, const struct inmo_model_kind *kind)
{
    options->learning_rate = kind->fast.learning_rate;
    options->dropout = 0.7;
    options->dim = kind->fast.dim;
    options->schedule = "cosine";
    options->epochs = 60;
    options->eval_every = 5;
    options->patience = 25;
}

void inmo_recipe_plain(struct inmo_train_options *options, const struct inmo_model_kind *kind)
{
    *options = (struct inmo_train_options){
        .size = sizeof *options,
        .model = kind->name,
        .dim = 64,
        .layers = 3,
        .neighbours = 100,
        .walk_neighbours = INMO_WALK_NEIGHBOURS,
        .link_neighbours = INMO_LINK_NEIGHBOURS,
        .link_ridge = INMO_AUTO,
        .link_popularity = INMO_AUTO,
        .similarity = "cosine",
        .bm25_k1 = 1.2,
        .bm25_b = 0.75,
        .unobserved = 0.01,
        .l2_exponent = 1,
        .l2_on = "rows",
        .attention = "own",
        .low_pass = 0.3,
        .batch = 2048,
        .least_steps = 12,
        .most_steps = 16,
        .annealing = 0.99,
        .eval_alpha = "reached",
        .user_templates = 1,
        .item_templates = 1,
        .template_rule = "error-sort",
        .init = "normal",
        .init_scale = 0.1,
        .start = "random",
        .start_scale = 0.1,
        .loss = "bpr",
        .negatives = 1024,
        .bce_negatives = 4,
        .temperature = 1,
        .schedule = "constant",
        .storage = "float",
        .order = "community",
        .epochs = 1000,
        .patience = 50,
        .eval_every = 1,
        .seed = 1,
        .checkpoint_seconds = 60,
        .hold_out = 0.1,
        .refit = "none",
    };
}

void inmo_recipe_take(struct inmo_train_options *options, const struct inmo_model_kind *kind,
                      enum inmo_recipe recipe)
{
    int fast = recipe == INMO_RECIPE_FAST;
    const struct inmo_paper_recipe *paper = &kind->paper;
    if (recipe == INMO_RECIPE_YELP && kind->yelp.init)
        paper = &kind->yelp;
    if (recipe == INMO_RECIPE_AMAZON_BOOK && kind->amazon_book.init)
        paper = &kind->amazon_book;
    options->learning_rate = 1e-3; /* closed forms have no use for it, but it must be a rate */
    if (paper->init) {
        options->learning_rate = paper->learning_rate;
        options->l2 = paper->l2;
        options->dropout = paper->dropout;
        options->graph_dropout = paper->graph_dropout;
        options->self_weight = paper->self_weight;
        options->init = paper->init;
    }
    options->contrast = kind->provider && kind->provider->own_loss ? 1e-3 : 0;
    if (kind->head) {
        options->loss = "bce";
        options->pretrain = 100;
        options->patience = 100;
        options->valid_users = 2000; /* ranking costs a hundred times as much as with dot products */
        options->l2_on = fast ? "rows" : "pairs";
        options->epochs = 800; /* 1000 with both stages of pretraining */
    }
    if (!fast && kind->provider == &inmo_provider_idcf)
        options->attention = "shared"; /* as in the authors' runs */
    if (!fast && kind->provider == &inmo_provider_inmo)
        options->eval_alpha = "next"; /* the authors' runs anneal after an epoch, before they validate it */
    if (fast)
        kind->fast.take(options, kind);
    if (fast)
        options->refit = "auto";
    if (kind->system && kind->system->defaults)
        kind->system->defaults(options, recipe);
}

/* ---- The paper's data sets ----------------------------------------------------------------------------------- */

static const struct {
    const char *recipe;
    double users, items, interactions;
} published[] = {
    [INMO_RECIPE_GOWALLA] = {"paper:gowalla", 29858, 40988, 1027464},
    [INMO_RECIPE_YELP] = {"paper:yelp", 75173, 42706, 1931173},
    [INMO_RECIPE_AMAZON_BOOK] = {"paper:amazon-book", 109730, 96421, 3181759},
};
enum { RECIPES = sizeof published / sizeof *published };

int inmo_recipe_find(const char *name, enum inmo_recipe *recipe)
{
    *recipe = name && strcmp(name, "paper") == 0 ? INMO_RECIPE_GOWALLA : INMO_RECIPE_FAST;
    if (!name || strcmp(name, "paper") == 0 || strcmp(name, "fast") == 0)
        return 1;
    for (int n = INMO_RECIPE_GOWALLA; n < RECIPES; n++)
        if (strcmp(published[n].recipe, name) == 0) {
            *recipe = (enum inmo_recipe)n;
            return 1;
        }
    return 0;
}

const char *inmo_recipe_for(const char *like, int64_t users, int64_t items, int64_t interactions)
{
    double least = INFINITY, pairs = fmax((double)users * (double)items, 1), count = fmax((double)interactions, 1);
    const char *nearest = NULL;
    for (int n = INMO_RECIPE_GOWALLA; n < RECIPES; n++) {
        double size = log(count / published[n].interactions);
        double density = log(count / pairs * published[n].users * published[n].items / published[n].interactions);
        double distance = size * size + density * density;
        if (like ? strcmp(strchr(published[n].recipe, ':') + 1, like) == 0 : distance < least) {
            least = distance;
            nearest = published[n].recipe;
        }
    }
    return nearest;
}
