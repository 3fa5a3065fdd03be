/* test_weights.c - how much interactions count: read, summed, aged, stored, by hand; the cuts in time that go with
 * them; nothing of the future in a weight; and files. */
#include "support.h"

#include "data/weights.h"

static enum inmo_status read_written(const char *text, const char *weight, const char *columns,
                                     struct inmo_log **log, struct inmo_error *error)
{
    struct inmo_read_options options;
    const char *const path = "log.csv";
    inmo_read_options_init(&options);
    options.weight = weight;
    options.columns = columns;
    write_bytes(path, text, strlen(text));
    return inmo_log_read(&path, 1, &options, NULL, log, error);
}

static struct inmo_log *read_text(const char *text, const char *weight, const char *columns)
{
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    must(read_written(text, weight, columns, &log, &error));
    return log;
}

static void read_fails(const char *text, const char *weight, enum inmo_status status, const char *words)
{
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    must_fail(read_written(text, weight, NULL, &log, &error), status, words);
    assert_null(log);
}

static struct inmo_dataset *prepare(struct inmo_log *log, const struct inmo_prepare_options *options)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    must(inmo_dataset_prepare(log, options, &data, &error));
    inmo_log_free(log);
    return data;
}

/* All for training. */
static struct inmo_prepare_options whole(void)
{
    struct inmo_prepare_options options;
    inmo_prepare_options_init(&options);
    options.split = "100/0/0";
    return options;
}

static int32_t number_of(const struct inmo_idmap *ids, const char *id)
{
    for (int32_t n = 0; n < ids->count; n++)
        if (strcmp(inmo_idmap_id(ids, n), id) == 0)
            return n;
    return -1;
}

/* The weight of a pair in a list; 0: not there. */
static double weight_of(const struct inmo_dataset *data, const struct inmo_csr *list, const char *user,
                        const char *item)
{
    int32_t u = number_of(&data->users, user), i = number_of(&data->items, item);
    for (int64_t e = u < 0 ? 0 : list->offset[u]; u >= 0 && e < list->offset[u + 1]; e++)
        if (list->column[e] == i)
            return list->weight ? list->weight[e] : 1;
    return 0;
}

/* ann has 3 and 1 + 2 = 3 of 4 things: log2(1 + c) is 2, 2, log2(2) = 1 and log2(8) = 3, mean 2. */
static void test_amounts(void **state)
{
    static const char text[] = "user,item,quantity\nann,tea,3\nann,milk,1\nann,milk,2\nann,salt,1\nann,rice,7\n"
                               "bob,tea,40\nbob,rice,0\n";
    struct inmo_prepare_options options = whole();
    struct inmo_dataset *data = prepare(read_text(text, "quantity", NULL), &options);
    (void)state;
    assert_near(weight_of(data, &data->train, "ann", "tea"), 1, 1e-6);
    assert_near(weight_of(data, &data->train, "ann", "milk"), 1, 1e-6);
    assert_near(weight_of(data, &data->train, "ann", "salt"), 0.5, 1e-6);
    assert_near(weight_of(data, &data->train, "ann", "rice"), 1.5, 1e-6);
    assert_true(weight_of(data, &data->train, "bob", "tea") == 1); /* all that bob has */
    assert_true(weight_of(data, &data->train, "bob", "rice") == 0);
    assert_non_null(strstr(data->description, "\"weightless_lines\": 1"));
    assert_int_equal(inmo_csr_count(&data->seen), 1); /* bought 0 of it: seen */
    inmo_dataset_free(data);
    options.weight_scale = "plain"; /* 3, 3, 1, 7, mean 3.5 */
    data = prepare(read_text(text, "3", NULL), &options);
    assert_near(weight_of(data, &data->train, "ann", "tea"), 3 / 3.5, 1e-6);
    assert_near(weight_of(data, &data->train, "ann", "salt"), 1 / 3.5, 1e-6);
    assert_near(weight_of(data, &data->train, "ann", "rice"), 2, 1e-6);
    inmo_dataset_free(data);
}

static void same_weights(struct inmo_dataset *a, struct inmo_dataset *b)
{
    assert_int_equal(inmo_csr_count(&a->train), inmo_csr_count(&b->train));
    assert_memory_equal(a->train.weight, b->train.weight, (size_t)inmo_csr_count(&a->train) * sizeof(float));
    inmo_dataset_free(b);
    inmo_dataset_free(a);
}

