/* test_tune.c - searching settings, without training: reading a space, what trials it gives, which of them halving
 * lets go on, and the record that survives being cut off anywhere. tests/test_tuning.c trains. */
#include "support.h"

#include "tune/search.h"

#include <sys/stat.h>

static struct inmo_space space_of(const char *text)
{
    struct inmo_error error = {0};
    struct inmo_space space = {0};
    must(inmo_space_parse(text, 0, &space, &error));
    space.seed = 1;
    return space;
}

/* One model whose searched settings are space's, which keeps them. */
struct alone {
    struct inmo_arm arm;
    struct inmo_arms arms;
};
static const struct inmo_arms *alone_of(struct alone *alone, const struct inmo_space *space)
{
    *alone = (struct alone){.arm = {.model = "mf", .space = *space}};
    alone->arms = (struct inmo_arms){.arm = &alone->arm, .count = 1};
    return &alone->arms;
}

static double number_of(const struct inmo_space *space, size_t axis, uint64_t trial)
{
    char buffer[INMO_VALUE_SIZE], *end = NULL;
    const char *text = inmo_space_value(space, axis, trial, buffer);
    double number = strtod(text, &end);
    assert_true(end != text && !*end);
    return number;
}

/* ---- Reading a space
 * ------------------------------------------------------------------------------------------ */

static void test_spellings(void **state)
{
    static const struct {
        const char *given, *meant;
        uint64_t size;
    } cases[] = {
        {"layers=2|3", "layers=2|3", 2},
        {" layers = 3 | 2 ", "layers=3|2", 2},
        {"layers=1..4", "layers=1|2|3|4", 4},
        {"dim=16..64:log:3", "dim=16|32|64", 3},
        {"layers=1..3:9", "layers=1|2|3", 3}, /* rounded values that are the same are one */
        {"dropout=0.30..0.7", "dropout=0.3..0.7", 0},
        {"dropout=0.3..0.7:5", "dropout=0.3|0.4|0.5|0.6|0.7", 5},
        {"learning-rate=1e-3..1e-1:3:log", "learning-rate=0.001|0.01|0.1", 3},
        {"learning-rate=1e-3..3e-2:log", "learning-rate=0.001..0.03:log", 0},
        {"dim=16..256:log", "dim=16..256:log", 0},
        {"loss=bpr|softmax,layers=1|2|3", "loss=bpr|softmax,layers=1|2|3", 6},
        {"l2=1e-3|0.0001", "l2=0.001|0.0001", 2},
    };
    (void)state;
    for (size_t n = 0; n < COUNT(cases); n++) {
        struct inmo_space space = space_of(cases[n].given);
        char *text = inmo_space_text(&space);
        assert_string_equal(text, cases[n].meant);
        assert_int_equal(space.size, cases[n].size);
        inmo_free(text);
        inmo_space_free(&space);
    }
}

static void test_bad_spaces(void **state)
{
    static const struct {
        const char *text;
        int halving;
        const char *says;
    } cases[] = {
        {"", 0, "nothing to search"},
        {NULL, 0, "nothing to search"},
        {"layers", 0, "found \"layers\", expected NAME=FROM..TO"},
        {"layers=2,", 0, "found \"\", expected NAME"},
        {"lerning-rate=1..2", 0, "found \"lerning-rate\", expected the name of a setting: dim, layers, "},
        {"max-seconds=1|2", 0, "found \"max-seconds\", expected the name of a setting"},
        {"model=mf|lightgcn", 0, "model cannot be searched"},
        {"seed=1|2", 0, "seed cannot be searched"},
        {"epochs=1|2", 1, "epochs cannot be searched: `method` halving"},
        {"eval-every=1|2", 1, "eval-every cannot be searched"},
        {"layers=2|x", 0, "layers: found \"x\", expected auto, or a whole number from 0 to 16"},
        {"layers=2|", 0, "layers: found \"\", expected auto, or a whole number"},
        {"layers=2.5", 0, "layers: found \"2.5\", expected auto, or a whole number"},
        {"layers=2..99", 0, "layers: found \"99\", expected auto, or a whole number from 0 to 16"},
        {"dropout=0.3..1.5", 0, "dropout: found \"1.5\", expected a number from 0 to 0.999"},
        {"dropout=0.7..0.3", 0, "dropout: found 0.7..0.3, expected the smaller number first"},
        {"dropout=0.3..0.3", 0, "expected the smaller number first"},
        {"dropout=0..0.3:log", 0, "dropout: a range with :log must begin above 0, found 0"},
        {"dropout=0.1..0.3:lin", 0, "dropout: found \":lin\", expected :log or the number of values"},
        {"dropout=0.1..0.3:1", 0, "found \":1\", expected :log or the number of values"},
        {"dropout=0.1..0.3:3x", 0, "found \":3x\""},
        {"loss=bpr..softmax", 0, "loss is not a number; separate its values with |"},
        {"loss=bpr|sofmax", 0, "loss: found \"sofmax\", expected one of bpr, softmax, listwise"},
        {"layers=2|3|2", 0, "layers: 2 stands twice"},
        {"l2=0.001|1e-3", 0, "l2: 0.001 stands twice"},
        {"layers=2,layers=3", 0, "layers stands twice"},
    };
    (void)state;
    for (size_t n = 0; n < COUNT(cases); n++) {
        struct inmo_error error = {0};
        struct inmo_space space = {.size = 77};
        must_fail(inmo_space_parse(cases[n].text, cases[n].halving, &space, &error), INMO_USAGE, cases[n].says);
        assert_int_equal(space.size, 77);
    }
}

