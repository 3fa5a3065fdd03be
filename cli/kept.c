/* kept.c - what filters and splits have left out of a data set, in words and as JSON. It is in the record of the
 * data set (its description), so a prepared directory tells as much as a log that was just read. */
#include "common.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The counts of the record, in the order in which they are told. */
static const struct {
    const char *name;
    const char *words; /* after the number; NULL: by the rating threshold */
} reason[] = {
    {"low_rating_lines", NULL},
    {"seen_lines", "only seen"},
    {"negative_lines", "negative"},
    {"cancelled", "taken back by them"},
    {"other_lines", "of other event types"},
    {"weightless_lines", "of weight 0"},
    {"bad_lines", "in bad lines"},
    {"below_k_core", "below the k-core"},
    {"after_cut", "of users or items that come only after the cut"},
    {"duplicates", "repeated"},
};
enum { REASONS = sizeof reason / sizeof *reason, REPEATED = REASONS - 1, BAD = 6 };

struct kept {
    int64_t left_out[REASONS], all, kept, seen;
    int64_t users, items;           /* without training interactions */
    int64_t late_users, late_items; /* that come only after the cut in time, and are left out */
    char rated[64];                 /* "rated 3 or less" */
};

static int64_t whole(const json_t *object, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(object, key));
}

/* Users and items of the data set without training interactions, and those it knows by name only. */
void cli_kept_of(const struct inmo_dataset *dataset, struct cli_kept *kept)
{
    struct inmo_interactions train;
    struct inmo_id_table users, items;
    unsigned char *trained;
    inmo_dataset_info(dataset, &kept->info);
    inmo_dataset_part(dataset, "train", &train);
    inmo_dataset_extra_ids(dataset, &users, &items);
    kept->users = users.count;
    kept->items = items.count + train.items;
    for (int64_t u = 0; u < train.users; u++)
        kept->users += train.offset[u] == train.offset[u + 1];
    trained = calloc((size_t)train.items + 1, 1);
    for (int64_t e = 0; e < train.count && trained; e++) {
        kept->items -= !trained[train.item[e]];
        trained[train.item[e]] = 1;
    }
    if (!trained)
        kept->items = items.count;
    free(trained);
}

static void count(const struct cli_kept *from, struct kept *kept)
{
    const char *threshold;
    json_t *record;
    record = cli_json_parsed(from->info.description);
    threshold = json_string_value(json_object_get(record, "positive_rating"));
    *kept = (struct kept){.kept = whole(record, "interactions"),
                          .seen = whole(record, "seen"),
                          .late_users = whole(record, "after_cut_users"),
                          .late_items = whole(record, "after_cut_items")};
    kept->all = kept->kept;
    for (int n = 0; n < REASONS; n++) {
        int of_kept = !strcmp(reason[n].name, "cancelled") || !strcmp(reason[n].name, "below_k_core") ||
                      !strcmp(reason[n].name, "after_cut") || n == REPEATED;
        kept->left_out[n] = whole(record, reason[n].name);
        if (of_kept)
            kept->kept -= kept->left_out[n];
        else
            kept->all += kept->left_out[n];
    }
    snprintf(kept->rated, sizeof kept->rated, "rated %s%s",
             !threshold || strncmp(threshold, ">= ", 3) == 0 ? "below " : "",
             !threshold                          ? "the threshold"
             : strncmp(threshold, ">= ", 3) == 0 ? threshold + 3
                                                 : "3 or less");
    if (strcmp(from->info.scenario, "transductive") == 0) { /* else to be without is what the scenario is about */
        kept->users = from->users;
        kept->items = from->items;
    }
    json_decref(record);
}

/* Parts are whole interactions of each user, so a log of mostly single ones may have none for the test, and one of
 * few a user less than its share. */
