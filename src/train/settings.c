/* settings.c - the table of training options, and the checks that involve several of them. */
#include "train/settings.h"
#include "train/cut.h"

#include "base/setting.h"
#include "graph/order.h"
#include "graph/template.h"
#include "loss/loss.h"
#include "model/model.h"
#include "score/walk.h"
#include "train/choose.h"
#include "train/refit.h"

#include <pthread.h>
#include <string.h>

#define AT(field) offsetof(struct inmo_train_options, field)

static struct inmo_setting table[] = {
    {"model", 's', AT(model), 0, 0, NULL, "Model", "NAME",
     NULL}, /* choices and help come from the table of models, */
    {"dim", 'i', AT(dim), 1, 4096, "auto", "Model", "D", "Embedding size. auto: by the log's size (gf-cf)."},
    {"layers", 'i', AT(layers), 0, 16, "auto", "Model", "K",
     "Graph layers (lightgcn, ngcf and imc models). auto: 3, or 1 on a dense log if that is clearly better in "
     "short "
     "trainings (inmo-lightgcn)."},
    {"user-templates", 'r', AT(user_templates), 1e-9, 1, NULL, "Model", "SHARE",
     "Share of users in training that are templates (inmo models) or have keys (idcf)."},
    {"item-templates", 'r', AT(item_templates), 1e-9, 1, NULL, "Model", "SHARE",
     "Share of items in training that are templates (inmo models) or have keys (idcf)."},
    {"template-rule", 's', AT(template_rule), 0, 0, INMO_TEMPLATE_RULES, "Model", "RULE",
     "Rule that selects the templates."},
    {"neighbours", 'i', AT(neighbours), 1, 100000, NULL, "Model", "K",
     "Nearest items kept for each item (item-knn)."},
    {"similarity", 's', AT(similarity), 0, 0, "auto|cosine|jaccard|tf-idf|bm25", "Model", "WHICH",
     "Similarity of two items (item-knn). auto: chosen by validation among cosine, tf-idf and bm25."},
    {"shrinkage", 'r', AT(shrinkage), 0, 1e6, NULL, "Model", "H",
     "Added to the denominator of a similarity, which discounts pairs with few common users (item-knn)."},
    {"bm25-k1", 'r', AT(bm25_k1), 0, 1e6, NULL, "Model", "K1",
     "Saturation of bm25: the larger, the more the length of an item counts (item-knn)."},
    {"bm25-b", 'r', AT(bm25_b), 0, 1, NULL, "Model", "B",
     "How far bm25 discounts items with many users; 0: not at all (item-knn)."},
    {"most-items", 'i', AT(most_items), 0, 1000000, NULL, "Model", "N",
     "Keep only the N most frequent items; 0: all (ease)."},
    {"unobserved", 'r', AT(unobserved), 0, 1e3, "auto", "Model", "WEIGHT",
     "Weight of unobserved pairs; observed ones have weight 1 (ials). auto: chosen by validation."},
    {"l2-exponent", 'r', AT(l2_exponent), 0, 2, NULL, "Model", "NU",
     "Exponent of the degree in the weight of the squared norms; 0: constant, 1: proportional (ials)."},
    {"low-pass", 'r', AT(low_pass), 0, 1e6, NULL, "Model", "WEIGHT",
     "Weight of the ideal low-pass filter beside the linear one (gf-cf)."},
    {"learning-rate", 'r', AT(learning_rate), 1e-12, 1e3, NULL, "Training", "RATE", "Learning rate of Adam."},
    {"batch", 'i', AT(batch), 1, 1 << 20, NULL, "Training", "N",
     "Mini-batch size: triples per step, or users (listwise loss, mult-vae)."},
    {"least-steps", 'i', AT(least_steps), 0, 1 << 20, NULL, "Training", "N",
     "Minimum number of steps per epoch; on a small log the batch shrinks (not mult-vae). 0: no minimum."},
    {"most-steps", 'i', AT(most_steps), 0, 1 << 20, NULL, "Training", "N",
     "Listwise loss: maximum number of steps per epoch; with many users the batch grows. 0: no maximum."},
    {"l2", 'r', AT(l2), 0, 1e6, "auto", "Training", "LAMBDA",
     "Weight of the squared norms. auto: chosen by validation (ials, ease; mf on dense logs, on others by the "
     "log's size)."},
    {"l2-on", 's', AT(l2_on), 0, 0, "rows|pairs", "Training", "WHAT",
     "What the squared norms are of: the vectors of the batch's users and items, or the weighted vector of each "
     "pair, "
     "whose sum is the score (neumf models)."},
    {"dropout", 'r', AT(dropout), 0, 0.999, NULL, "Training", "P",
     "Share of interactions dropped in each step, from the sums of inmo models or the input of mult-vae."},
    {"graph-dropout", 'r', AT(graph_dropout), 0, 0.999, NULL, "Training", "P",
     "Dropout in the graph layers: edges and messages of ngcf, nodes of imc-gae (0.1 less in each layer)."},
    {"self-weight", 'r', AT(self_weight), 0, 1e6, NULL, "Training", "BETA", "Weight of the self-enhanced loss."},
    {"contrast", 'r', AT(contrast), 0, 1e6, NULL, "Training", "GAMMA",
     "Weight of the contrastive loss, which pulls embeddings towards their keys (idcf)."},
    {"attention", 's', AT(attention), 0, 0, "own|shared", "Model", "WHOSE",
     "Weights of the attention: own ones of users and of items, or the same for both, with biases, over keys drawn "
     "with "
     "repeats and again for each validation (idcf)."},
    {"key-learning-rate", 'r', AT(key_learning_rate), 0, 1e3, NULL, "Training", "RATE",
     "Learning rate of the first stage, which trains the keys; 0: as learning-rate (idcf)."},
    {"annealing", 'r', AT(annealing), 0, 1, NULL, "Training", "DELTA",
     "The normalization exponent in epoch n is 1 - DELTA^n / 2; 0 fixes it at 1, 1 at 0.5."},
    {"popularity", 'r', AT(popularity), -2, 2, NULL, "Model", "GAMMA",
     "Scales an item's representation by its number of interactions to this power; negative values hold back "
     "popular items."},
    {"walks", 'r', AT(walks), 0, 1e6, "auto", "Model", "WEIGHT",
     "Weight of two-step walks (item, user, item) from the history in a score; 0: none. auto: chosen by "
     "validation."},
    {"walk-neighbours", 'i', AT(walk_neighbours), 1, 100000, NULL, "Model", "K",
     "Number of items that walks from an item lead to: those with the largest weights."},
    {"links", 'r', AT(links), 0, 1e6, "auto", "Model", "WEIGHT",
     "Weight of item links, regressions of each item on those most like it, in a score; 0: none. auto: chosen by "
     "validation."},
    {"link-neighbours", 'i', AT(link_neighbours), 1, 1000, NULL, "Model", "K",
     "Number of items that an item is predicted from."},
    {"link-ridge", 'r', AT(link_ridge), 1e-9, 1e9, "auto", "Model", "LAMBDA",
     "Ridge of the regressions behind item links. auto: chosen by validation."},
    {"link-popularity", 'r', AT(link_popularity), -2, 2, "auto", "Model", "GAMMA",
     "Scales an item's links by its number of interactions to this power. auto: as `popularity`, or another "
     "one that is better in validation."},
    {"prior", 'r', AT(prior), 0, 1e6, "auto", "Model", "WEIGHT",
     "Weight of an item's popularity, the same for everybody, in a score; 0: none. auto: chosen by validation "
     "where "
     "walks or links are; 0 unless another weight is clearly better."},
    {"eval-alpha", 's', AT(eval_alpha), 0, 0, "one|reached|next", "Training", "WHICH",
     "Normalization exponent outside training: 1, that of the best epoch, or that of the epoch after it."},
    {"init", 's', AT(init), 0, 0, "normal|kaiming", "Training", "HOW",
     "Distribution of the initial embeddings: normal, or Kaiming uniform (bound sqrt(6/D))."},
    {"init-scale", 'r', AT(init_scale), 1e-12, 1e3, NULL, "Training", "SCALE",
     "Standard deviation of normally distributed initial parameters."},
    {"start", 's', AT(start), 0, 0, "random|spectral", "Training", "HOW",
     "Initial parameters: random, or from a truncated SVD of the normalised interactions."},
    {"start-scale", 'r', AT(start_scale), 1e-12, 1e3, NULL, "Training", "SCALE",
     "Spectral start: scale of the singular vectors."},
    {"loss", 's', AT(loss), 0, 0, NULL, "Training", "LOSS", NULL}, /* both from the table of losses */
    {"negatives", 'i', AT(negatives), 1, 1 << 20, NULL, "Training", "N",
     "Negatives shared by the batch (softmax and listwise loss; listwise: at most as many as there are items)."},
    {"bce-negatives", 'i', AT(bce_negatives), 1, 1000, NULL, "Training", "N",
     "Negatives per positive in the bce loss."},
    {"pretrain", 'i', AT(pretrain), 0, 1000000, NULL, "Training", "N",
     "Epochs that each half, product and perceptron, is first trained alone, keeping its best; the epochs come "
     "after "
     "them (neumf models)."},
    {"temperature", 'r', AT(temperature), 1e-6, 1e6, "auto", "Training", "T",
     "Temperature of the softmax and listwise loss; in directau the weight of uniformity, in mult-vae a "
     "factor of the divergence's weight. auto: by the log's size (inmo-lightgcn, inmo-mf, lightgcn, "
     "imc-lightgcn)."},
    {"schedule", 's', AT(schedule), 0, 0, "constant|cosine|eager", "Training", "HOW",
     "Learning rate over the epochs: constant; cosine, falling to 0; or eager, a cosine that starts at twice the "
     "rate for about two epochs."},
    {"storage", 's', AT(storage), 0, 0, "float|half", "Training", "HOW",
     "How the graph layers of lightgcn models are stored during training: float, or half precision (bfloat16, sums "
     "still in float; dim a multiple of 32)."},
    {"order", 's', AT(order), 0, 0, INMO_ORDERS, "Training", "HOW",
     "Order of the nodes during training; community makes better use of the caches (graph and inmo models)."},
    {"seed", 'u', AT(seed), 0, 9007199254740991.0, NULL, "Training", "N",
     "Random seed; the same seed gives the same file."},
    {"eval-every", 'i', AT(eval_every), 1, 1000000, NULL, "Training", "N", "Epochs between validations."},
    {"valid-users", 'i', AT(valid_users), 0, 1 << 30, NULL, "Training", "N",
     "Validate on a random sample of N users; 0: on all."},
    {"hold-out", 'r', AT(hold_out), 0, 0.9, NULL, "Training", "SHARE",
     "Data without a validation part: share of the training interactions that is held out to choose by (nobody "
     "loses all; about 16384 at most, which are enough); 0: none."},
    {"refit", 's', AT(refit), 0, 0, "auto|none|graph|train", "Training", "HOW",
     "What becomes of the validation part when all is chosen. none: it stays out. graph: the parameters stay, and "
     "what follows from interactions is computed with it (inmo and idcf models). train: trained again on "
     "everything. "
     "auto: for what `hold-out` held out train, or graph with more than 131072 interactions; for a validation part "
     "of "
     "the data graph, or none if the model cannot; none if `max-seconds` is below 20."},
    {"patience", 'i', AT(patience), 1, 1000000, NULL, "Training", "N",
     "Stop after this many epochs without a better validation score."},
    {"epochs", 'i', AT(epochs), 1, 1000000, NULL, "Training", "N", "Maximum number of epochs."},
    /* From here on: options that steer the run and do not change the model. */
    {"max-seconds", 'r', AT(max_seconds), 0, 1e9, NULL, "Run", "S",
     "Wall time of the whole training; steps end early enough for what follows them. 0: no limit."},
    {"checkpoint", 's', AT(checkpoint), 0, 0, NULL, "Run", "FILE", "File for checkpoints."},
    {"checkpoint-seconds", 'r', AT(checkpoint_seconds), 0, 1e9, NULL, "Run", "S", "Time between checkpoints."},
    {"resume", 'b', AT(resume), 0, 1, NULL, "Run", NULL, "Continue from the checkpoint."},
    /* A path says nothing about the model it names; the model's origin does. */
    {"from", 's', AT(from), 0, 0, NULL, "Warm start", "MODEL",
     "Start from the parameters of an earlier model, matched by id, and train only the last epochs of the "
     "schedule."},
    {"from-epochs", 'i', AT(from_epochs), 0, 1000000, NULL, "Warm start", "N",
     "Epochs of a warm start; 0: a sixth of all."},
};

