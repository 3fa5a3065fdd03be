/* test_json.c - what is JSON and what is not, as jansson sees it; and memory that is short is not called bad
 * text. */
#include "support.h"

#include "base/json.h"

static const char *const texts[] = {
    "{}",
    "[]",
    " [1, -0.5e+3, \"a\\n\\u00e4\\\\\", true, false, null, {\"k\": []}] ",
    "{\"a\": {\"b\": [[1], 2]}, \"c\": 0}",
    "",
    " ",
    "{",
    "[",
    "[1",
    "[1,",
    "[1,]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\": 1,}",
    "{a: 1}",
    "[01]",
    "[1.]",
    "[.5]",
    "[1e]",
    "[-]",
    "[+1]",
    "[tru]",
    "[nul]",
    "[True]",
    "[\"a]",
    "[\"\\x\"]",
    "[\"\\u12g4\"]",
    "[\"\t\"]",
    "[] []",
    "[1 2]",
    "1",
    "\"a\"",
    "true",
    "null",
    "]",
    "}",
    "[}",
    "{]",
    "[1]x",
    "{\"a\" 1}",
    "{1: 2}",
    "[\"\\",
    "[-",
    "[0",
    "{\"a\": 1}}",
};

static void test_agrees_with_jansson(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(texts); n++)
        for (size_t length = 0; length <= strlen(texts[n]); length++) { /* and all its beginnings */
            json_t *json = json_loadb(texts[n], length, JSON_DECODE_ANY, NULL);
            if ((json != NULL) != inmo_json_is_sound(texts[n], length))
                fail_msg("\"%.*s\": jansson says %d", (int)length, texts[n], json != NULL);
            json_decref(json);
        }
}

/* jansson's allocations, the n-th of which fails. */
static long left = -1;

static void *allocate(size_t size)
{
    return left >= 0 && left-- == 0 ? NULL : malloc(size);
}

static void test_short_memory_is_no_bad_text(void **state)
{
    (void)state;
    json_set_alloc_funcs(allocate, free);
    for (size_t n = 0; n < COUNT(texts); n++) {
        json_t *json = NULL;
        enum inmo_status whole = inmo_json_parse(texts[n], strlen(texts[n]), 0, &json, NULL), status;
        long allocations = 0;
        assert_int_equal(whole, json ? INMO_OK : INMO_FORMAT);
        json_decref(json);
        do {
            json = NULL;
            left = allocations++;
            status = inmo_json_parse(texts[n], strlen(texts[n]), 0, &json, NULL);
            if (left >= 0) /* it did not come to the one that fails */
                assert_int_equal(status, whole);
            else if (whole == INMO_OK)
                assert_int_equal(status, INMO_MEMORY);
            else
                assert_true(status == INMO_MEMORY || status == INMO_FORMAT);
            json_decref(json);
        } while (left < 0);
        left = -1;
    }
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_jansson),
        cmocka_unit_test(test_short_memory_is_no_bad_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
