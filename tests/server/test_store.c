/* test_store.c - what a store promises, for a file of SQLite and for PostgreSQL alike (store_world.h). */
#include "store_world.h"

#include <pthread.h>
#include <stdatomic.h>

static void feedback_is_unique_and_post_keeps_what_is_there(void **state)
{
    struct store *store = opened(fresh_url());
    (void)state;
    assert_int_equal(wrote(store, feedback_of(STORE_ADD_FEEDBACK, "like", "ann", "tea", 5, "first")), 1);
    assert_int_equal(wrote(store, feedback_of(STORE_ADD_FEEDBACK, "like", "ann", "tea", 6, "second")), 0);
    assert_int_equal(wrote(store, feedback_of(STORE_ADD_FEEDBACK, "view", "ann", "tea", 7, "")), 1);
    assert_string_equal(feedback_in(store), "like ann tea @5 \"first\"; view ann tea @7; ");
    store_close(store);
}

static void put_replaces_time_and_comment_and_moves_to_the_end(void **state)
{
    struct store *store = opened(fresh_url());
    (void)state;
    wrote(store, feedback_of(STORE_ADD_FEEDBACK, "like", "ann", "tea", 5, "first"));
    wrote(store, added("like", "bob", "tea"));
    assert_int_equal(wrote(store, feedback_of(STORE_PUT_FEEDBACK, "like", "ann", "tea", STORE_NO_TIME, NULL)), 1);
    assert_string_equal(feedback_in(store), "like bob tea; like ann tea; ");
    assert_int_equal(wrote(store, feedback_of(STORE_PUT_FEEDBACK, "like", "cid", "tea", 0, "new")), 1);
    assert_string_equal(feedback_in(store), "like bob tea; like ann tea; like cid tea @0 \"new\"; ");
    store_close(store);
}

static void users_and_items_that_feedback_names_are_made(void **state)
{
    struct store *store = opened(fresh_url());
    struct store_change item = {.deed = STORE_PUT_ITEM,
                                .item = {0, "tea", 1, 77, "[\"drinks\"]", "{\"a\":1}", "green"}};
    (void)state;
    wrote(store, added("like", "ann", "tea"));
    assert_string_equal(changes_after(store, 0, 0, NULL), "user ann null null; item tea [] null; like ann tea; ");
    wrote(store, item);
    wrote(store, added("like", "bob", "tea")); /* leaves the item as it is */
    assert_string_equal(changes_after(store, 0, 0, NULL),
                        "user ann null null; like ann tea; item tea hidden @77 [\"drinks\"] {\"a\":1} \"green\"; "
                        "user bob null null; like bob tea; ");
    store_close(store);
}

static void deletions_leave_tombstones_until_they_are_buried(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct store_counts counts;
    int64_t last = 0, later = 0;
    (void)state;
    wrote(store, added("like", "ann", "tea"));
    wrote(store, added("view", "ann", "tea"));
    wrote(store, added("like", "bob", "tea"));
    wrote(store, added("like", "bob", "milk"));
    wrote(store, added("like", "cid", "milk"));
    assert_int_equal(wrote(store, feedback_of(STORE_DELETE_FEEDBACK, "view", "ann", "tea", 0, NULL)), 1);
    assert_int_equal(wrote(store, feedback_of(STORE_DELETE_FEEDBACK, "view", "ann", "tea", 0, NULL)), 0);
    assert_string_equal(feedback_in(store),
                        "like ann tea; like bob tea; like bob milk; like cid milk; -view ann tea; ");
    assert_int_equal(wrote(store, (struct store_change){.deed = STORE_DELETE_USER, .user = {.id = "bob"}}), 3);
    assert_int_equal(wrote(store, (struct store_change){.deed = STORE_DELETE_ITEM, .item = {.id = "milk"}}), 2);
    assert_int_equal(wrote(store, (struct store_change){.deed = STORE_DELETE_ITEM, .item = {.id = "milk"}}), 0);
    assert_string_equal(changes_after(store, 0, 1, &last), "like ann tea; -view ann tea; -user bob; -item milk; ");
    must(store_count(store, &counts, &error));
    assert_int_equal(counts.feedback, 1);
    assert_int_equal(counts.users, 2);
    assert_int_equal(counts.items, 1);

    /* What comes back after a deletion stands after its tombstone. */
    wrote(store, added("like", "bob", "milk"));
    assert_string_equal(changes_after(store, last, 0, &later),
                        "user bob null null; item milk [] null; like bob milk; ");
    must(store_bury(store, last, &error));
    assert_string_equal(feedback_in(store), "like ann tea; like bob milk; ");
    must(store_last(store, &last, &error));
    assert_int_equal(last, later);
    store_close(store);

    /* Buried numbers are not given out again. */
    store = opened(store_url);
    wrote(store, feedback_of(STORE_DELETE_FEEDBACK, NULL, "bob", "milk", 0, NULL));
    assert_string_equal(changes_after(store, later, 0, &last), "-* bob milk; ");
    must(store_bury(store, last, &error));
    store_close(store);
    store = opened(store_url);
    wrote(store, added("like", "dee", "tea"));
    assert_string_equal(changes_after(store, last, 1, &later), "like dee tea; ");
    store_close(store);
}

