/* table.c - the table of models: names, parts, and the settings of both recipes. Everything the program knows
 * about a model comes from its row and the parts it names. The best models come first. */
#include "model/model.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Fast recipes. The numbers (learning rate, temperature, graph dropout, l2, dim, walks, links, layers) come from a
 * search by validation on one split of Gowalla (docs/choices.md), or the log decides. MF, NGCF and IDCF do better
 * pairwise. Backbones whose representations are several times as wide as the embeddings use 64 dimensions. Only
 * INMO-LGCN uses walks and links: other models are compared as published. */
#define LISTWISE inmo_recipe_listwise
#define PAIRWISE inmo_recipe_pairwise

static const struct inmo_model_kind kinds[] = {
    {
        .name = "inmo-lightgcn",
        .alias = "inmo-lgcn",
        .label = "INMO-LGCN",
        .help = "the paper's module on LightGCN",
        .provider = &inmo_provider_inmo,
        .backbone = &inmo_backbone_lightgcn,
        .paper = {1e-3, 0, 0.3, 0, 0.01, "normal"},
        .amazon_book = {1e-3, 0, 0, 0, 0.01, "normal"},
        .fast = {LISTWISE, 0.006, INMO_AUTO, 0, 0, 128, INMO_AUTO, INMO_AUTO, INMO_AUTO},
        .choice = &inmo_choice_inmo_lightgcn,
    },
    {
        .name = "inmo-mf",
        .label = "INMO-MF",
        .help = "the module on matrix factorization",
        .provider = &inmo_provider_inmo,
        .backbone = &inmo_backbone_mf,
        .paper = {1e-3, 1e-5, 0.1, 0, 0.1, "normal"},
        .yelp = {1e-3, 1e-5, 0.5, 0, 0.01, "normal"},
        .amazon_book = {1e-3, 1e-5, 0.3, 0, 0.1, "normal"},
        .fast = {LISTWISE, 0.0025, INMO_AUTO, 0, 0, 128, 0},
        .choice = &inmo_choice_inmo_mf,
    },
    /* Combinations without settings in the paper: the backbone's settings, and the module's settings on
     * LightGCN. */
    {
        .name = "inmo-ngcf",
        .label = "INMO-NGCF",
        .help = "the module on NGCF",
        .provider = &inmo_provider_inmo,
        .backbone = &inmo_backbone_ngcf,
        .paper = {1e-3, 1e-3, 0.3, 0.1, 0.01, "normal"},
        .yelp = {1e-3, 1e-3, 0.3, 0.3, 0.01, "normal"},
        .amazon_book = {1e-3, 1e-4, 0, 0.3, 0.01, "normal"},
        .fast = {PAIRWISE, 0.004, 1, 0.1, 1e-3, 64, 0},
    },
    {
        .name = "inmo-imc-gae",
        .label = "INMO-IMC-GAE",
        .help = "the module on IMC-GAE",
        .provider = &inmo_provider_inmo,
        .backbone = &inmo_backbone_imc_gae,
        .paper = {1e-3, 0, 0.3, 0.3, 0.01, "normal"},
        .amazon_book = {1e-3, 0, 0, 0.9, 0.01, "normal"},
        .fast = {LISTWISE, 0.005, 0.15, 0, 0, 64, 0},
    },
    {
        .name = "inmo-neumf",
        .label = "INMO-NeuMF",
        .help = "the module on NeuMF",
        .provider = &inmo_provider_inmo,
        .backbone = &inmo_backbone_mf,
        .head = &inmo_head_neumf,
        .paper = {1e-3, 1e-3, 0.3, 0, 0.01, "normal"},
        .yelp = {1e-2, 1e-2, 0.3, 0, 0.01, "normal"},
        .amazon_book = {1e-2, 1e-2, 0, 0, 0.01, "normal"},
        .fast = {inmo_recipe_head, .learning_rate = 0.003, .l2 = 1e-3},
    },
    {
        .name = "lightgcn",
        .alias = "lgcn",
        .label = "LightGCN",
        .help = "averaged graph layers over learned vectors",
        .provider = &inmo_provider_lookup,
        .backbone = &inmo_backbone_lightgcn,
        .paper = {1e-3, 1e-4, 0, 0, 0, "normal"},
        .amazon_book = {1e-3, 1e-5, 0, 0, 0, "normal"},
        .fast = {LISTWISE, 0.0066, INMO_AUTO, 0, 0, 128, 0},
        .choice = &inmo_choice_lightgcn,
    },
    {
        .name = "mf",
        .alias = "mf-bpr",
        .label = "MF",
        .help = "matrix factorization",
        .provider = &inmo_provider_lookup,
        .backbone = &inmo_backbone_mf,
        .paper = {1e-4, 1e-3, 0, 0, 0, "normal"},
        .yelp = {1e-3, 1e-3, 0, 0, 0, "normal"},
        .amazon_book = {1e-3, 1e-4, 0, 0, 0, "normal"},
        .fast = {PAIRWISE, 0.004, 1, 0, INMO_AUTO, 128, 0},
        .choice = &inmo_choice_mf,
    },
    {
        .name = "ngcf",
        .label = "NGCF",
        .help = "graph layers with weights and activations",
        .provider = &inmo_provider_lookup,
        .backbone = &inmo_backbone_ngcf,
        .paper = {1e-3, 1e-3, 0, 0.1, 0, "kaiming"},
        .yelp = {1e-3, 1e-3, 0, 0.3, 0, "kaiming"},
        .amazon_book = {1e-3, 1e-4, 0, 0.3, 0, "kaiming"},
        .fast = {PAIRWISE, 0.004, 1, 0.1, 1e-3, 64, 0},
    },
    {
        .name = "neumf",
        .label = "NeuMF",
        .help = "a product and a perceptron score each pair",
        .provider = &inmo_provider_lookup,
        .backbone = &inmo_backbone_mf,
        .head = &inmo_head_neumf,
        .paper = {1e-3, 1e-3, 0, 0, 0, "kaiming"},
        .yelp = {1e-2, 1e-2, 0, 0, 0, "kaiming"},
        .amazon_book = {1e-2, 1e-2, 0, 0, 0, "kaiming"}, /* Yelp's; the authors have none */
        .fast = {inmo_recipe_head, .learning_rate = 0.003, .l2 = 1e-2},
    },
    {
        .name = "imc-gae",
        .label = "IMC-GAE",
        .help = "a graph autoencoder, new nodes get the mean vector",
        .provider = &inmo_provider_average,
        .backbone = &inmo_backbone_imc_gae,
        .paper = {1e-3, 0, 0, 0.3, 0, "normal"},
        .amazon_book = {1e-3, 0, 0, 0.9, 0, "normal"},
        .fast = {LISTWISE, 0.005, 0.3, 0, 0, 64, 0},
    },
    {
        .name = "imc-lightgcn",
        .alias = "imc-lgcn",
        .label = "IMC-LGCN",
        .help = "LightGCN, new nodes get the mean vector",
        .provider = &inmo_provider_average,
        .backbone = &inmo_backbone_lightgcn,
        .paper = {1e-3, 1e-4, 0, 0, 0, "normal"},
        .amazon_book = {1e-3, 1e-5, 0, 0, 0, "normal"},
        .fast = {LISTWISE, 0.0066, INMO_AUTO, 0, 0, 128, 0},
        .choice = &inmo_choice_lightgcn,
    },
    {
        .name = "idcf-lightgcn",
        .alias = "idcf-lgcn",
        .label = "IDCF-LGCN",
        .help = "attention over a trained LightGCN's vectors, then LightGCN",
        .provider = &inmo_provider_idcf,
        .backbone = &inmo_backbone_lightgcn,
        /* "normal" is for its keys; the weights start Kaiming uniform */
        .paper = {1e-3, 1e-4, 0, 0, 0, "normal"},
        .fast = {PAIRWISE, 0.001, 1, 0, 1e-4, 128, 0}, /* its keys are trained with LightGCN's rate */
    },
    {
        .name = "item-knn",
        .alias = "knn",
        .label = "ItemKNN",
        .help = "the nearest items of each item",
        .system = &inmo_system_knn,
        .choice = &inmo_choice_knn,
        .fast = {LISTWISE, 0.006, 0.065, 0, 0, 128, 0},
    },
    {
        .name = "ease",
        .label = "EASE",
        .help = "a linear autoencoder in closed form",
        .system = &inmo_system_ease,
        .choice = &inmo_choice_ease,
        .fast = {LISTWISE, 0.006, 0.065, 0, 0, 128, 0},
    },
    {
        .name = "ials",
        .alias = "als",
        .label = "iALS",
        .help = "alternating least squares",
        .system = &inmo_system_ials,
        .choice = &inmo_choice_ials,
        .fast = {LISTWISE, 0.006, 0.065, 0, 0, 256, 0},
    },
    {
        .name = "gf-cf",
        .label = "GF-CF",
        .help = "linear and ideal low-pass graph filters",
        .system = &inmo_system_gfcf,
        .choice = &inmo_choice_gfcf,
        .fast = {LISTWISE, 0.006, 0.065, 0, 0, 128, 0},
    },
    {
        .name = "mult-vae",
        .alias = "vae",
        .label = "Mult-VAE",
        .help = "a variational autoencoder of histories",
        .system = &inmo_system_mult_vae,
        .paper = {1e-3, 1e-4, 0.7, 0, 0, "kaiming"},
        .amazon_book = {1e-3, 1e-5, 0.7, 0, 0, "kaiming"},
        .fast = {inmo_recipe_standalone, .learning_rate = 0.01, .dim = 128},
    },
    {
        .name = "popular",
        .label = "Popular",
        .help = "the most frequent items, for everybody",
        .system = &inmo_system_popular,
        .fast = {LISTWISE, 0.006, 0.065, 0, 0, 128, 0},
    },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const struct inmo_model_kind *inmo_model_kind_find(const char *name)
{
    for (size_t n = 0; n < KINDS; n++)
        if (strcmp(kinds[n].name, name) == 0 || (kinds[n].alias && strcmp(kinds[n].alias, name) == 0))
            return kinds + n;
    return NULL;
}

const struct inmo_model_kind *inmo_model_kind_at(size_t n)
{
    return n < KINDS ? kinds + n : NULL;
}

/* Texts made from the table once. */
static char names[1024], list[1024], help[2048], for_unseen[1024];
static pthread_once_t written = PTHREAD_ONCE_INIT;

static void append(char *text, size_t size, const char *before, const char *what)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length > 0 ? before : "", what);
}