/* A count of 2 is two lines; what is called weight in `columns` is the weight; in plain numbers, everything three
 * times as often is the same; ratings are weights, of the positive ones. */
static void test_alike(void **state)
{
    static const char counted[] = "ann\ttea\t2\nann\tmilk\t1\nbob\ttea\t1\nbob\tmilk\t3\n";
    static const char repeated[] = "ann\ttea\nann\ttea\nann\tmilk\nbob\ttea\nbob\tmilk\nbob\tmilk\nbob\tmilk\n";
    static const char thrice[] = "ann\ttea\t6\nann\tmilk\t3\nbob\ttea\t3\nbob\tmilk\t9\n";
    static const char rated[] = "user,item,rating\nann,tea,4\nann,milk,5\nann,salt,1\n";
    struct inmo_prepare_options options = whole();
    struct inmo_dataset *data;
    (void)state;
    same_weights(prepare(read_text(counted, NULL, "user,item,weight"), &options),
                 prepare(read_text(repeated, "count", NULL), &options));
    options.weight_scale = "plain";
    same_weights(prepare(read_text(counted, NULL, "user,item,weight"), &options),
                 prepare(read_text(thrice, "weight", "user,item,weight"), &options));
    data = prepare(read_text(rated, "rating", NULL), &options);
    assert_near(weight_of(data, &data->train, "ann", "tea"), 4 / 4.5, 1e-6);
    assert_near(weight_of(data, &data->train, "ann", "milk"), 5 / 4.5, 1e-6);
    assert_true(weight_of(data, &data->train, "ann", "salt") == 0);
    inmo_dataset_free(data);
}

static void test_json_lines(void **state)
{
    static const char text[] = "{\"user\": \"ann\", \"item\": \"tea\", \"plays\": 3}\n"
                               "{\"user\": \"ann\", \"item\": \"milk\", \"plays\": 1.0}\n";
    struct inmo_prepare_options options = whole();
    struct inmo_dataset *data;
    (void)state;
    options.weight_scale = "plain";
    data = prepare(read_text(text, "plays", NULL), &options);
    assert_near(weight_of(data, &data->train, "ann", "tea"), 1.5, 1e-6);
    assert_near(weight_of(data, &data->train, "ann", "milk"), 0.5, 1e-6);
    inmo_dataset_free(data);
    read_fails("{\"user\": \"ann\", \"item\": \"tea\", \"plays\": -3}\n", "plays", INMO_INPUT,
               "log.csv:1: found the weight -3, expected a number from 0");
}

/* Weights that are none, and columns that are not there. */
static void test_bad(void **state)
{
    (void)state;
    read_fails("user,item,n\nann,tea,2\nann,milk,many\n", "n", INMO_INPUT,
               "log.csv:3: found the weight \"many\", expected a number from 0");
    read_fails("user,item,n\nann,tea,-2\n", "n", INMO_INPUT, "log.csv:2: found the weight -2, expected");
    read_fails("user,item,n\nann,tea,inf\n", "n", INMO_INPUT, "log.csv:2: found the weight \"inf\", expected");
    read_fails("user,item,n\nann,tea,1e16\n", "n", INMO_INPUT, "log.csv:2: found the weight 1e+16, expected");
    read_fails("user,item,n\nann,tea,2\n", "m", INMO_USAGE, "`weight`: found no column m in log.csv");
    read_fails("user,item,n\nann,tea,2\n", "4", INMO_USAGE, "a number from 1 to 3");
    read_fails("user,item,n\nann,tea,2\n", "item", INMO_USAGE, "column item of log.csv is the item");
    read_fails("user,item,n\nann,tea,2\n", "rating", INMO_USAGE, "found no column rating");
}