/* Every setting that decides a model can be named, the two with a reason against them aside. */
static void test_every_setting(void **state)
{
    size_t count;
    const struct inmo_setting *row = inmo_train_settings(&count);
    (void)state;
    for (size_t n = 0; n < inmo_train_settings_of_model(); n++) {
        struct inmo_error error = {0};
        struct inmo_train_options options;
        struct inmo_space space = {0};
        char text[256], value[200];
        must(inmo_train_options_init(&options, NULL, NULL, &error));
        inmo_setting_text(&row[n], &options, value, sizeof value);
        snprintf(text, sizeof text, "%s=%s", row[n].name, value);
        if (strcmp(row[n].name, "model") && strcmp(row[n].name, "seed"))
            must(inmo_space_parse(text, 0, &space, &error));
        else
            must_fail(inmo_space_parse(text, 0, &space, &error), INMO_USAGE, "cannot be searched");
        inmo_space_free(&space);
    }
}

static void test_memory(void **state)
{
    enum inmo_status status = INMO_MEMORY;
    long n = 0;
    (void)state;
    for (; status == INMO_MEMORY && n < 1000; n++) {
        struct inmo_error error = {0};
        struct inmo_space space = {0};
        inmo_alloc_fail_after(n);
        status = inmo_space_parse("layers=1..9,loss=bpr|softmax,dropout=0.1..0.5", 0, &space, &error);
        inmo_alloc_fail_after(-1);
        inmo_space_free(&space);
    }
    assert_int_equal(status, INMO_OK);
    assert_true(n > 10);
}

/* ---- Trials
 * --------------------------------------------------------------------------------------------------- */

static void test_ranges(void **state)
{
    enum { TRIALS = 4000 };
    struct inmo_space space =
        space_of("learning-rate=1e-3..1e-1:log,dropout=0.2..0.6,dim=8..128:log,batch=1..100000");
    int low = 0, half = 0, small = 0, ends[2] = {0};
    (void)state;
    assert_int_equal(space.axis[3].count, 0); /* too many whole numbers to be a list */
    for (uint64_t t = 0; t < TRIALS; t++) {
        double rate = number_of(&space, 0, t), dropout = number_of(&space, 1, t), dim = number_of(&space, 2, t);
        double batch = number_of(&space, 3, t);
        assert_true(rate >= 1e-3 && rate <= 1e-1 && dropout >= 0.2 && dropout <= 0.6);
        assert_true(dim >= 8 && dim <= 128 && dim == floor(dim) && batch >= 1 && batch <= 100000);
        low += rate < 1e-2;
        half += dropout < 0.4;
        small += dim < 32;
        ends[0] += dim == 8;
        ends[1] += dim == 128;
    }
    /* Each within five standard deviations (32) of a half. */
    assert_in_range(low, TRIALS / 2 - 160, TRIALS / 2 + 160);
    assert_in_range(half, TRIALS / 2 - 160, TRIALS / 2 + 160);
    assert_in_range(small, TRIALS / 2 - 160, TRIALS / 2 + 160);
    assert_true(ends[0] > 0 && ends[1] > 0);
    inmo_space_free(&space);
}

