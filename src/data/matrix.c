/* matrix.c - a data set from matrices: what prepare.c does for a log, for people who have numbers instead of ids.
 *
 *     interactions  ->  checked, rows ascending, repeats merged  ->  parts
 *
 * Row u stays user u and column i item i, so results need no translation. The matrix is copied once; where it is
 * also divided, once more while that lasts. */
#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/rows.h"
#include "data/split.h"

#include <inttypes.h>
#include <string.h>

enum { ALWAYS_TOLD = 8 }; /* settings in a description, up to new-choice */

static enum inmo_status check(const struct inmo_interactions *given, const char *name, struct inmo_error *error)
{
    if (given->users < 1 || given->items < 1 || given->users > INT32_MAX || given->items > INT32_MAX)
        return inmo_fail(error, INMO_INPUT,
                         "the %s matrix: found %" PRId64 " users and %" PRId64 " items, expected 1 to %" PRId32
                         " of each",
                         name, given->users, given->items, INT32_MAX);
    if (given->offset[0] != 0)
        return inmo_fail(error, INMO_INPUT, "the %s matrix: the rows begin at %" PRId64 ", expected 0", name,
                         given->offset[0]);
    for (int64_t u = 0; u < given->users; u++)
        if (given->offset[u + 1] < given->offset[u] || given->offset[u + 1] > given->count)
            return inmo_fail(error, INMO_INPUT,
                             "the %s matrix: row %" PRId64 " ends at %" PRId64 ", expected %" PRId64 " to %" PRId64,
                             name, u, given->offset[u + 1], given->offset[u], given->count);
    for (int64_t u = 0; u < given->users; u++)
        for (int64_t e = given->offset[u]; e < given->offset[u + 1]; e++)
            if (given->item[e] < 0 || given->item[e] >= given->items)
                return inmo_fail(error, INMO_INPUT,
                                 "the %s matrix: row %" PRId64 " has item %" PRId32 ", expected 0 to %" PRId64,
                                 name, u, given->item[e], given->items - 1);
    return INMO_OK;
}

/* A checked copy with ascending rows. given NULL: without interactions. */
static enum inmo_status take(const struct inmo_interactions *given, const char *name, int32_t users, int32_t items,
                             struct inmo_rows *rows, struct inmo_error *error)
{
    enum inmo_status status = given ? check(given, name, error) : INMO_OK;
    int64_t count = 0;
    if (!status && given && (given->users != users || given->items != items))
        status = inmo_fail(error, INMO_INPUT,
                           "the %s matrix: found %" PRId64 " users and %" PRId64 " items, expected %" PRId32
                           " and %" PRId32 " as for training",
                           name, given->users, given->items, users, items);
    if (status)
        return status;
    rows->users = users;
    rows->items = items;
    rows->offset = inmo_alloc_zero((size_t)users + 1, sizeof *rows->offset);
    rows->item = inmo_alloc(given ? (size_t)given->offset[users] : 0, sizeof *rows->item);
    if (!rows->offset || !rows->item)
        return inmo_fail_memory(error, "the matrix");
    for (int32_t u = 0; given && u < users; u++) {
        int64_t begin = given->offset[u], length = given->offset[u + 1] - begin, ordered = 1;
        int32_t *row = rows->item + count;
        if (length > 0)
            memcpy(row, given->item + begin, (size_t)length * sizeof *row);
        while (ordered < length && row[ordered - 1] < row[ordered])
            ordered++;
        count += ordered >= length ? length : inmo_ascending(row, length);
        rows->offset[u + 1] = count;
    }
    return INMO_OK;
}

/* Moves the arrays of the rows into a list. */
static struct inmo_csr move(struct inmo_rows *rows)
{
    struct inmo_csr list = {rows->users, rows->items, rows->offset, rows->item, NULL};
    rows->offset = NULL;
    rows->item = NULL;
    return list;
}

/* Ids 0, 1, 2, ... as text. */
static enum inmo_status number_ids(int32_t count, struct inmo_idmap *ids, struct inmo_error *error)
{
    int64_t *offset = inmo_alloc((size_t)count + 1, sizeof *offset), size = 0;
    char *text = inmo_alloc((size_t)count * sizeof "2147483647", 1);
    if (!offset || !text) {
        inmo_free(text);
        inmo_free(offset);
        return inmo_fail_memory(error, "the ids");
    }
    for (int32_t n = 0; n < count; n++) {
        offset[n] = size;
        size += snprintf(text + size, sizeof "2147483647", "%" PRId32, n) + 1;
    }
    offset[count] = size;
    *ids = (struct inmo_idmap){.count = count, .offset = offset, .text = text};
    return INMO_OK;
}

