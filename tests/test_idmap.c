/* test_idmap.c - ids and their numbers: order of first appearance, any bytes, growth over many sizes, lookups in a
 * finished map, and tables that stay whole when memory is short. */
#include "base/idmap.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void first_appearance(void **state)
{
    struct inmo_idtable *table = inmo_idtable_new();
    struct inmo_idmap map;
    (void)state;
    assert_non_null(table);
    assert_int_equal(inmo_idtable_find(table, "x", 1), -1);
    assert_int_equal(inmo_idtable_intern(table, "zebra", 5), 0);
    assert_int_equal(inmo_idtable_intern(table, "apple!", 5), 1); /* only the length given counts */
    assert_int_equal(inmo_idtable_intern(table, "zebra", 5), 0);
    assert_int_equal(inmo_idtable_intern(table, "", 0), 2);
    assert_int_equal(inmo_idtable_intern(table, "zebr", 4), 3);
    assert_int_equal(inmo_idtable_intern(table, "\xff\xfe \t", 4), 4);
    assert_int_equal(inmo_idtable_find(table, "apple", 5), 1);
    assert_int_equal(inmo_idtable_find(table, "apple!", 6), -1);
    map = inmo_idtable_map(table);
    assert_int_equal(map.count, 5);
    assert_null(map.slot);
    assert_string_equal(inmo_idmap_id(&map, 0), "zebra");
    assert_string_equal(inmo_idmap_id(&map, 1), "apple");
    assert_string_equal(inmo_idmap_id(&map, 2), "");
    assert_string_equal(inmo_idmap_id(&map, 4), "\xff\xfe \t");
    assert_int_equal(map.offset[0], 0);
    assert_int_equal(map.offset[5], 6 + 6 + 1 + 5 + 5);
    inmo_idtable_free(table);
    inmo_idtable_free(NULL);
}

static void many(void **state)
{
    enum { MANY = 200000 };
    struct inmo_idtable *table = inmo_idtable_new();
    struct inmo_idmap map;
    char id[32];
    (void)state;
    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n < MANY; n++) {
            int length = snprintf(id, sizeof id, "id-%d", n * 7919 % MANY);
            assert_int_equal(inmo_idtable_intern(table, id, (size_t)length), n);
        }
    map = inmo_idtable_map(table);
    assert_int_equal(map.count, MANY);
    assert_int_equal(inmo_idmap_index(&map, NULL), INMO_OK);
    assert_int_equal(inmo_idmap_index(&map, NULL), INMO_OK); /* the second time does nothing */
    for (int n = 0; n < MANY; n++) {
        snprintf(id, sizeof id, "id-%d", n * 7919 % MANY);
        assert_int_equal(inmo_idmap_find(&map, id), n);
        snprintf(id, sizeof id, "id-%d", MANY + n);
        assert_int_equal(inmo_idmap_find(&map, id), -1);
    }
    inmo_idmap_drop_index(&map);
    assert_null(map.slot);
    inmo_idmap_drop_index(&map);
    inmo_idtable_free(table);
}

static void empty_map(void **state)
{
    static const int64_t OFFSET[1] = {0};
    struct inmo_idmap map = {.offset = OFFSET, .text = ""};
    (void)state;
    assert_int_equal(inmo_idmap_index(&map, NULL), INMO_OK);
    assert_int_equal(inmo_idmap_find(&map, ""), -1);
    assert_int_equal(inmo_idmap_find(&map, "anything"), -1);
    inmo_idmap_drop_index(&map);
}

/* Each insertion is tried with no memory at all until it succeeds; what is in the table stays findable. */
static void memory_may_be_short(void **state)
{
    struct inmo_idtable *table = NULL;
    struct inmo_idmap map;
    struct inmo_error error;
    int refused = 0;
    char id[32];
    (void)state;
    for (long n = 0; !table; n++) {
        inmo_alloc_fail_after(n);
        table = inmo_idtable_new();
        inmo_alloc_fail_after(-1);
        assert_true(n < 100);
    }
    for (int32_t count = 0; count < 2000; count++) {
        int32_t number = -1;
        size_t length = (size_t)snprintf(id, sizeof id, "somebody-%d", (int)count);
        for (long n = 0; number < 0; n++) {
            inmo_alloc_fail_after(n);
            number = inmo_idtable_intern(table, id, length);
            inmo_alloc_fail_after(-1);
            if (number < 0) {
                refused++;
                assert_int_equal(inmo_idtable_find(table, id, length), -1);
                assert_int_equal(inmo_idtable_find(table, "somebody-0", 10), count > 0 ? 0 : -1);
            }
        }
        assert_int_equal(number, count);
    }
    assert_true(refused > 10);
    map = inmo_idtable_map(table);
    inmo_alloc_fail_after(0);
    assert_int_equal(inmo_idmap_index(&map, &error), INMO_MEMORY);
    inmo_alloc_fail_after(-1);
    assert_null(map.slot);
    inmo_idtable_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_appearance),
        cmocka_unit_test(many),
        cmocka_unit_test(empty_map),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests_name("idmap", tests, NULL, NULL);
}