static void test_trials_are_functions_of_seed_and_number(void **state)
{
    struct inmo_space a = space_of("dropout=0.1..0.6,layers=1|2|3"), b = space_of("dropout=0.1..0.6,layers=1|2|3");
    char one[INMO_VALUE_SIZE], two[INMO_VALUE_SIZE];
    int same = 0;
    (void)state;
    for (uint64_t t = 50; t-- > 0;) /* in any order */
        assert_string_equal(inmo_space_value(&a, 0, t, one), inmo_space_value(&b, 0, t, two));
    b.seed = 2;
    for (uint64_t t = 0; t < 50; t++)
        same += strcmp(inmo_space_value(&a, 0, t, one), inmo_space_value(&b, 0, t, two)) == 0;
    assert_true(same < 5);
    inmo_space_free(&a);
    inmo_space_free(&b);
}

/* In a countable space every point comes exactly once, in another order for another seed. */
static void test_no_point_twice(void **state)
{
    static const char *const spaces[] = {"layers=3", "layers=2|3", "layers=1..3,loss=bpr|softmax",
                                         "layers=0..16,dropout=0.1..0.5:7,loss=bpr|softmax|listwise"};
    (void)state;
    for (size_t n = 0; n < COUNT(spaces); n++) {
        struct inmo_space space = space_of(spaces[n]);
        int orders = 0;
        for (space.seed = 1; space.seed <= 3; space.seed++) {
            char *seen = calloc(space.size, 1);
            int in_order = 1;
            for (uint64_t t = 0; t < space.size; t++) {
                uint64_t point = 0;
                for (size_t a = 0; a < space.axis_count; a++) {
                    char buffer[INMO_VALUE_SIZE];
                    const char *value = inmo_space_value(&space, a, t, buffer);
                    size_t v = 0;
                    while (strcmp(space.axis[a].value[v], value) != 0)
                        v++;
                    point = point * space.axis[a].count + v;
                }
                assert_true(point < space.size && !seen[point]);
                seen[point] = 1;
                in_order &= point == t;
            }
            orders += !in_order;
            free(seen);
        }
        assert_true(space.size < 6 || orders == 3);
        inmo_space_free(&space);
    }
}

static void test_grid_order(void **state)
{
    static const char *const expected[][2] = {{"2", "bpr"}, {"2", "softmax"}, {"3", "bpr"}, {"3", "softmax"}};
    struct inmo_space space = space_of("layers=2|3,loss=bpr|softmax");
    struct inmo_train_options options = {0};
    char buffer[INMO_VALUE_SIZE];
    (void)state;
    space.in_order = 1;
    for (uint64_t t = 0; t < 4; t++)
        for (size_t a = 0; a < 2; a++)
            assert_string_equal(inmo_space_value(&space, a, t, buffer), expected[t][a]);
    inmo_space_apply(&space, 3, &options);
    assert_int_equal(options.layers, 3);
    assert_string_equal(options.loss, "softmax");
    inmo_space_free(&space);
}

/* ---- Halving, with a score that is known
 * ----------------------------------------------------------------------- */

static void test_plans(void **state)
{
    static const struct {
        int trials, epochs, eval_every, rate, least;
        int rungs, rung_trials[4], rung_epochs[4];
    } cases[] = {
        {20, 160, 10, 0, 10, 1, {20}, {160}},
        {27, 81, 1, 3, 1, 4, {27, 9, 3, 1}, {3, 9, 27, 81}},
        {20, 160, 10, 3, 10, 3, {20, 6, 2}, {20, 60, 160}}, /* whole multiples of eval-every */
        {8, 8, 1, 2, 1, 4, {8, 4, 2, 1}, {1, 2, 4, 8}},
        {2, 100, 1, 3, 1, 1, {2}, {100}},         /* too few to leave any out */
        {27, 81, 1, 3, 20, 2, {27, 9}, {27, 81}}, /* least epochs */
        {9, 10, 8, 3, 1, 2, {9, 3}, {8, 10}},     /* 8, 8, 10: the first two are one */
    };
    (void)state;
    for (size_t n = 0; n < COUNT(cases); n++) {
        struct inmo_search search = {0};
        inmo_search_plan(&search, cases[n].trials, cases[n].epochs, cases[n].eval_every, cases[n].rate,
                         cases[n].least);
        assert_int_equal(search.rungs, cases[n].rungs);
        for (int r = 0; r < search.rungs; r++) {
            assert_int_equal(search.trials[r], cases[n].rung_trials[r]);
            assert_int_equal(search.epochs[0][r], cases[n].rung_epochs[r]);
        }
    }
}