static void a_deletion_of_what_is_not_there_is_remembered(void **state)
{
    struct store *store = opened(fresh_url());
    (void)state; /* the model may know somebody whom the store does not */
    assert_int_equal(wrote(store, (struct store_change){.deed = STORE_DELETE_USER, .user = {.id = "zoe"}}), 0);
    assert_int_equal(wrote(store, feedback_of(STORE_DELETE_FEEDBACK, "like", "yan", "tea", 0, NULL)), 0);
    assert_int_equal(wrote(store, (struct store_change){.deed = STORE_DELETE_USER, .user = {.id = "zoe"}}), 0);
    assert_string_equal(feedback_in(store), "-like yan tea; -user zoe; ");
    store_close(store);
}

static void everything_is_there_after_opening_again(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    static char before[65536];
    struct store_change user = {.deed = STORE_PUT_USER, .user = {0, "ann", "[1,2]", "[\"news\"]", "hello \"you\""}};
    (void)state;
    wrote(store, user);
    wrote(store, added("like", "ann", "tea"));
    wrote(store, added("like", "bob", "tea"));
    wrote(store, (struct store_change){.deed = STORE_DELETE_USER, .user = {.id = "bob"}});
    wrote(store, added("like", "bob", "milk")); /* comes back */
    snprintf(before, sizeof before, "%s", changes_after(store, 0, 0, NULL));
    store_close(store);
    must(store_open(store_url, 1, 1, &store, &error));
    assert_string_equal(changes_after(store, 0, 0, NULL), before);
    user.deed = STORE_PUT_USER;
    must_fail(store_write(store, &user, 1, &error), INMO_USAGE, "for reading");
    store_close(store);
    store = opened(store_url);
    assert_int_equal(wrote(store, added("like", "bob", "milk")), 0);
    assert_int_equal(wrote(store, added("like", "ann", "milk")), 1);
    assert_int_equal(strncmp(changes_after(store, 0, 0, NULL), before, strlen(before)), 0);
    store_close(store);
}

static void a_transaction_is_all_or_nothing(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct store_change changes[3] = {added("like", "ann", "tea"), added("like", "bob", ""), added("x", "y", "z")};
    (void)state;
    must_fail(store_write(store, changes, 3, &error), INMO_INPUT, "change 2: the item id is empty");
    assert_string_equal(changes_after(store, 0, 0, NULL), "");
    changes[1].feedback.item = "a\xff";
    must_fail(store_write(store, changes, 3, &error), INMO_INPUT, "change 2: the item id is not UTF-8");
    changes[1].feedback.item = "milk";
    must(store_write(store, changes, 3, &error));
    assert_true(changes[0].seq < changes[1].seq && changes[1].seq < changes[2].seq);
    must(store_write(store, changes, 3, &error));
    assert_int_equal(changes[0].affected + changes[1].affected + changes[2].affected, 0);
    assert_string_equal(feedback_in(store), "like ann tea; like bob milk; x y z; ");
    store_close(store);
}