enum { SETTINGS = sizeof table / sizeof *table };

/* Fills in what comes from other tables. */
static void complete_table(void)
{
    for (size_t n = 0; n < SETTINGS; n++)
        if (table[n].offset == AT(model)) {
            table[n].choices = inmo_model_names();
            table[n].help = inmo_model_help();
        } else if (table[n].offset == AT(loss)) {
            table[n].choices = inmo_loss_names();
            table[n].help = inmo_loss_help();
        }
}

const struct inmo_setting *inmo_train_settings(size_t *count)
{
    static pthread_once_t completed = PTHREAD_ONCE_INIT;
    pthread_once(&completed, complete_table);
    *count = SETTINGS;
    return table;
}

/* Words with a space on either side: " a b " has a. */
static int has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at++)
        if (at[-1] == ' ' && at[length] == ' ')
            return 1;
    return 0;
}

int inmo_train_setting_applies(const char *setting, const char *model)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(model);
    const struct inmo_provider *provider = kind ? kind->provider : NULL;
    const char *backbone = provider ? kind->backbone->name : "", *own = "";
    /* Of standalone models, what each of them reads; of the others, who reads what not all of them do. */
    static const char knn[] = " neighbours similarity shrinkage bm25-k1 bm25-b ";
    static const char chosen[] = " most-items unobserved l2-exponent low-pass ";
    static const char run[] =
        " learning-rate batch least-steps most-steps l2 l2-on dropout graph-dropout self-weight "
        "contrast attention key-learning-rate annealing eval-alpha init init-scale start "
        "start-scale loss negatives bce-negatives pretrain temperature schedule storage order "
        "eval-every valid-users patience epochs lr max-seconds checkpoint checkpoint-seconds "
        "resume no-checkpoint keep-checkpoint dim layers user-templates item-templates "
        "templates template-rule popularity walks walk-neighbours links link-neighbours "
        "link-ridge link-popularity prior ";
    if (!kind || (!has_word(knn, setting) && !has_word(chosen, setting) && !has_word(run, setting)))
        return 1;
    if (kind->system) {
        own = strcmp(kind->name, "item-knn") == 0 ? knn
              : strcmp(kind->name, "ease") == 0   ? " l2 most-items "
              : strcmp(kind->name, "gf-cf") == 0  ? " dim low-pass seed "
              : strcmp(kind->name, "ials") == 0
                  ? " dim unobserved l2 l2-exponent init-scale epochs patience eval-every valid-users seed "
                    "max-seconds checkpoint checkpoint-seconds resume no-checkpoint keep-checkpoint "
              : strcmp(kind->name, "mult-vae") == 0
                  ? " dim learning-rate lr batch l2 dropout temperature init-scale schedule epochs patience "
                    "eval-every valid-users seed max-seconds checkpoint checkpoint-seconds resume no-checkpoint "
                    "keep-checkpoint "
                  : "";
        return has_word(own, setting);
    }
    if (has_word(knn, setting) || has_word(chosen, setting))
        return 0;
    if (has_word(" walks walk-neighbours links link-neighbours link-ridge link-popularity prior ", setting))
        return inmo_kind_takes_walks(kind);
    if (has_word(" l2-on pretrain ", setting))
        return kind->head != NULL;
    if (has_word(" contrast attention key-learning-rate ", setting))
        return strcmp(provider->name, "idcf") == 0;
    if (has_word(" user-templates item-templates templates template-rule ", setting))
        return provider->templates || strcmp(provider->name, "idcf") == 0;
    if (has_word(" self-weight annealing eval-alpha dropout ", setting))
        return provider->templates;
    if (strcmp(setting, "layers") == 0)
        return strcmp(backbone, "mf") != 0;
    if (strcmp(setting, "graph-dropout") == 0)
        return strcmp(backbone, "ngcf") == 0 || strcmp(backbone, "imc-gae") == 0;
    return 1;
}