enum { FAKES = 9, FAILING = 1 << 6 };
static const double quality[FAKES] = {0.10, 0.50, 0.30, 0.90, 0.50, 0.20, 0.95, 0.70, 0.05};

struct fake {
    int asked, dropped, stop_at; /* stop_at: the call at which the power goes; -1: never */
    int failing;                 /* trials that cannot be trained, a bit each */
    char calls[512];             /* "trial@epochs/seed " of each */
};

/* The longer, the worse, so that an order by score alone is another one; the seeds lie on both sides. */
static enum inmo_status fake_train(void *context, int rung, struct inmo_outcome *outcome, struct inmo_error *error)
{
    struct fake *fake = context;
    size_t used = strlen(fake->calls);
    (void)rung;
    if (fake->asked++ == fake->stop_at) {
        error->code = INMO_INTERRUPTED;
        return INMO_INTERRUPTED;
    }
    snprintf(fake->calls + used, sizeof fake->calls - used, "%d@%d/%d ", outcome->trial, outcome->epochs,
             (int)outcome->seed);
    if (fake->failing >> outcome->trial & 1) {
        outcome->code = INMO_NUMERIC;
        outcome->error = inmo_copy_string("the loss is \"not finite\"");
        return INMO_OK;
    }
    outcome->score = quality[outcome->trial] - 0.1 * outcome->epochs + (outcome->seed == 1 ? 0.125 : -0.125);
    outcome->best_epoch = outcome->epochs - 1;
    outcome->seconds = 0.25;
    return INMO_OK;
}

static void fake_dropped(void *context, int trial)
{
    struct fake *fake = context;
    fake->dropped |= 1 << trial;
}

static const uint64_t fake_seeds[] = {1, 2};
static const char fake_space[] = "dropout=0.1..0.9";

static struct inmo_search fake_search(void)
{
    struct inmo_search search = {.seed = fake_seeds, .seed_count = 2};
    inmo_search_plan(&search, FAKES, 9, 1, 3, 1);
    return search;
}

/* Runs the search in directory; returns the status. */
static enum inmo_status run_fake(const char *directory, struct fake *fake, struct inmo_standing *standing,
                                 size_t *count, struct inmo_error *error)
{
    struct inmo_space space = space_of(fake_space);
    struct inmo_search search = fake_search();
    struct inmo_tune_record record;
    struct alone alone;
    const struct inmo_objective objective = {.context = fake, .train = fake_train, .dropped = fake_dropped};
    enum inmo_status status =
        inmo_tune_record_open(&record, directory, "{\"a\": 1, \"b\": {\"c\": 2}}", alone_of(&alone, &space), error);
    if (!status)
        status = inmo_search_run(&search, &record, &objective, error);
    if (!status)
        *count = inmo_search_standings(&search, &record, standing);
    for (size_t n = 0; !status && n < *count; n++)
        if (standing[n].failed) { /* belongs to the record */
            assert_string_equal(standing[n].failed->error, "the loss is \"not finite\"");
            standing[n].failed = NULL;
            standing[n].score = -1;
        }
    inmo_tune_record_close(&record);
    inmo_space_free(&space);
    return status;
}

static void check_fake(const struct inmo_standing *standing, size_t count)
{
    static const int order[] = {3, 7, 1, 4, 2, 5, 0, 8, 6}; /* 1 before 4: the same score, the lower number */
    static const int rung[] = {2, 1, 1, 0, 0, 0, 0, 0, 0};
    static const int epochs[] = {1, 3, 9};
    assert_int_equal(count, FAKES);
    for (size_t n = 0; n < FAKES; n++) {
        assert_int_equal(standing[n].trial, order[n]);
        assert_int_equal(standing[n].rung, rung[n]);
        if (n + 1 < FAKES) {
            assert_near(standing[n].score, quality[order[n]] - 0.1 * epochs[rung[n]], 1e-15);
            assert_near(standing[n].deviation, sqrt(2) * 0.125, 1e-12); /* of two, n - 1 in the denominator */
        }
    }
}

static void test_halving(void **state)
{
    struct inmo_error error = {0};
    struct fake fake = {.stop_at = -1, .failing = FAILING};
    struct inmo_standing standing[FAKES];
    size_t count = 0;
    (void)state;
    must(run_fake(NULL, &fake, standing, &count, &error));
    /* The failed one has the place of nobody: three of the eight others go on, though its quality is the
     * highest. */
    assert_string_equal(fake.calls,
                        "0@1/1 0@1/2 1@1/1 1@1/2 2@1/1 2@1/2 3@1/1 3@1/2 4@1/1 4@1/2 5@1/1 5@1/2 6@1/1 6@1/2 "
                        "7@1/1 7@1/2 8@1/1 8@1/2 1@3/1 1@3/2 3@3/1 3@3/2 7@3/1 7@3/2 3@9/1 3@9/2 ");
    assert_int_equal(fake.dropped, (1 << FAKES) - 1);
    check_fake(standing, count);
}