/* In one batch: an event twice, deleted, back again, its user deleted and back. */
static void changes_of_a_batch_apply_in_order(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct store_change changes[] = {
        added("like", "ann", "tea"),
        feedback_of(STORE_ADD_FEEDBACK, "like", "ann", "tea", 9, "no"),
        feedback_of(STORE_PUT_FEEDBACK, "like", "ann", "tea", 1, "yes"),
        feedback_of(STORE_DELETE_FEEDBACK, NULL, "ann", "tea", 0, NULL),
        added("like", "ann", "tea"),
        added("like", "ann", "milk"),
        {.deed = STORE_DELETE_USER, .user = {.id = "ann"}},
        added("view", "ann", "milk"),
    };
    const int affected[] = {1, 0, 1, 1, 1, 1, 3, 1};
    (void)state;
    must(store_write(store, changes, COUNT(changes), &error));
    for (size_t n = 0; n < COUNT(changes); n++)
        assert_int_equal(changes[n].affected, affected[n]);
    assert_string_equal(changes_after(store, 0, 0, NULL),
                        "item tea [] null; -* ann tea; item milk [] null; -user ann; user ann null null; "
                        "view ann milk; ");
    store_close(store);
}

static int gather_id(void *context, const struct store_user *user)
{
    char(*ids)[5000] = context;
    for (; **ids; ids++)
        ;
    snprintf(*ids, sizeof *ids, "%s", user->id);
    return 1;
}