/* The name for the model in messages: its own or that of its provider's family; NULL: it cannot serve unseen
 * users. */
static const char *called_for_unseen(const struct inmo_model_kind *kind)
{
    if (!inmo_kind_serves_unseen(kind) || (kind->system && !kind->system->personal))
        return NULL;
    return kind->provider && kind->provider->family ? kind->provider->family : kind->name;
}

static void write_texts(void)
{
    const char *called[KINDS];
    size_t count = 0;
    for (size_t n = 0; n < KINDS; n++) {
        const char *what = called_for_unseen(kinds + n);
        append(names, sizeof names, "|", kinds[n].name);
        append(list, sizeof list, ", ", kinds[n].name);
        if (kinds[n].alias) {
            append(names, sizeof names, "|", kinds[n].alias);
            append(list, sizeof list, ", ", kinds[n].alias);
        }
        append(help, sizeof help, "; ", kinds[n].name);
        append(help, sizeof help, ": ", kinds[n].help);
        if (what && (count == 0 || strcmp(called[count - 1], what) != 0))
            called[count++] = what;
    }
    append(help, sizeof help, ".", "");
    for (size_t n = 0; n < count; n++)
        append(for_unseen, sizeof for_unseen, n + 1 < count ? ", " : " or ", called[n]);
}

const char *inmo_model_names(void)
{
    pthread_once(&written, write_texts);
    return names;
}

const char *inmo_model_list(void)
{
    pthread_once(&written, write_texts);
    return list;
}

const char *inmo_model_help(void)
{
    pthread_once(&written, write_texts);
    return help;
}

const char *inmo_models_for_unseen(void)
{
    pthread_once(&written, write_texts);
    return for_unseen;
}