/* Where fewer can be trained than may go on, places stay empty. */
static void test_failed_never_go_on(void **state)
{
    struct inmo_error error = {0};
    struct fake fake = {.stop_at = -1, .failing = (1 << FAKES) - 1 - (1 << 2) - (1 << 8)};
    struct inmo_standing standing[FAKES];
    size_t count = 0;
    (void)state;
    must(run_fake(NULL, &fake, standing, &count, &error));
    assert_non_null(strstr(fake.calls, "8@1/2 2@3/1 2@3/2 8@3/1 8@3/2 2@9/1 2@9/2 "));
    assert_int_equal(fake.asked, 2 * (FAKES + 2 + 1));
    fake = (struct fake){.stop_at = -1, .failing = (1 << FAKES) - 1};
    must(run_fake(NULL, &fake, standing, &count, &error));
    assert_int_equal(fake.asked, 2 * FAKES);
}

/* ---- The record
 * ------------------------------------------------------------------------------------------------ */

/* Cut after any number of calls and started again: nothing asked twice, and the same end. */
static void test_stopped_anywhere(void **state)
{
    enum { CALLS = 26 };
    (void)state;
    for (int at = 0; at < CALLS; at += 3) {
        struct inmo_error error = {0};
        struct fake first = {.stop_at = at, .failing = FAILING}, second = {.stop_at = -1, .failing = FAILING};
        struct inmo_standing standing[FAKES];
        size_t count = 0;
        must_fail(run_fake("search", &first, standing, &count, &error), INMO_INTERRUPTED, "");
        must(run_fake("search", &second, standing, &count, &error));
        assert_int_equal(second.asked, CALLS - at);
        check_fake(standing, count);
        assert_int_equal(system("rm -r search"), 0);
    }
}

/* Power that goes while a line is written leaves any number of its bytes. */
static void test_torn_anywhere(void **state)
{
    struct inmo_error error = {0};
    struct fake whole = {.stop_at = -1, .failing = FAILING};
    struct inmo_standing standing[FAKES];
    struct bytes bytes;
    size_t count = 0;
    (void)state;
    must(run_fake("search", &whole, standing, &count, &error));
    bytes = read_bytes("search/trials.jsonl"); /* every line is synced, so not at every byte: disks may be slow */
    for (size_t size = 0; size <= bytes.count; size += bytes.count - size < 200 ? 5 : 131) {
        struct fake again = {.stop_at = -1, .failing = FAILING};
        struct bytes now;
        int lines = 0;
        for (size_t n = 0; n < size; n++)
            lines += bytes.at[n] == '\n';
        write_bytes("search/trials.jsonl", bytes.at, size);
        must(run_fake("search", &again, standing, &count, &error));
        assert_int_equal(again.asked, 27 - (lines ? lines : 1));
        check_fake(standing, count);
        now = read_bytes("search/trials.jsonl");
        assert_int_equal(now.count, bytes.count);
        assert_memory_equal(now.at, bytes.at, bytes.count);
        free(now.at);
    }
    free(bytes.at);
    assert_int_equal(system("rm -r search"), 0);
}

