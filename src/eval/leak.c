/* leak.c - see leak.h. A lookup for each interaction to be predicted. */
#include "eval/leak.h"

#include "base/memory.h"
#include "data/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void inmo_leaks_count(const struct inmo_model *model, const int32_t *model_user, const int32_t *model_item,
                      const struct inmo_csr *truth, struct inmo_leaks *leaks)
{
    *leaks = (struct inmo_leaks){.interactions = inmo_csr_count(truth)};
    for (int32_t u = 0; truth->offset && u < truth->rows; u++)
        for (int64_t e = truth->offset[u]; e < truth->offset[u + 1] && model_user[u] >= 0; e++) {
            int32_t i = model_item[truth->column[e]];
            leaks->trained += i >= 0 && inmo_csr_has(&model->train, model_user[u], i);
            leaks->validated += i >= 0 && inmo_csr_has(&model->valid, model_user[u], i);
        }
}

enum inmo_status inmo_leaks_check(const struct inmo_leaks *leaks, int is_test, struct inmo_error *error)
{
    char validated[96] = "";
    if (leaks->trained == 0 && (leaks->validated == 0 || !is_test))
        return INMO_OK;
    if (is_test && leaks->validated > 0)
        snprintf(validated, sizeof validated, " and validated with %" PRId64, leaks->validated);
    return inmo_fail(
        error, INMO_INPUT,
        "of the %" PRId64 " %s interactions the model was trained on %" PRId64
        "%s, so its scores would mean nothing: evaluate it on the data it was trained from, split in the "
        "same way (`split`, `by`, `seed`); `allow-leaks` evaluates all the same",
        leaks->interactions, is_test ? "test" : "validation", leaks->trained, validated);
}

/* number[n] of the n-th id in the model. */
static enum inmo_status match(const struct inmo_idmap *theirs, const struct inmo_idmap *ours, int32_t **number,
                              struct inmo_error *error)
{
    *number = inmo_alloc((size_t)theirs->count, sizeof **number);
    if (!*number)
        return inmo_fail_memory(error, "comparing the model with the data");
    for (int32_t n = 0; n < theirs->count; n++)
        (*number)[n] = inmo_idmap_find(ours, inmo_idmap_id(theirs, n));
    return INMO_OK;
}

enum inmo_status inmo_evaluate_leaks(const struct inmo_model *model, const struct inmo_dataset *dataset,
                                     const char *part, struct inmo_leaks *leaks, struct inmo_error *error)
{
    const struct inmo_csr *truth = NULL;
    int32_t *user = NULL, *item = NULL;
    enum inmo_status status;
    if (strcmp(part, "test") == 0)
        truth = &dataset->test;
    else if (strcmp(part, "valid") == 0)
        truth = &dataset->valid;
    if (!truth)
        return inmo_fail(error, INMO_USAGE, "`part` is \"%s\"; it must be one of test|valid", part);
    status = inmo_model_index(model, error);
    if (!status)
        status = match(&dataset->users, &model->users, &user, error);
    if (!status)
        status = match(&dataset->items, &model->items, &item, error);
    if (!status)
        inmo_leaks_count(model, user, item, truth, leaks);
    inmo_free(item);
    inmo_free(user);
    return status;
}