static enum inmo_status check_options(const struct inmo_prepare_options *options, struct inmo_split *split,
                                      enum inmo_scenario *scenario, struct inmo_error *error)
{
    size_t count;
    const struct inmo_setting *table = inmo_prepare_settings(&count);
    enum inmo_status status = inmo_sized_check(options, sizeof *options, "inmo_prepare_options", error);
    if (!status)
        status = inmo_settings_check(table, count, options, error);
    if (status)
        return status;
    if (options->k_core != 0 || options->hold_out > 0 || options->cut || options->last > 0 || options->half_life ||
        (options->hold_out_by && strcmp(options->hold_out_by, "random") != 0) ||
        (options->by && strcmp(options->by, "random") != 0))
        return inmo_fail(error, INMO_USAGE, "`%s` does not apply to a matrix, which is only split at random",
                         options->k_core != 0                                ? "k-core"
                         : options->hold_out > 0                             ? "hold-out"
                         : options->cut                                      ? "cut"
                         : options->last > 0                                 ? "last"
                         : options->half_life                                ? "half-life"
                         : options->by && strcmp(options->by, "random") != 0 ? "by"
                                                                             : "hold-out-by");
    while (options->scenario && strcmp(inmo_scenario_name(*scenario), options->scenario) != 0)
        ++*scenario;
    return inmo_split_parse(options->split ? options->split : "70/10/20", split, error);
}

/* Divides the rows as the options say. */
static enum inmo_status divide(struct inmo_rows *rows, const struct inmo_prepare_options *options,
                               struct inmo_dataset *dataset, struct inmo_error *error)
{
    struct inmo_split split;
    struct inmo_csr *const list[] = {&dataset->train, &dataset->test, &dataset->valid, &dataset->later,
                                     &dataset->aside}; /* in the order of enum inmo_part */
    enum inmo_status status = check_options(options, &split, &dataset->scenario, error);
    if (status)
        return status;
    rows->part = inmo_alloc_zero((size_t)rows->offset[rows->users], sizeof *rows->part);
    status =
        rows->part ? inmo_split_by_seed(rows, &split, options->seed, error) : inmo_fail_memory(error, "splitting");
    if (!status)
        status =
            inmo_scenario_choose(dataset->scenario, rows->users, rows->items, inmo_share(options->new_share),
                                 options->new_choice && strcmp(options->new_choice, "last") == 0, options->seed,
                                 (uint8_t *)dataset->new_user, (uint8_t *)dataset->new_item, error);
    if (!status)
        status = inmo_scenario_apply(dataset->scenario, rows, inmo_share(options->new_share), options->seed,
                                     dataset->new_user, dataset->new_item, error);
    for (uint8_t part = INMO_TRAIN; part <= INMO_ASIDE && !status; part++)
        status = inmo_rows_part(rows, part, 0, list[part], error);
    return status;
}

/* An item is trained on, validated with or tested, not two of these. */
static enum inmo_status check_apart(const struct inmo_csr *list, const struct inmo_csr *other, const char *name,
                                    const char *other_name, struct inmo_error *error)
{
    for (int32_t u = 0; u < list->rows; u++)
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; e++)
            if (inmo_csr_has(other, u, list->column[e]))
                return inmo_fail(error, INMO_INPUT,
                                 "row %" PRId32 ", item %" PRId32
                                 ": found in the %s and in the %s matrix, expected "
                                 "in one of them",
                                 u, list->column[e], name, other_name);
    return INMO_OK;
}

static enum inmo_status gather(struct inmo_rows *rows, const struct inmo_interactions *valid,
                               const struct inmo_interactions *test, struct inmo_dataset *dataset,
                               struct inmo_error *error)
{
    struct inmo_csr *const list[] = {&dataset->valid, &dataset->test, &dataset->later, &dataset->aside};
    const struct inmo_interactions *const given[] = {valid, test, NULL, NULL};
    static const char *const name[] = {"validation", "test", "", ""};
    int32_t users = rows->users, items = rows->items;
    enum inmo_status status = INMO_OK;
    dataset->train = move(rows);
    for (size_t n = 0; n < sizeof list / sizeof *list && !status; n++) {
        struct inmo_rows part = {0};
        status = take(given[n], name[n], users, items, &part, error);
        if (!status)
            *list[n] = move(&part);
        inmo_rows_free(&part);
    }
    if (!status)
        status = check_apart(&dataset->valid, &dataset->train, "validation", "training", error);
    if (!status)
        status = check_apart(&dataset->test, &dataset->train, "test", "training", error);
    if (!status)
        status = check_apart(&dataset->test, &dataset->valid, "test", "validation", error);
    return status;
}