static void say_parts(const struct inmo_dataset_info *info)
{
    double all = (double)(info->train + info->valid + info->test);
    json_t *record = cli_json_parsed(info->description), *options = json_object_get(record, "options");
    const char *split = json_string_value(json_object_get(options, "split")), *test;
    const char *by = json_string_value(json_object_get(options, "by"));
    test = split ? strrchr(split, '/') : NULL;
    if (by && strcmp(by, "cut") == 0 && info->test == 0 && info->train > 0)
        cli_note(INMO_WARNING, "the test part is empty: nobody has interactions both before the cut and after it; "
                               "an earlier --cut, or --by time, which takes everybody's last ones, makes one");
    else if (test && strtod(test + 1, NULL) > 0 && info->test == 0 && info->train > 0)
        cli_note(INMO_WARNING,
                 "the test part is empty: nobody has enough interactions for %s %% of them to be one; "
                 "--split 50/0/50 takes one from everybody who has two",
                 test + 1);
    else if (test && strcmp(info->scenario, "transductive") == 0 && by && strcmp(by, "random") == 0 &&
             (double)info->test < all * strtod(test + 1, NULL) / 200)
        cli_note(
            INMO_NOTE,
            "the parts have %.0f, %.0f and %.0f %% of the interactions, not %s: users with few give whole ones, "
            "rounded down, to training and the test, and the rest to validation",
            100 * (double)info->train / all, 100 * (double)info->valid / all, 100 * (double)info->test / all,
            split);
    json_decref(record);
}

void cli_say_kept(const struct inmo_dataset *dataset)
{
    struct cli_kept from;
    cli_kept_of(dataset, &from);
    cli_say_kept_of(&from);
}

void cli_say_kept_of(const struct cli_kept *from)
{
    struct kept kept;
    char text[600] = "", a[32], b[32];
    size_t at = 0;
    int any = 0;
    if (getenv(CLI_KEPT_SAID))
        return;
    count(from, &kept);
    for (int n = 0; n < REASONS; n++)
        any |= n != REPEATED && n != BAD && kept.left_out[n] > 0; /* repeats are no loss, bad lines were told */
    for (int n = 0; n < REASONS && at < sizeof text; n++)
        if (kept.left_out[n] > 0)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %s", at ? ", " : "",
                                   cli_thousands(kept.left_out[n], a),
                                   reason[n].words ? reason[n].words : kept.rated);
    if (any)
        cli_note(INMO_NOTE, "kept %s of %s interactions: %s", cli_thousands(kept.kept, a),
                 cli_thousands(kept.all, b), text);
    if (kept.seen > 0)
        cli_note(INMO_NOTE, "%s of those are seen, not liked: never recommended to the same user",
                 cli_thousands(kept.seen, a));
    if (kept.late_users > 0 || kept.late_items > 0)
        cli_note(INMO_NOTE,
                 "%s user%s and %s item%s come only after the cut: nothing can be learned about them, so they "
                 "are not in the validation and the test",
                 cli_thousands(kept.late_users, a), kept.late_users == 1 ? "" : "s",
                 cli_thousands(kept.late_items, b), kept.late_items == 1 ? "" : "s");
    if (kept.users > 0)
        cli_note(INMO_NOTE,
                 "%s user%s no training interactions: known by name, and served with the most popular items",
                 cli_thousands(kept.users, a), kept.users == 1 ? " has" : "s have");
    if (kept.items > 0)
        cli_note(INMO_NOTE, "%s item%s no training interactions: known by name only", cli_thousands(kept.items, a),
                 kept.items == 1 ? " has" : "s have");
    say_parts(&from->info);
}

json_t *cli_kept_json(const struct inmo_dataset *dataset)
{
    struct cli_kept from;
    cli_kept_of(dataset, &from);
    return cli_kept_json_of(&from);
}

json_t *cli_kept_json_of(const struct cli_kept *from)
{
    struct kept kept;
    json_t *left_out = json_object();
    count(from, &kept);
    for (int n = 0; n < REASONS; n++)
        if (kept.left_out[n] > 0)
            json_object_set_new(left_out, reason[n].name, json_integer(kept.left_out[n]));
    return json_pack("{sI sI so sI sI sI}", "interactions", (json_int_t)kept.kept, "of", (json_int_t)kept.all,
                     "left_out", left_out, "seen", (json_int_t)kept.seen, "users_without_training",
                     (json_int_t)kept.users, "items_without_training", (json_int_t)kept.items);
}