static void ids_are_any_text_in_order_of_their_bytes(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    static char longest[4098], found[8][5000];
    const char *id[6] = {"\n\t\"'\\", "/a/../b?c=d&e", "Z", "a", longest, "\xc3\xa4\xf0\x9f\x8d\xb5"};
    char cursor[STORE_CURSOR] = "", next[STORE_CURSOR];
    (void)state;
    memset(longest, 'a', 4096);
    for (int n = 5; n >= 0; n--)
        wrote(store, added(id[n], id[n], id[n]));
    for (int pages = 0; pages < 4; pages++) {
        must(store_users(store, cursor, 2, gather_id, found, next, &error));
        assert_int_equal(*next == 0, pages == 2);
        assert_true(strspn(next, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
                    strlen(next));
        snprintf(cursor, sizeof cursor, "%s", next);
        if (!*cursor)
            break;
    }
    for (int n = 0; n < 6; n++)
        assert_string_equal(found[n], id[n]);
    assert_int_equal(*found[6], 0);
    longest[4096] = 'a';
    must_fail(
        store_write(store, &(struct store_change){.deed = STORE_PUT_USER, .user = {.id = longest}}, 1, &error),
        INMO_INPUT, "longer than 4096 bytes");
    store_close(store);
}

static int gather_item(void *context, const struct store_feedback *feedback)
{
    put(context, "%s/%s/%s ", feedback->type, feedback->user, feedback->item);
    return 1;
}

static const char *page_of(struct store *store, const char *type, const char *user, const char *item, int most)
{
    static struct written out;
    struct inmo_error error = {0};
    char cursor[STORE_CURSOR] = "", next[STORE_CURSOR];
    int pages = 0;

    out.length = 0;
    out.text[0] = 0;
    do {
        must(store_feedback(store, type, user, item, cursor, most, gather_item, &out, next, &error));
        put(&out, "| ");
        memcpy(cursor, next, sizeof cursor);
    } while (*cursor && ++pages < 20);
    return out.text;
}

static void feedback_is_paged_by_type_user_and_item(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    char next[STORE_CURSOR];
    (void)state;
    for (int n = 0; n < 8; n++)
        wrote(store, added(n & 1 ? "a" : "b", n & 2 ? "u" : "v", n & 4 ? "i" : "j"));
    assert_string_equal(page_of(store, NULL, NULL, NULL, 100),
                        "b/v/j a/v/j b/u/j a/u/j b/v/i a/v/i b/u/i a/u/i | ");
    assert_string_equal(page_of(store, NULL, NULL, NULL, 4),
                        "b/v/j a/v/j b/u/j a/u/j | b/v/i a/v/i b/u/i a/u/i | ");
    assert_string_equal(page_of(store, "a", NULL, NULL, 3), "a/v/j a/u/j a/v/i | a/u/i | ");
    assert_string_equal(page_of(store, NULL, "u", NULL, 3), "b/u/j a/u/j b/u/i | a/u/i | ");
    assert_string_equal(page_of(store, NULL, NULL, "i", 3), "b/v/i a/v/i b/u/i | a/u/i | ");
    assert_string_equal(page_of(store, "a", "u", NULL, 1), "a/u/j | a/u/i | ");
    assert_string_equal(page_of(store, "a", NULL, "i", 9), "a/v/i a/u/i | ");
    assert_string_equal(page_of(store, NULL, "v", "j", 9), "b/v/j a/v/j | ");
    assert_string_equal(page_of(store, "b", "u", "i", 9), "b/u/i | ");
    assert_string_equal(page_of(store, NULL, "nobody", NULL, 9), "| ");
    assert_string_equal(page_of(store, "none", NULL, NULL, 9), "| ");
    must_fail(store_feedback(store, NULL, NULL, NULL, "f12x", 9, gather_item, NULL, next, &error), INMO_USAGE,
              "cursor");
    must_fail(store_feedback(store, NULL, NULL, NULL, "uYQ", 9, gather_item, NULL, next, &error), INMO_USAGE,
              "cursor");
    must_fail(store_users(store, "f3", 9, gather_id, NULL, next, &error), INMO_USAGE, "cursor");
    must_fail(store_users(store, "u!", 9, gather_id, NULL, next, &error), INMO_USAGE, "cursor");
    must_fail(store_items(store, "u_-8", 9, NULL, NULL, next, &error), INMO_USAGE, "cursor");
    wrote(store, (struct store_change){.deed = STORE_DELETE_USER, .user = {.id = "u"}});
    assert_string_equal(page_of(store, "a", NULL, NULL, 9), "a/v/j a/v/i | ");
    store_close(store);
}

static int note_user(void *context, const struct store_user *user)
{
    put(context, "%s %s", user->id, user->comment);
    return 1;
}

static int note_item(void *context, const struct store_item *item)
{
    put(context, "%s %s", item->id, item->categories);
    return 1;
}

static void one_user_or_item_is_found_or_not(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct written out = {0};
    int found = -1;
    (void)state;
    wrote(store, (struct store_change){.deed = STORE_PUT_USER, .user = {.id = "ann", .comment = "c"}});
    wrote(store, (struct store_change){.deed = STORE_PUT_ITEM,
                                       .item = {.id = "tea", .time = STORE_NO_TIME, .categories = "[\"x\"]"}});
    must(store_user(store, "ann", note_user, &out, &found, &error));
    assert_true(found && !strcmp(out.text, "ann c"));
    must(store_user(store, "tea", note_user, &out, &found, &error));
    assert_false(found);
    out.length = 0;
    must(store_item(store, "tea", note_item, &out, &found, &error));
    assert_true(found && !strcmp(out.text, "tea [\"x\"]"));
    must(store_item(store, "ann", note_item, &out, &found, &error));
    assert_false(found);
    store_close(store);
}

static int take_seq_of_item(void *context, const struct store_item *item)
{
    *(int64_t *)context = item->seq;
    return 1;
}

static int take_seq_of_user(void *context, const struct store_user *user)
{
    *(int64_t *)context = user->seq;
    return 1;
}

/* Two who read the same version and change it: only the first one may. */
static void what_was_changed_meanwhile_is_not_replaced(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct written out = {0};
    struct store_change both[2] = {
        {.deed = STORE_PUT_ITEM, .item = {.id = "tea", .time = STORE_NO_TIME, .categories = "[\"first\"]"}},
        {.deed = STORE_PUT_ITEM, .item = {.id = "tea", .time = STORE_NO_TIME, .categories = "[\"second\"]"}}};
    struct store_counts before, after;
    int64_t seq = 0, last = 0;
    int found = 0;
    (void)state;
    wrote(store, added("like", "ann", "tea"));
    must(store_item(store, "tea", take_seq_of_item, &seq, &found, &error));
    must(store_count(store, &before, &error));
    both[0].item.seq = both[1].item.seq = seq;
    must(store_write(store, both, 2, &error));
    assert_true(both[0].affected == 1 && both[0].seq > seq);
    assert_true(both[1].affected == 0 && both[1].seq == 0);
    must(store_last(store, &last, &error));
    assert_int_equal(last, both[0].seq);
    must(store_item(store, "tea", note_item, &out, &found, &error));
    assert_string_equal(out.text, "tea [\"first\"]");
    must(store_user(store, "ann", take_seq_of_user, &seq, &found, &error));
    assert_int_equal(wrote(store, (struct store_change){.deed = STORE_PUT_USER, .user = {seq, "ann"}}), 1);
    assert_int_equal(wrote(store, (struct store_change){.deed = STORE_PUT_USER, .user = {seq, "ann"}}), 0);
    /* Nor does it come back if it was deleted meanwhile. */
    assert_int_equal(wrote(store, (struct store_change){.deed = STORE_PUT_USER, .user = {seq, "nobody"}}), 0);
    must(store_user(store, "nobody", take_seq_of_user, &seq, &found, &error));
    assert_false(found);
    must(store_count(store, &after, &error));
    assert_true(after.users == before.users && after.items == before.items);
    store_close(store);
}

static void a_scan_can_be_stopped_and_the_store_goes_on(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct written out = {.stop_after = 2};
    int64_t last = -1;
    (void)state;
    wrote(store, added("like", "ann", "tea"));
    must_fail(store_changes(store, 0, 0, put_change, &out, &last, &error), INMO_INTERRUPTED, "stopped");
    assert_int_equal(last, -1);
    assert_string_equal(out.text, "user ann null null; item tea [] null; ");
    wrote(store, added("like", "ann", "milk"));
    store_close(store);
}

/* ---- Many rows, and readers beside the writer -----------------------------------------------------------------
 * */

enum { MANY = 25000, BATCH = 500 };

static void write_many(struct store *store)
{
    static struct store_change changes[BATCH];
    static char user[BATCH][16], item[BATCH][16];
    struct inmo_error error = {0};
    for (int first = 0; first < MANY; first += BATCH) {
        for (int n = 0; n < BATCH; n++) {
            snprintf(user[n], sizeof user[n], "u%d", (first + n) % 500);
            snprintf(item[n], sizeof item[n], "i%d", first + n);
            changes[n] = feedback_of(STORE_ADD_FEEDBACK, "like", user[n], item[n], first + n, NULL);
        }
        must(store_write(store, changes, BATCH, &error));
    }
}

struct follower {
    struct store *store;
    int64_t last, previous;
    int64_t rows;
    atomic_int *done;
    int wrong;
};

static int follow_row(void *context, const struct store_change *change)
{
    struct follower *follower = context;
    follower->wrong |= change->seq <= follower->previous || change->feedback.time != follower->rows;
    follower->previous = change->seq;
    follower->rows++;
    return 1;
}

static void *follow(void *context)
{
    struct follower *follower = context;
    struct inmo_error error = {0};
    int last_time;
    do {
        last_time = atomic_load(follower->done);
        follower->previous = follower->last;
        if (store_changes(follower->store, follower->last, 1, follow_row, follower, &follower->last, &error))
            follower->wrong = 1;
    } while (!last_time && !follower->wrong);
    return NULL;
}

static void readers_beside_the_writer_miss_nothing(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct store_counts counts;
    struct follower follower[3];
    pthread_t thread[3];
    atomic_int done = 0;
    (void)state;
    for (int n = 0; n < 3; n++) {
        follower[n] = (struct follower){.store = store, .done = &done};
        assert_int_equal(pthread_create(&thread[n], NULL, follow, &follower[n]), 0);
    }
    write_many(store);
    atomic_store(&done, 1);
    for (int n = 0; n < 3; n++) {
        pthread_join(thread[n], NULL);
        assert_false(follower[n].wrong);
        assert_int_equal(follower[n].rows, MANY);
    }
    must(store_count(store, &counts, &error));
    assert_int_equal(counts.feedback, MANY);
    assert_int_equal(counts.users, 500);
    assert_int_equal(counts.items, MANY);
    assert_true(counts.bytes > MANY);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feedback_is_unique_and_post_keeps_what_is_there),
        cmocka_unit_test(put_replaces_time_and_comment_and_moves_to_the_end),
        cmocka_unit_test(users_and_items_that_feedback_names_are_made),
        cmocka_unit_test(deletions_leave_tombstones_until_they_are_buried),
        cmocka_unit_test(a_deletion_of_what_is_not_there_is_remembered),
        cmocka_unit_test(everything_is_there_after_opening_again),
        cmocka_unit_test(a_transaction_is_all_or_nothing),
        cmocka_unit_test(changes_of_a_batch_apply_in_order),
        cmocka_unit_test(ids_are_any_text_in_order_of_their_bytes),
        cmocka_unit_test(feedback_is_paged_by_type_user_and_item),
        cmocka_unit_test(one_user_or_item_is_found_or_not),
        cmocka_unit_test(what_was_changed_meanwhile_is_not_replaced),
        cmocka_unit_test(a_scan_can_be_stopped_and_the_store_goes_on),
        cmocka_unit_test(readers_beside_the_writer_miss_nothing),
    };
    return cmocka_run_group_tests_name(is_postgres() ? "store in PostgreSQL" : "store in a file", tests,
                                       enter_directory, leave_directory);
}