static char *describe(const struct inmo_prepare_options *options, int64_t interactions)
{
    size_t count;
    const struct inmo_setting *table = inmo_prepare_settings(&count);
    /* told up to new-choice, and further only what is set */
    struct inmo_prepare_options defaults;
    char *json = NULL;
    struct inmo_text text = {0};
    inmo_prepare_options_init(&defaults);
    if (options)
        json =
            inmo_settings_json(table, inmo_settings_told(table, ALWAYS_TOLD, count, options, &defaults), options);
    inmo_text_format(&text,
                     "{\"sources\": \"(matrix)\", \"interactions\": %" PRId64 ", \"options\": ", interactions);
    inmo_text_add(&text, json ? json : "{}", json ? strlen(json) : 2);
    inmo_text_add(&text, "}", 1);
    text.failed |= options && !json;
    inmo_free(json);
    return inmo_text_take(&text);
}

enum inmo_status inmo_dataset_from_matrices(const struct inmo_interactions *train,
                                            const struct inmo_interactions *valid,
                                            const struct inmo_interactions *test,
                                            const struct inmo_prepare_options *options, struct inmo_dataset **out,
                                            struct inmo_error *error)
{
    struct inmo_dataset *dataset = NULL;
    struct inmo_rows rows = {0};
    enum inmo_status status = check(train, "training", error);
    int32_t users = status ? 0 : (int32_t)train->users, items = status ? 0 : (int32_t)train->items;
    if (!status && options && (valid || test))
        status = inmo_fail(error, INMO_USAGE, "found options for splitting beside a validation or test matrix");
    if (!status)
        status = take(train, "training", users, items, &rows, error);
    if (status)
        goto done;
    dataset = inmo_alloc_zero(1, sizeof *dataset);
    if (dataset) {
        dataset->new_user = inmo_alloc_zero((size_t)users, 1);
        dataset->new_item = inmo_alloc_zero((size_t)items, 1);
        dataset->description = describe(options, rows.offset[users]);
    }
    if (!dataset || !dataset->new_user || !dataset->new_item || !dataset->description)
        status = inmo_fail_memory(error, "the data set");
    if (!status)
        status = number_ids(users, &dataset->users, error);
    if (!status)
        status = number_ids(items, &dataset->items, error);
    if (!status)
        status = options ? divide(&rows, options, dataset, error) : gather(&rows, valid, test, dataset, error);
    if (!status && inmo_csr_count(&dataset->train) == 0)
        status = inmo_fail(error, INMO_INPUT, "the training matrix has no interactions");
    if (!status) {
        *out = dataset;
        dataset = NULL;
    }
done:
    inmo_dataset_free(dataset);
    inmo_rows_free(&rows);
    return status;
}

int inmo_dataset_part(const struct inmo_dataset *dataset, const char *part, struct inmo_interactions *interactions)
{
    static const char *const name[] = {"train", "valid", "test", "later", "aside"};
    const struct inmo_csr *const list[] = {&dataset->train, &dataset->valid, &dataset->test, &dataset->later,
                                           &dataset->aside};
    for (size_t n = 0; n < sizeof list / sizeof *list; n++)
        if (strcmp(part, name[n]) == 0) {
            *interactions = (struct inmo_interactions){list[n]->rows, list[n]->columns, list[n]->offset,
                                                       list[n]->column, inmo_csr_count(list[n])};
            return 1;
        }
    if (strcmp(part, "seen") == 0 && dataset->seen.offset) {
        *interactions = (struct inmo_interactions){dataset->seen.rows, dataset->seen.columns, dataset->seen.offset,
                                                   dataset->seen.column, inmo_csr_count(&dataset->seen)};
        return 1;
    }
    return 0;
}

void inmo_dataset_ids(const struct inmo_dataset *dataset, struct inmo_id_table *users, struct inmo_id_table *items)
{
    *users = (struct inmo_id_table){dataset->users.count, dataset->users.offset, dataset->users.text};
    *items = (struct inmo_id_table){dataset->items.count, dataset->items.offset, dataset->items.text};
}

void inmo_dataset_extra_ids(const struct inmo_dataset *dataset, struct inmo_id_table *users,
                            struct inmo_id_table *items)
{
    const struct inmo_idmap *user = &dataset->extra_users, *item = &dataset->extra_items;
    *users = (struct inmo_id_table){user->count, user->offset, user->text};
    *items = (struct inmo_id_table){item->count, item->offset, item->text};
}
