/* test_read_real.c - files as they are published, oddities included: Amazon's reviews of 2018, Book-Crossing,
 * headers behind a comment mark. */
#include "read_common.h"

static void amazon_reviews(void **state)
{
    (void)state;
    put("a.json",
        "{\"overall\": 5.0, \"verified\": true, \"reviewTime\": \"09 1, 2016\", \"reviewerID\": "
        "\"A3CIUOJXQ5VDQ2\", \"asin\": \"B0000530HU\", \"reviewerName\": \"Shelly F\", \"reviewText\": \"As "
        "advertised.\", \"summary\": \"Five Stars\", \"unixReviewTime\": 1472688000}\n"
        "{\"overall\": 5.0, \"verified\": true, \"reviewTime\": \"11 14, 2013\", \"reviewerID\": "
        "\"A3H7T87S984REU\", \"asin\": \"B0000530HU\", \"style\": {\"Size:\": \" 7.0 oz\"}, "
        "\"unixReviewTime\": 1384387200}\n");
    expect_log("a.json", NULL, "A3CIUOJXQ5VDQ2 B0000530HU @1472688000\nA3H7T87S984REU B0000530HU @1384387200\n");
    /* The date alone is the same time. */
    put("a.json", "{\"reviewTime\": \"09 1, 2016\", \"reviewerID\": \"a\", \"asin\": \"x\"}\n"
                  "{\"reviewTime\": \"11 14, 2013\", \"reviewerID\": \"b\", \"asin\": \"x\"}\n");
    expect_log("a.json", NULL, "a x @1472688000\nb x @1384387200\n");
    put("a.json", "{\"reviewTime\": \"02 30, 2016\", \"reviewerID\": \"a\", \"asin\": \"x\"}\n");
    expect_error("a.json", NULL, INMO_INPUT,
                 "a.json:1: found no time, expected seconds or a date such as 2024-01-31 or 2024-01-31T23:59:59Z");
    /* Of two times the one that can be read, in JSON and under a header. */
    put("a.json", "{\"date\": \"a Thursday\", \"user\": \"a\", \"item\": \"x\", \"ts\": 7}\n");
    expect_log("a.json", NULL, "a x @7\n");
    put("a.csv", "user,date,item,timestamp\na,a Thursday,x,7\nb,a Friday,y,8\n");
    expect_log("a.csv", NULL, "a x @7\nb y @8\n");
    put("a.csv", "user,date,item,timestamp\na,2024-02-29,x,7\n");
    expect_log("a.csv", NULL, "a x @1709164800\n");
}

static void book_crossing(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("b.csv", "\"User-ID\";\"ISBN\";\"Book-Rating\"\r\n"
                 "\"276725\";\"034545104X\";\"5\"\r\n"
                 "\"276726\";\"\\\"0432534220\\\"\";\"5\"\r\n"
                 "\"276727\";\"a\\\";b\";\"6\"\r\n"
                 "\"276728\";\"M\xfcller\";\"7\"\r\n"
                 "\"276729\";\"\\\"\";\"8\"\r\n"
                 "\"276730\";\"ends in \\\\\";\"9\"\r\n"
                 "\"276731\";\"low\";\"0\"\r\n");
    options.encoding = "latin-1";
    expect_log("b.csv", &options,
               "276725 034545104X\n276726 \"0432534220\"\n276727 a\";b\n276728 M\xc3\xbcller\n276729 \"\n"
               "276730 ends in \\\\\n");
    options = defaults();
    options.skip_bad = 1;
    expect_log("b.csv", &options,
               "276725 034545104X\n276726 \"0432534220\"\n276727 a\";b\n276729 \"\n276730 ends in \\\\\n");
}

/* By RFC 4180 a backslash is a letter like others, and it stays one where the RFC can read the line. */
static void backslashes(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("c.csv", "\"C:\\dir\\\",x\nb,\"y\\\"\n\"\\\"\"\",z\n\"line\\\"\nend\",w\n");
    expect_log("c.csv", NULL, "C:\\dir\\ x\nb y\\\n\\\" z\nline\"\nend w\n");
    /* Right in neither way: the fault is the RFC's, and costs one line. */
    put("c.csv", "a,x\nb,\"y\\\" or z\nc,z\n");
    expect_error("c.csv", NULL, INMO_INPUT,
                 "c.csv:2: found text after a closing quote, expected a separator or the end of the line");
    options.skip_bad = 1;
    expect_log("c.csv", &options, "a x\nc z\n");
    put("c.csv", "a,x\nb,\"y\\\",z\nc,z\n");
    expect_error("c.csv", NULL, INMO_INPUT, "c.csv:2: found 3 columns, expected 2 (user,item)");
    expect_log("c.csv", &options, "a x\nc z\n");
}

static void marked_headers(void **state)
{
    static const char *const header[] = {"# user_id\titem_id\trating", "#user_id\titem_id\trating",
                                         "//user_id\titem_id\trating", "// user_id\titem_id\trating",
                                         "## user_id\titem_id\trating"};
    struct inmo_read_options options = defaults();
    char text[200];
    (void)state;
    for (size_t n = 0; n < sizeof header / sizeof header[0]; n++) {
        snprintf(text, sizeof text, "%s\na\tx\t4\nb\ty\t5\n", header[n]);
        put("m.tsv", text);
        expect_log("m.tsv", NULL, "a x\nb y\n");
    }
    put("m.txt", "# item user\nx a\ny b\n");
    expect_log("m.txt", NULL, "a x\nb y\n");
    put("m.csv", "# user, item, time\na,x,7\n");
    expect_log("m.csv", NULL, "a x @7\n");
    options.columns = "user,item,-";
    expect_log("m.csv", &options, "a x\n");
    /* A mark may begin an id. */
    put("m.tsv", "#1\t#2\n//b\tuser\n");
    expect_log("m.tsv", NULL, "#1 #2\n//b user\n");
    options.columns = NULL;
    options.header = "no";
    put("m.tsv", "# user\titem\na\tx\n");
    expect_log("m.tsv", &options, "# user item\na x\n");
}

static void comments(void **state)
{
    struct inmo_read_options options = defaults();
    static const char message[] =
        "m.tsv:1: found the comment \"# plays of 2024\", expected an interaction or a header with names such as "
        "user, item; with `columns` it is passed over, with `header` no it is read";
    (void)state;
    put("m.tsv", "# plays of 2024\na\tx\nb\ty\n");
    expect_error("m.tsv", NULL, INMO_INPUT, message);
    options.columns = "user,item";
    expect_log("m.tsv", &options, "a x\nb y\n");
    put("m.tsv", "# plays of 2024\nuser\titem\na\tx\nb\ty\n");
    expect_log("m.tsv", &options, "a x\nb y\n");
    put("m.tsv", "# plays of 2024\n");
    expect_error("m.tsv", &options, INMO_INPUT, message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amazon_reviews), cmocka_unit_test(book_crossing), cmocka_unit_test(backslashes),
        cmocka_unit_test(marked_headers), cmocka_unit_test(comments),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