static void test_refused_records(void **state)
{
    static const char first[] = "{\"a\": 1, \"b\": {\"c\": 2}}\n";
    static const char good[] =
        "{\"trial\": 1, \"epochs\": 1, \"seed\": 1, \"settings\": {\"dropout\": %s}, "
        "\"ndcg@20\": 0.5, \"best_epoch\": 0, \"seconds\": 1, \"code\": 0, \"error\": null}\n";
    static const struct {
        const char *text;
        enum inmo_status status;
        const char *says;
    } cases[] = {
        {"{\"a\": 2, \"b\": {\"c\": 2}}\n", INMO_EXISTS, "another search: its a is 2, now it is 1"},
        {"{\"a\": 1, \"b\": {\"c\": 3}}\n", INMO_EXISTS, "another search: its c is 3, now it is 2"},
        {"{\"b\": {\"c\": 2}}\n", INMO_EXISTS, "another search: its a is absent, now it is 1"},
        {"hello\n", INMO_FORMAT, "line 1: found \"hello\", expected a JSON object"},
        {"%shello\n%s", INMO_FORMAT, "line 2: found \"hello\", expected a JSON object"},
        {"%s{}\n", INMO_FORMAT, "line 2: not a training of this search"},
        {"%s{\"trial\": 1, \"epochs\": 1, \"seed\": 1, \"settings\": {\"dropout\": 0.123}, \"ndcg@20\": 0.5, "
         "\"best_epoch\": 0, \"seconds\": 1, \"code\": 0, \"error\": null}\n",
         INMO_FORMAT, "line 2: not a training of this search; the file was changed"},
    };
    static const struct {
        const char *key, *value;
    } forged[] = {
        {"trial", "0"},     {"trial", "-1"},     {"trial", "1.5"},   {"epochs", "0"},     {"epochs", "\"1\""},
        {"trial", "10001"}, {"seed", "-1"},      {"settings", "[]"}, {"ndcg@20", "null"}, {"best_epoch", "-2"},
        {"seconds", "-1"},  {"seconds", "null"}, {"code", "-1"},     {"code", "99"},      {"code", "10"},
    };
    struct inmo_space space = space_of(fake_space);
    struct alone alone;
    const struct inmo_arms *arms = alone_of(&alone, &space);
    struct inmo_tune_record record, other;
    struct inmo_error error = {0};
    char line[512], text[1024], buffer[INMO_VALUE_SIZE];
    (void)state;
    snprintf(line, sizeof line, good, inmo_space_value(&space, 0, 0, buffer));
    assert_int_equal(mkdir("search", 0777), 0);
    for (size_t n = 0; n < COUNT(cases); n++) {
        snprintf(text, sizeof text, cases[n].text, first, line);
        write_bytes("search/trials.jsonl", text, strlen(text));
        must_fail(inmo_tune_record_open(&record, "search", "{\"a\": 1, \"b\": {\"c\": 2}}", arms, &error),
                  cases[n].status, cases[n].says);
    }
    for (size_t n = 0; n < COUNT(forged); n++) { /* one value of a good line is another */
        char name[32], *at = NULL, *end = NULL;
        snprintf(name, sizeof name, "\"%s\": ", forged[n].key);
        at = strstr(line, name) + strlen(name);
        end = *at == '{' ? strchr(at, '}') + 1 : at + strcspn(at, ",}");
        snprintf(text, sizeof text, "%s%.*s%s%s", first, (int)(at - line), line, forged[n].value, end);
        write_bytes("search/trials.jsonl", text, strlen(text));
        must_fail(inmo_tune_record_open(&record, "search", "{\"a\": 1, \"b\": {\"c\": 2}}", arms, &error),
                  INMO_FORMAT, "line 2: not a training of this search");
    }
    /* The line itself is good, and a record that is open is nobody else's. */
    snprintf(text, sizeof text, "%s%s", first, line);
    write_bytes("search/trials.jsonl", text, strlen(text));
    must(inmo_tune_record_open(&record, "search", "{\"a\": 1, \"b\": {\"c\": 2}}", arms, &error));
    assert_int_equal(record.count, 1);
    assert_near(inmo_tune_record_find(&record, 0, 1, 1)->score, 0.5, 0);
    assert_null(inmo_tune_record_find(&record, 0, 1, 2));
    must_fail(inmo_tune_record_open(&other, "search", "{\"a\": 1, \"b\": {\"c\": 2}}", arms, &error), INMO_IO,
              "is in use");
    inmo_tune_record_close(&record);
    /* A directory of something else is left alone. */
    assert_int_equal(rename("search/trials.jsonl", "search/thesis.tex"), 0);
    must_fail(inmo_tune_record_open(&record, "search", "{}", arms, &error), INMO_EXISTS,
              "not the directory of a search: it has thesis.tex");
    must_fail(inmo_tune_record_open(&record, "no/where", "{}", arms, &error), INMO_IO, "cannot make no/where");
    assert_int_equal(system("rm -r search"), 0);
    inmo_space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_bad_spaces),
        cmocka_unit_test(test_every_setting),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_trials_are_functions_of_seed_and_number),
        cmocka_unit_test(test_no_point_twice),
        cmocka_unit_test(test_grid_order),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_halving),
        cmocka_unit_test(test_failed_never_go_on),
        cmocka_unit_test(test_stopped_anywhere),
        cmocka_unit_test(test_torn_anywhere),
        cmocka_unit_test(test_refused_records),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
