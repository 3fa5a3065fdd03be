/* ranges.c - see ranges.h. The order is the one in which a search over all models goes through them: those that are
 * often best first, the slow ones last, so that a limit of time cuts off what is least likely to win.
 *
 * Ranges span the values that were best on some log (docs/choices.md), and a factor of two or three around them. */
#include "tune/ranges.h"

#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "train/settings.h"

#include <string.h>

/* An inverse of 10,000 items takes some twenty seconds and under a gigabyte; both grow steeply. */
enum { MOST_EASE_ITEMS = 10000 };

static const struct {
    const char *model, *ranges;
} table[] = {
    {"inmo-lightgcn", "learning-rate=0.002..0.015:log,temperature=0.04..0.25:log,layers=1|2|3,dropout=0.3..0.7,"
                      "popularity=-0.3..0.1"},
    {"item-knn", "similarity=cosine|jaccard|tf-idf|bm25,neighbours=20..1000:log,shrinkage=0|5|20|50|100"},
    {"ials", "dim=64|128|256,unobserved=0.002..0.5:log,l2=0.001..0.1:log"},
    {"inmo-mf", "learning-rate=0.001..0.01:log,temperature=0.04..0.25:log,dropout=0.1..0.7,popularity=-0.3..0.1"},
    {"lightgcn", "learning-rate=0.002..0.02:log,temperature=0.05..0.3:log,layers=1|2|3,popularity=-0.3..0.1"},
    {"gf-cf", "dim=32..512:log,low-pass=0.05..1:log"},
    {"ease", "l2=5..5000:log"},
    {"mult-vae", "learning-rate=0.003..0.02:log,dropout=0.3..0.8,temperature=0.1..3:log,dim=64|128|256"},
    {"mf", "learning-rate=0.001..0.02:log,l2=1e-4..3e-2:log,dim=32|64|128,loss=bpr|listwise"},
    {"popular", ""},
    {"imc-lightgcn", "learning-rate=0.002..0.02:log,temperature=0.05..0.3:log,layers=1|2|3,popularity=-0.3..0.1"},
    {"imc-gae", "learning-rate=0.002..0.015:log,temperature=0.1..0.6:log,layers=1|2|3,popularity=-0.3..0.1"},
    {"inmo-imc-gae", "learning-rate=0.002..0.015:log,temperature=0.05..0.3:log,layers=1|2|3,dropout=0.2..0.7,"
                     "popularity=-0.3..0.1"},
    {"ngcf", "learning-rate=0.001..0.01:log,l2=1e-4..1e-2:log,layers=1|2|3,graph-dropout=0..0.4"},
    {"inmo-ngcf", "learning-rate=0.001..0.01:log,l2=1e-4..1e-2:log,layers=1|2|3,graph-dropout=0..0.4,"
                  "dropout=0..0.6"},
    {"idcf-lightgcn", "learning-rate=3e-4..5e-3:log,l2=1e-5..1e-3:log,layers=1|2|3,contrast=0..2"},
    {"neumf", "learning-rate=0.001..0.01:log,l2=1e-3..1e-1:log"},
    {"inmo-neumf", "learning-rate=0.001..0.01:log,l2=1e-4..1e-2:log,dropout=0..0.6"},
};
enum { MODELS = sizeof table / sizeof *table };

const char *inmo_tune_model(size_t n)
{
    return n < MODELS ? table[n].model : NULL;
}

static enum inmo_status check_keep(const char *keep, struct inmo_error *error)
{
    size_t count, all = inmo_train_settings_of_model();
    const struct inmo_setting *row = inmo_train_settings(&count);
    while (keep && *keep) {
        size_t length = strcspn(keep, ","), n = 0;
        while (n < all && !(strlen(row[n].name) == length && memcmp(row[n].name, keep, length) == 0))
            n++;
        if (n == all)
            return inmo_fail(error, INMO_USAGE, "`keep`: found \"%.*s\", expected the names of training settings",
                             (int)(length < 60 ? length : 60), keep);
        keep += length + (keep[length] == ',');
    }
    return INMO_OK;
}

enum inmo_status inmo_ranges_space(const char *model, const char *keep, int halving, struct inmo_space *space,
                                   struct inmo_error *error)
{
    struct inmo_text text = {0};
    const char *at = "";
    char *wanted;
    enum inmo_status status = check_keep(keep, error);
    if (status)
        return status;
    for (size_t n = 0; n < MODELS; n++)
        if (strcmp(table[n].model, model) == 0)
            at = table[n].ranges;
    while (*at) {
        size_t length = strcspn(at, ",");
        if (!inmo_list_has(keep, at, strcspn(at, "="))) {
            inmo_text_add(&text, ",", text.length > 0);
            inmo_text_add(&text, at, length);
        }
        at += length + (at[length] == ',');
    }
    wanted = inmo_text_take(&text);
    if (!wanted)
        return inmo_fail_memory(error, "the search");
    if (*wanted)
        status = inmo_space_parse(wanted, halving, space, error);
    else
        *space = (struct inmo_space){.size = 1};
    inmo_free(wanted);
    return status;
}

void inmo_ranges_bound(const char *keep, struct inmo_train_options *options)
{
    if (strcmp(options->model, "ease") == 0 && options->most_items == 0 && !inmo_list_has(keep, "most-items", 10))
        options->most_items = MOST_EASE_ITEMS;
}