size_t inmo_train_settings_of_model(void)
{
    return SETTINGS - 6;
}

int inmo_train_setting_may_differ(const struct inmo_setting *setting, const struct inmo_train_options *options)
{
    if (setting->offset == AT(epochs)) /* the schedule spans all epochs */
        return strcmp(options->schedule, "constant") == 0;
    return setting->offset == AT(patience);
}

int inmo_is_weighed(const struct inmo_setting *setting)
{
    return setting->offset == AT(walks) || setting->offset == AT(links) || setting->offset == AT(link_ridge) ||
           setting->offset == AT(link_popularity) || setting->offset == AT(prior);
}

int32_t inmo_train_pretraining(const struct inmo_train_options *options)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(options->model);
    return kind && kind->head ? kind->head->stages * options->pretrain : 0;
}

enum inmo_status inmo_train_options_init_sized(struct inmo_train_options *options, size_t size, const char *model,
                                               const char *recipe, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(model ? model : "inmo-lightgcn");
    enum inmo_recipe found;
    if (size != sizeof *options)
        return inmo_fail_size(error, "inmo_train_options", size, sizeof *options);
    if (!kind)
        return inmo_fail(error, INMO_USAGE, "`model`: found '%s', expected one of %s", model, inmo_model_list());
    if (!inmo_recipe_find(recipe, &found))
        return inmo_fail(
            error, INMO_USAGE,
            "`recipe`: found '%s', expected fast, paper, paper:gowalla, paper:yelp or paper:amazon-book", recipe);
    inmo_recipe_plain(options, kind);
    inmo_recipe_take(options, kind, found);
    if (found != INMO_RECIPE_FAST)
        options->least_steps = 0; /* keeps the paper's batch size */
    return INMO_OK;
}

