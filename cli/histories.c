/* histories.c - see histories.h. The file is read as a log and prepared as a data set without a split: that gives
 * the items of each person, in the order in which they first appear, whatever the format. */
#include "histories.h"

#include <stdlib.h>

/* People ranked between two writings. */
enum { AT_ONCE = 1 << 16 };

struct cli_histories {
    struct inmo_dataset *data;
    struct inmo_interactions taken, seen; /* seen: of all people and items, those of extra behind the others */
    struct inmo_id_table users, items, extra_users, extra_items;
    // (people + 1) where histories begin in taken; of people who have only seen something: its end
    int64_t *offset;
};

void cli_histories_free(struct cli_histories *histories)
{
    if (histories) {
        inmo_dataset_free(histories->data);
        free(histories->offset);
    }
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
    inmo_dataset_part(histories->data, "seen", &histories->seen);
    inmo_dataset_ids(histories->data, &histories->users, &histories->items);
    inmo_dataset_extra_ids(histories->data, &histories->extra_users, &histories->extra_items);
    histories->offset = cli_allocate(cli_histories_count(histories) + 1, sizeof *histories->offset);
    for (size_t n = 0; n <= cli_histories_count(histories); n++)
        histories->offset[n] =
            histories->taken.offset[n < (size_t)histories->taken.users ? n : (size_t)histories->taken.users];
    *out = histories;
    return INMO_OK;
}

size_t cli_histories_count(const struct cli_histories *histories)
{
    return (size_t)(histories->users.count + histories->extra_users.count);
}

const char *cli_histories_name(const struct cli_histories *histories, size_t n)
{
    const struct inmo_id_table *extra = &histories->extra_users;
    size_t known = (size_t)histories->users.count;
    return n < known ? histories->users.text + histories->users.offset[n] : extra->text + extra->offset[n - known];
}

void cli_histories_items(const struct cli_histories *histories, size_t n, struct cli_strings *items)
{
    for (int64_t e = histories->offset[n]; e < histories->offset[n + 1]; e++)
        cli_strings_add(items, histories->items.text + histories->items.offset[histories->taken.item[e]]);
}

/* The id of an item that people have, or have only seen. */
static const char *item_id(const struct cli_histories *histories, int64_t n)
{
    const struct inmo_id_table *extra = &histories->extra_items;
    int64_t known = histories->items.count;
    return n < known ? histories->items.text + histories->items.offset[n] : extra->text + extra->offset[n - known];
}

void cli_histories_seen(const struct cli_histories *histories, size_t n, struct cli_strings *items)
{
    const struct inmo_interactions *seen = &histories->seen;
    for (int64_t e = seen->offset ? seen->offset[n] : 0; seen->offset && e < seen->offset[n + 1]; e++)
        cli_strings_add(items, item_id(histories, seen->item[e]));
}

/* Whether person n has only seen the item of the view. seen_row: the rows of what people have seen. */
static int has_seen(const struct cli_histories *histories, const int32_t *seen_row, size_t n, int32_t item)
{
    const struct inmo_interactions *seen = &histories->seen;
    for (int64_t e = seen->offset ? seen->offset[n] : 0; seen->offset && e < seen->offset[n + 1]; e++)
        if (seen_row[e] == item)
            return 1;
    return 0;
}

/* The most items that anybody has only seen. */
static size_t most_seen(const struct cli_histories *histories)
{
    const struct inmo_interactions *seen = &histories->seen;
    int64_t most = 0;
    for (int64_t n = 0; seen->offset && n < seen->users; n++)
        most = seen->offset[n + 1] - seen->offset[n] > most ? seen->offset[n + 1] - seen->offset[n] : most;
    return (size_t)most;
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

/* Lists of people first .. first + count - 1, which are longer than asked for by what somebody has only seen. */
struct answers {
    size_t first, count;
    int k;
    int32_t *item;  // (count, k)
    float *score;   // (count, k)
    int32_t *seen_row;
};

/* Writes them without what their people have only seen. */
static enum inmo_status put(const struct cli_histories *histories, const struct inmo_view *view,
                            const struct answers *answers, const struct inmo_query *asked, struct cli_lists *lists,
                            struct inmo_entry *entry, struct inmo_error *error)
{
    int unknown = cli_count_unknown(view, asked->allow, asked->allow_count) +
                  cli_count_unknown(view, asked->deny, asked->deny_count);
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < answers->count && !status && !ferror(lists->output.stream); n++) {
        struct inmo_list list = {.entry = entry};
        size_t person = answers->first + n, at = n * (size_t)answers->k;
        const char *name = cli_histories_name(histories, person);
        struct inmo_query query = *asked;
        struct cli_strings history = {0};
        char *sentence = NULL;
        for (const size_t end = at + (size_t)answers->k;
             at < end && answers->item[at] >= 0 && list.count < (size_t)asked->k; at++)
            if (!has_seen(histories, answers->seen_row, person, answers->item[at]))
                entry[list.count++] =
                    (struct inmo_entry){inmo_view_item_id(view, answers->item[at]), answers->score[at]};
        if (cli_lists_tell(lists)) {
            cli_histories_items(histories, person, &history);
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
    int64_t taken = histories->offset[people], seen = histories->seen.offset ? histories->seen.count : 0;
    int32_t *history = cli_allocate((size_t)taken, sizeof *history);
    int32_t *allow = cli_allocate(query->allow_count, sizeof *allow);
    int32_t *deny = cli_allocate(query->deny_count, sizeof *deny);
    struct answers answers = {.seen_row = cli_allocate((size_t)seen, sizeof *answers.seen_row)};
    struct inmo_rows_query rows;
    struct inmo_entry *entry;
    enum inmo_status status = INMO_OK;

    inmo_view_items(view, &items);
    k = (size_t)query->k + most_seen(histories);
    k = (size_t)items.rows < k ? (size_t)items.rows : k;
    answers.k = (int)k;
    answers.item = cli_allocate(most * k, sizeof *answers.item);
    answers.score = cli_allocate(most * k, sizeof *answers.score);
    entry = cli_allocate(k, sizeof *entry);
    for (int64_t n = 0; n < taken; n++)
        history[n] = (int32_t)inmo_view_item_row(view, item_id(histories, histories->taken.item[n]));
    for (int64_t n = 0; n < seen; n++)
        answers.seen_row[n] = (int32_t)inmo_view_item_row(view, item_id(histories, histories->seen.item[n]));
    inmo_rows_query_init(&rows);
    rows.k = (int)k;
    rows.include_seen = query->include_seen;
    rows.rules = query->rules;
    rows.item = history;
    rows.item_count = taken;
    rows.allow = query->allow ? allow : NULL;
    rows.allow_count = find(view, query->allow, query->allow_count, allow);
    rows.deny = deny;
    rows.deny_count = find(view, query->deny, query->deny_count, deny);
    for (size_t first = 0; first < people && !status && !ferror(lists->output.stream); first += most) {
        answers.first = first;
        answers.count = rows.count = people - first < most ? people - first : most;
        rows.offset = histories->offset + first;
        status = inmo_recommend_rows(view, &rows, cli_hooks(), answers.item, answers.score, error);
        cli_hooks_end();
        if (!status)
            status = put(histories, view, &answers, query, lists, entry, error);
    }
    free(entry);
    free(answers.score);
    free(answers.item);
    free(answers.seen_row);
    free(deny);
    free(allow);
    free(history);
    return status;
}