/* Ages of 0, 1 and 2 half-lives before the newest line of training; a pair is as old as its latest line. */
static void test_half_life(void **state)
{
    static const char text[] = "user,item,time\nann,tea,172800\nann,milk,86400\nann,salt,0\nann,salt,86400\n"
                               "bob,tea,0\n";
    struct inmo_prepare_options options = whole();
    struct inmo_dataset *data;
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    double life = 0;
    (void)state;
    options.half_life = "1d";
    data = prepare(read_text(text, NULL, NULL), &options);
    assert_true(weight_of(data, &data->train, "ann", "tea") == 1);
    assert_near(weight_of(data, &data->train, "ann", "milk"), 0.5, 1e-7);
    assert_near(weight_of(data, &data->train, "ann", "salt"), 0.5, 1e-7);
    assert_near(weight_of(data, &data->train, "bob", "tea"), 0.25, 1e-7);
    inmo_dataset_free(data);
    options.half_life = "1"; /* a second: no pair weighs less than after 20 half-lives */
    data = prepare(read_text(text, NULL, NULL), &options);
    assert_near(weight_of(data, &data->train, "bob", "tea"), exp2(-20), 1e-12);
    inmo_dataset_free(data);
    must(inmo_half_life_parse("2w", 1700000000, &life, &error));
    assert_near(life, 14 * 86400, 0);
    must(inmo_half_life_parse("1.5h", INT64_C(1700000000000), &life, &error)); /* milliseconds */
    assert_near(life, 5400e3, 0);
    must_fail(inmo_half_life_parse("0d", 0, &life, &error), INMO_USAGE, "`half-life` is \"0d\"");
    must_fail(inmo_half_life_parse("3 moons", 0, &life, &error), INMO_USAGE, "such as 90d");
    log = read_text("ann\ttea\n", NULL, NULL);
    must_fail(inmo_dataset_prepare(log, &options, &data, &error), INMO_USAGE, "`half-life` needs times");
    inmo_log_free(log);
}

/* ann's tea is played again in the time of validation and of the test, her milk in that of the test. */
static const char again[] =
    "user,item,plays,time\nann,tea,1,10\nann,salt,1,11\nann,milk,1,20\nann,tea,7,21\n"
    "ann,rice,1,30\nann,milk,3,31\nann,tea,9,32\nbob,tea,1,12\nbob,rice,3,13\nbob,milk,1,14\n"
    "bob,salt,1,32\n";

/* A model that is to predict the future must not know how often something will be played. */
static void test_no_future(void **state)
{
    struct inmo_prepare_options options;
    struct inmo_dataset *data;
    (void)state;
    for (int by_cut = 0; by_cut < 2; by_cut++) {
        inmo_prepare_options_init(&options);
        options.weight_scale = "plain";
        options.half_life = "5";
        if (by_cut)
            options.cut = "20,30";
        else
            options.last = 1;
        data = prepare(read_text(again, "plays", NULL), &options);
        /* training has tea 1 and salt 1, validation milk 1, at time 20; the newest of training is at 14, or 11 */
        assert_near(weight_of(data, &data->train, "ann", "salt") / weight_of(data, &data->train, "ann", "tea"),
                    exp2(1 / 5.0), 1e-5);
        assert_true(weight_of(data, &data->valid, "ann", "milk") == 1);
        assert_true(weight_of(data, &data->test, "ann", "rice") == 1);
        assert_null(data->test.weight);
        inmo_dataset_free(data);
    }
}

static void parts_are(const struct inmo_dataset *data, int64_t train, int64_t valid, int64_t test)
{
    assert_int_equal(inmo_csr_count(&data->train), train);
    assert_int_equal(inmo_csr_count(&data->valid), valid);
    assert_int_equal(inmo_csr_count(&data->test), test);
}

