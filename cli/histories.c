/* histories.c - see histories.h. The file is read as a log and prepared as a data set without a split: that gives
 * the items of each person, in the order in which they first appear, whatever the format. */
#include "histories.h"

#include <stdlib.h>

/* People ranked between two writings. */
enum { AT_ONCE = 1 << 16 };

struct cli_histories {
    struct inmo_dataset *data;
    struct inmo_interactions taken;
    struct inmo_id_table users, items;
};

void cli_histories_free(struct cli_histories *histories)
{
    if (histories)
        inmo_dataset_free(histories->data);
    free(histories);
}

enum inmo_status cli_histories_read(const char *path, const struct inmo_read_options *options,
                                    struct cli_histories **out, struct inmo_error *error)
{
    struct cli_histories *histories = cli_allocate(1, sizeof *histories);
    struct inmo_prepare_options prepare;
    struct inmo_log *log = NULL;
    enum inmo_status status = inmo_log_read(&path, 1, options, cli_hooks(), &log, error);

    cli_hooks_end();
    inmo_prepare_options_init(&prepare);
    prepare.split = "100/0/0";
    prepare.by = "random";
    if (!status)
        status = inmo_dataset_prepare(log, &prepare, &histories->data, error);
    inmo_log_free(log);
    if (status) {
        cli_histories_free(histories);
        return status;
    }
    inmo_dataset_part(histories->data, "train", &histories->taken);
    inmo_dataset_ids(histories->data, &histories->users, &histories->items);
    *out = histories;
    return INMO_OK;
}

size_t cli_histories_count(const struct cli_histories *histories)
{
    return (size_t)histories->taken.users;
}

const char *cli_histories_name(const struct cli_histories *histories, size_t n)
{
    return histories->users.text + histories->users.offset[n];
}

void cli_histories_items(const struct cli_histories *histories, size_t n, struct cli_strings *items)
{
    for (int64_t e = histories->taken.offset[n]; e < histories->taken.offset[n + 1]; e++)
        cli_strings_add(items, histories->items.text + histories->items.offset[histories->taken.item[e]]);
}

/* Numbers of ids in the view; those it does not know are left out of an allow or deny list. */
static size_t find(const struct inmo_view *view, const char *const *id, size_t count, int32_t *number)
{
    size_t found = 0;
    for (size_t n = 0; n < count; n++) {
        int64_t row = inmo_view_item_row(view, id[n]);
        if (row >= 0)
            number[found++] = (int32_t)row;
    }
    return found;
}

/* Writes the lists of people first .. first + count - 1. */
static enum inmo_status put(const struct cli_histories *histories, const struct inmo_view *view, size_t first,
                            size_t count, int k, const int32_t *item, const float *score,
                            const struct inmo_query *asked, struct cli_lists *lists, struct inmo_entry *entry,
                            struct inmo_error *error)
{
    int unknown = cli_count_unknown(view, asked->allow, asked->allow_count) +
                  cli_count_unknown(view, asked->deny, asked->deny_count);
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < count && !status && !ferror(lists->output.stream); n++) {
        struct inmo_list list = {.entry = entry};
        const char *name = cli_histories_name(histories, first + n);
        struct inmo_query query = *asked;
        struct cli_strings history = {0};
        char *sentence = NULL;
        for (int j = 0; j < k && item[n * (size_t)k + (size_t)j] >= 0; j++)
            entry[list.count++] = (struct inmo_entry){inmo_view_item_id(view, item[n * (size_t)k + (size_t)j]),
                                                      score[n * (size_t)k + (size_t)j]};
        if (cli_lists_tell(lists)) {
            cli_histories_items(histories, first + n, &history);
            query.items = history.value;
            query.item_count = history.count;
            status = inmo_query_coverage(view, &query, &list, error);
            list.unknown_items += unknown;
            sentence = cli_list_sentence(name, &query, &list);
        }
        if (!status)
            status = cli_lists_put(lists, &(struct cli_recipient){name, sentence}, &list, error);
        cli_strings_free(&history, 0);
        free(sentence);
    }
    return status;
}

enum inmo_status cli_recommend_histories(const struct cli_histories *histories, const struct inmo_view *view,
                                         const struct inmo_query *query, struct cli_lists *lists,
                                         struct inmo_error *error)
{
    struct inmo_matrix items;
    size_t people = cli_histories_count(histories), most = people < AT_ONCE ? people : AT_ONCE, k;
    int32_t *item_row = cli_allocate((size_t)histories->items.count, sizeof *item_row);
    int32_t *history = cli_allocate((size_t)histories->taken.count, sizeof *history);
    int32_t *allow = cli_allocate(query->allow_count, sizeof *allow);
    int32_t *deny = cli_allocate(query->deny_count, sizeof *deny), *item;
    struct inmo_rows_query rows;
    struct inmo_entry *entry;
    float *score;
    enum inmo_status status = INMO_OK;

    inmo_view_items(view, &items);
    k = items.rows < query->k ? (size_t)items.rows : (size_t)query->k;
    item = cli_allocate(most * k, sizeof *item);
    score = cli_allocate(most * k, sizeof *score);
    entry = cli_allocate(k, sizeof *entry);
    for (int64_t n = 0; n < histories->items.count; n++)
        item_row[n] = (int32_t)inmo_view_item_row(view, histories->items.text + histories->items.offset[n]);
    for (int64_t n = 0; n < histories->taken.offset[people]; n++)
        history[n] = item_row[histories->taken.item[n]];
    inmo_rows_query_init(&rows);
    rows.k = (int)k;
    rows.include_seen = query->include_seen;
    rows.rules = query->rules;
    rows.item = history;
    rows.item_count = histories->taken.offset[people];
    rows.allow = query->allow ? allow : NULL;
    rows.allow_count = find(view, query->allow, query->allow_count, allow);
    rows.deny = deny;
    rows.deny_count = find(view, query->deny, query->deny_count, deny);
    for (size_t first = 0; first < people && !status && !ferror(lists->output.stream); first += most) {
        rows.count = people - first < most ? people - first : most;
        rows.offset = histories->taken.offset + first;
        status = inmo_recommend_rows(view, &rows, cli_hooks(), item, score, error);
        cli_hooks_end();
        if (!status)
            status = put(histories, view, first, rows.count, (int)k, item, score, query, lists, entry, error);
    }
    free(entry);
    free(score);
    free(item);
    free(deny);
    free(allow);
    free(history);
    free(item_row);
    return status;
}