/* Every setting that is left to training must be one that the model chooses. */
static enum inmo_status check_choice(const struct inmo_train_options *options, struct inmo_error *error)
{
    static const struct inmo_log_shape any = {1, 1, 1};
    struct inmo_train_options chosen = *options;
    const char *open;
    inmo_choice_start(inmo_model_kind_find(options->model), &any, &chosen);
    open = inmo_choice_open(&chosen);
    return open ? inmo_fail(error, INMO_USAGE, "`%s`: found auto, but %s does not choose it; expected a %s", open,
                            options->model, strcmp(open, "similarity") == 0 ? "name" : "number")
                : INMO_OK;
}

enum inmo_status inmo_train_options_check(const struct inmo_train_options *options, struct inmo_error *error)
{
    size_t count;
    const struct inmo_setting *setting = inmo_train_settings(&count);
    enum inmo_status status = inmo_sized_check(options, sizeof *options, "inmo_train_options", error);
    if (!status)
        status = inmo_settings_check(setting, count, options, error);
    for (size_t n = 0; !status && n < count; n++)
        if (setting[n].type == 's' && setting[n].choices &&
            !*(const char *const *)((const char *)options + setting[n].offset))
            status = inmo_fail(error, INMO_USAGE, "`%s` is missing; it must be one of %s", setting[n].name,
                               setting[n].choices);
    if (!status)
        status = check_choice(options, error);
    if (!status && inmo_model_kind_find(options->model)->head && !inmo_loss_find(options->loss)->judge_pairs)
        status =
            inmo_fail(error, INMO_USAGE, "`loss`: found '%s', expected %s for %s, whose score is no dot product",
                      options->loss, inmo_loss_names_for_heads(), options->model);
    if (!status && strcmp(options->l2_on, "pairs") == 0 && !inmo_model_kind_find(options->model)->head)
        status = inmo_fail(error, INMO_USAGE,
                           "`l2-on`: found 'pairs', expected rows for %s, which scores by vectors", options->model);
    if (!status && (options->walks != 0 || options->links != 0 || options->prior != 0) &&
        !inmo_kind_takes_walks(inmo_model_kind_find(options->model)))
        status = inmo_fail(error, INMO_USAGE, "`%s`: %s has no scores that are products of vectors to add them to",
                           options->walks != 0   ? "walks"
                           : options->links != 0 ? "links"
                                                 : "prior",
                           options->model);
    if (!status && options->from_epochs > 0 && !options->from)
        status = inmo_fail(error, INMO_USAGE, "`from-epochs`: no `from` to start from");
    if (!status && strcmp(options->refit, "graph") == 0 &&
        !inmo_refits_by_graph(inmo_model_kind_find(options->model)))
        status = inmo_fail(error, INMO_USAGE,
                           "`refit`: found 'graph', expected none or train for %s, which has no templates",
                           options->model);
    if (!status && options->resume && !options->checkpoint)
        status = inmo_fail(error, INMO_USAGE, "`resume`: no `checkpoint` file to go on from");
    return status ? status : inmo_cut_check(options, error);
}

enum inmo_status inmo_train_check(const struct inmo_train_options *options, struct inmo_error *error)
{
    return inmo_train_options_check(options, error);
}