static void test_cut(void **state)
{
    static const char text[] =
        "user,item,time\nann,tea,1\nann,milk,2\nbob,tea,3\nbob,milk,4\nann,salt,5\nbob,salt,6\n"
        "ann,rice,7\ncat,tea,8\nann,salt,9\nbob,rice,10\n";
    static const char dated[] = "user,item,time\nann,tea,2024-01-01\nbob,tea,2024-01-02\nbob,milk,2024-01-02\n"
                                "ann,milk,2024-02-01\n";
    struct inmo_prepare_options options;
    struct inmo_dataset *data = NULL;
    struct inmo_error error = {0};
    struct inmo_log *log;
    (void)state;
    inmo_prepare_options_init(&options);
    options.by = "cut";
    options.split = "60/20/20"; /* of 9 pairs 5 train, up to time 5; validation up to 7 */
    data = prepare(read_text(text, NULL, NULL), &options);
    /* rice and cat are in no training: bob's rice at 10, ann's at 7 and cat's tea are left out */
    parts_are(data, 5, 1, 0);
    assert_true(weight_of(data, &data->valid, "bob", "salt") == 1);
    assert_non_null(strstr(data->description, "\"after_cut\": 3, \"after_cut_users\": 1, \"after_cut_items\": 1"));
    inmo_dataset_free(data);
    options.by = NULL;
    options.cut = "2024-02-01";
    options.split = "100/0/0";
    data = prepare(read_text(dated, NULL, NULL), &options);
    parts_are(data, 3, 0, 1);
    inmo_dataset_free(data);
    options.cut = "2024-01-02,2024-02-01"; /* milk comes only later, so the test is empty of it */
    data = prepare(read_text(dated, NULL, NULL), &options);
    parts_are(data, 1, 0, 0);
    inmo_dataset_free(data);
    log = read_text(dated, NULL, NULL);
    options.cut = "2023-01-01";
    must_fail(inmo_dataset_prepare(log, &options, &data, &error), INMO_INPUT, "from the cut on");
    options.cut = "2024-02-01,2024-01-01";
    must_fail(inmo_dataset_prepare(log, &options, &data, &error), INMO_USAGE, "in this order");
    options.cut = "soon";
    must_fail(inmo_dataset_prepare(log, &options, &data, &error), INMO_USAGE, "`cut` is \"soon\"");
    options.by = "random";
    must_fail(inmo_dataset_prepare(log, &options, &data, &error), INMO_USAGE, "`cut` needs `by` cut");
    inmo_log_free(log);
}

/* The last of each user to the test, the one before to validation; who has one or two keeps the first. */
static void test_last(void **state)
{
    static const char text[] =
        "user,item,time\nann,tea,4\nann,milk,3\nann,salt,2\nann,rice,1\nbob,tea,1\nbob,milk,2\n"
        "cat,tea,1\n";
    struct inmo_prepare_options options;
    struct inmo_dataset *data;
    (void)state;
    inmo_prepare_options_init(&options);
    options.last = 1;
    data = prepare(read_text(text, NULL, NULL), &options);
    parts_are(data, 4, 1, 2);
    assert_true(weight_of(data, &data->test, "ann", "tea") == 1);
    assert_true(weight_of(data, &data->valid, "ann", "milk") == 1);
    assert_true(weight_of(data, &data->test, "bob", "milk") == 1);
    assert_true(weight_of(data, &data->train, "cat", "tea") == 1);
    inmo_dataset_free(data);
}

/* Weights come back from a prepared directory; numbers that are no weights are refused. */
static void test_stored(void **state)
{
    struct inmo_prepare_options options;
    struct inmo_dataset *data, *back = NULL;
    struct inmo_error error = {0};
    struct bytes bytes;
    float none = -1;
    size_t at = 0;
    (void)state;
    inmo_prepare_options_init(&options);
    options.cut = "20,30";
    data = prepare(read_text(again, "plays", NULL), &options);
    assert_non_null(strstr(data->description, "\"weight\": \"plays\""));
    must(inmo_dataset_save(data, "data", 0, &error));
    must(inmo_dataset_open("data", &back, &error));
    assert_memory_equal(back->train.weight, data->train.weight,
                        (size_t)inmo_csr_count(&data->train) * sizeof(float));
    assert_memory_equal(back->valid.weight, data->valid.weight,
                        (size_t)inmo_csr_count(&data->valid) * sizeof(float));
    inmo_dataset_free(back);
    back = NULL;
    bytes = read_bytes("data/data.safetensors");
    while (memcmp(bytes.at + at, data->train.weight, (size_t)inmo_csr_count(&data->train) * sizeof(float)) != 0)
        at++;
    memcpy((char *)bytes.at + at, &none, sizeof none);
    write_bytes("data/data.safetensors", bytes.at, bytes.count);
    assert_int_equal(inmo_dataset_open("data", &back, &error), INMO_FORMAT); /* by its checksum, or by itself */
    free((void *)bytes.at);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_amounts, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_alike, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_json_lines, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_bad, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_half_life, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_no_future, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_cut, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_last, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_stored, enter_directory, leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
