/* test_refit.c - what training holds out by itself, and what becomes of it, or of the validation part, in the end:
 * the same parameters on all interactions (graph), or a second training on them (train). */
#include "linked.h"

#include "data/hold_out.h"
#include "model/model.h"

#include <jansson.h>
#include <math.h>

static json_t *refit_of(const struct inmo_model *model)
{
    struct inmo_model_info info;
    json_t *record, *refit;
    inmo_model_info(model, &info);
    record = json_loads(info.record, 0, NULL);
    assert_non_null(record);
    refit = json_incref(json_object_get(json_array_get(record, 0), "refit"));
    json_decref(record);
    return refit;
}

static double ndcg(const struct inmo_model *model, const struct inmo_dataset *data, const char *part)
{
    struct inmo_error error = {0};
    struct inmo_eval_options options;
    struct inmo_report *report = NULL;
    double found;
    inmo_eval_options_init(&options);
    options.part = part;
    must(inmo_evaluate(model, data, &options, NULL, &report, &error));
    found = report->group[0].at->ndcg;
    inmo_report_free(report);
    return found;
}

static void same_lists(const struct inmo_csr *a, const struct inmo_csr *b)
{
    assert_int_equal(inmo_csr_count(a), inmo_csr_count(b));
    assert_memory_equal(a->offset, b->offset, ((size_t)a->rows + 1) * sizeof *a->offset);
    assert_memory_equal(a->column, b->column, (size_t)inmo_csr_count(a) * sizeof *a->column);
}

/* ---- What is held out ---------------------------------------------------------------------------------------- */

/* User u of 3,000 has 1 + u mod 30 items. */
static struct inmo_dataset *many_histories(void)
{
    enum { USERS = 3000, ITEMS = 40 };
    static int64_t offset[USERS + 1];
    static int32_t item[USERS * 30];
    struct inmo_interactions train = {USERS, ITEMS, offset, item, 0};
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    for (int u = 0; u < USERS; u++) {
        for (int n = 0; n < 1 + u % 30; n++)
            item[train.count++] = (u * 7 + n) % ITEMS;
        offset[u + 1] = train.count;
    }
    must(inmo_dataset_from_matrices(&train, NULL, NULL, NULL, &data, &error));
    return data;
}

static void test_hold_out(void **state)
{
    struct inmo_dataset *data = many_histories(), held = {0}, again = {0}, other = {0}, joined = {0};
    struct inmo_error error = {0};
    int64_t short_held = 0, short_all = 0;
    (void)state;
    must(inmo_dataset_hold_out(data, 0.1, 5, &held, &error));
    must(inmo_dataset_hold_out(data, 0.1, 5, &again, &error));
    must(inmo_dataset_hold_out(data, 0.1, 6, &other, &error));
    same_lists(&held.valid, &again.valid);
    assert_true(inmo_csr_count(&held.valid) != inmo_csr_count(&other.valid) ||
                memcmp(held.valid.column, other.valid.column, (size_t)inmo_csr_count(&held.valid) * 4) != 0);
    for (int32_t u = 0; u < data->users.count; u++) {
        int64_t n = inmo_csr_degree(&data->train, u), moved = inmo_csr_degree(&held.valid, u);
        assert_true(inmo_csr_degree(&held.train, u) >= 1); /* nobody is left without */
        assert_true(moved >= n / 10 && moved <= n / 10 + 1);
        if (n < 10) {
            short_held += moved;
            short_all += n;
        }
        for (int64_t e = 0; e < moved; e++)
            assert_false(inmo_csr_has(&held.train, u, held.valid.column[held.valid.offset[u] + e]));
    }
    /* short histories give their share, but for the single items: 45 · 100 of which 100 never move */
    assert_near((double)short_held / (double)short_all, 0.1 * 44 / 45, 0.01);
    assert_near((double)inmo_csr_count(&held.valid) / (double)inmo_csr_count(&data->train), 0.1, 0.005);
    must(inmo_dataset_join(&held, &joined, &error));
    same_lists(&joined.train, &data->train);
    assert_int_equal(inmo_csr_count(&joined.valid), 0);
    inmo_dataset_drop_parts(&joined);
    inmo_dataset_drop_parts(&other);
    inmo_dataset_drop_parts(&again);
    inmo_dataset_drop_parts(&held);
    must(inmo_dataset_hold_out(data, 0.9, 5, &held, &error));
    for (int32_t u = 0; u < data->users.count; u++)
        assert_true(inmo_csr_degree(&held.train, u) >= 1);
    inmo_dataset_drop_parts(&held);
    inmo_dataset_free(data);
}

/* ---- graph --------------------------------------------------------------------------------------------------- */

static void test_graph(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "inmo-mf", "inmo-ngcf", "inmo-neumf", "idcf-lightgcn"};
    struct inmo_dataset *data = grouped_dataset(60, 80, 10, "60/20/20"), joined = {0};
    struct inmo_error error = {0};
    (void)state;
    must(inmo_dataset_join(data, &joined, &error));
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_train_options options = small_options(models[m]);
        struct inmo_train_report report;
        struct inmo_model *plain, *model = NULL, *loaded = NULL;
        int has_links = inmo_kind_takes_walks(inmo_model_kind_find(models[m]));
        if (has_links) {
            options.links = 2;
            options.link_neighbours = 9;
        }
        plain = trained(data, &options);
        options.refit = "graph";
        must(inmo_train(data, &options, NULL, &model, &report, &error));
        assert_int_equal(plain->refitted, INMO_REFIT_NONE);
        assert_int_equal(model->refitted, INMO_REFIT_GRAPH);
        assert_int_equal(inmo_csr_count(&model->train), inmo_csr_count(&joined.train));
        assert_int_equal(inmo_csr_count(&model->valid), 0);
        /* the parameters are those of training: nobody has all of their interactions in the validation part */
        assert_int_equal(model->rows, plain->rows);
        assert_memory_equal(model->parameter, plain->parameter,
                            (size_t)model->rows * (size_t)model->dim * sizeof(float));
        if (has_links)
            check_links(model);
        /* the validation part is judged without what the model has of it */
        assert_near(ndcg(model, data, "valid"), ndcg(plain, data, "valid"), 1e-9);
        if (strcmp(options.attention, "shared") != 0) /* whose keys are drawn anew for each validation */
            assert_near(ndcg(model, data, "valid"), report.best_score, 1e-9);
        /* the test part with it, as if the parts had been one */
        assert_near(ndcg(model, data, "test"), ndcg(model, &joined, "test"), 1e-12);
        must(inmo_model_save(model, "model", 1, &error));
        must(inmo_model_load("model", &loaded, &error));
        assert_int_equal(loaded->refitted, INMO_REFIT_GRAPH);
        assert_near(ndcg(loaded, data, "test"), ndcg(model, data, "test"), 1e-12);
        inmo_model_free(loaded);
        inmo_model_free(model);
        inmo_model_free(plain);
    }
    inmo_dataset_drop_parts(&joined);
    inmo_dataset_free(data);
}

static void test_graph_is_for_templates(void **state)
{
    struct inmo_dataset *data = grouped_dataset(20, 20, 6, "60/20/20");
    struct inmo_train_options options = small_options("mf");
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    (void)state;
    options.refit = "graph";
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_USAGE, "`refit`: found 'graph'");
    inmo_dataset_free(data);
}

/* ---- train --------------------------------------------------------------------------------------------------- */

/* A second pass is the training, on everything, of as many epochs as the best one had, with what was chosen. */
static void test_train(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "inmo-mf", "lightgcn", "mf", "imc-lightgcn", "neumf"};
    struct inmo_dataset *data = grouped_dataset(60, 80, 10, "60/20/20"), joined = {0};
    struct inmo_error error = {0};
    (void)state;
    must(inmo_dataset_join(data, &joined, &error));
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_train_options options = small_options(models[m]);
        struct inmo_train_report report;
        struct inmo_model *model = NULL, *twin = NULL, *loaded = NULL;
        json_t *refit;
        options.epochs = 6;
        options.pretrain = 0;
        if (inmo_kind_takes_walks(inmo_model_kind_find(models[m]))) {
            options.links = INMO_AUTO;
            options.walks = INMO_AUTO;
        }
        options.refit = "train";
        must(inmo_train(data, &options, NULL, &model, &report, &error));
        assert_int_equal(model->refitted, INMO_REFIT_TRAIN);
        refit = refit_of(model);
        assert_string_equal(json_string_value(json_object_get(refit, "how")), "train");
        assert_int_equal(json_integer_value(json_object_get(refit, "epochs")), report.best_epoch + 1);
        assert_int_equal(json_integer_value(json_object_get(refit, "held-out")), 0);
        assert_near(json_number_value(json_object_get(refit, "ndcg@20")), report.best_score, 1e-8);
        json_decref(refit);
        options.refit = "none";
        options.epochs = report.best_epoch + 1; /* the rate is constant */
        if (inmo_kind_takes_walks(inmo_model_kind_find(models[m]))) {
            options.walks = model->walks;
            options.links = model->links;
            options.link_ridge = model->link_rule.ridge;
            options.link_popularity = model->link_rule.popularity;
        }
        twin = trained(&joined, &options);
        assert_int_equal(model->rows, twin->rows);
        assert_memory_equal(model->parameter, twin->parameter,
                            (size_t)model->rows * (size_t)model->dim * sizeof(float));
        assert_near(ndcg(model, &joined, "test"), ndcg(twin, &joined, "test"), 1e-12);
        assert_near(ndcg(model, data, "test"), ndcg(model, &joined, "test"), 1e-12);
        must(inmo_model_save(model, "model", 1, &error));
        must(inmo_model_load("model", &loaded, &error));
        assert_int_equal(loaded->refitted, INMO_REFIT_TRAIN);
        inmo_model_free(loaded);
        inmo_model_free(twin);
        inmo_model_free(model);
    }
    inmo_dataset_drop_parts(&joined);
    inmo_dataset_free(data);
}

/* A closed form that has chosen is solved again; one that has nothing to choose takes everything at once. */
static void test_closed_forms(void **state)
{
    struct inmo_dataset *data = grouped_dataset(60, 80, 10, "80/0/20"); /* of 10 items exactly 8 and 2 */
    struct inmo_error error = {0};
    struct inmo_train_options options;
    struct inmo_model *model, *twin;
    json_t *refit;
    (void)state;
    must(inmo_train_options_init(&options, "ease", NULL, &error));
    model = trained(data, &options);
    refit = refit_of(model);
    assert_non_null(refit);
    assert_true(json_integer_value(json_object_get(refit, "held-out")) > 0);
    json_decref(refit);
    assert_int_equal(inmo_csr_count(&model->train), inmo_csr_count(&data->train));
    refit = json_loads(model->configuration, 0, NULL);
    options.l2 = json_number_value(json_object_get(refit, "l2"));
    json_decref(refit);
    assert_true(options.l2 > 0);
    twin = trained(data, &options);
    assert_null(refit_of(twin));
    assert_memory_equal(
        model->tensor[1].data, twin->tensor[1].data,
        (size_t)(model->tensor[1].rows * (model->tensor[1].columns ? model->tensor[1].columns : 1)) *
            sizeof(float));
    inmo_model_free(twin);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* ---- By itself ----------------------------------------------------------------------------------------------- */

/* Data without a validation part, the defaults: every model ends with all interactions, and validation chose. */
static void test_by_itself(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "inmo-mf",       "lightgcn", "mf",      "ngcf",
                                         "imc-lightgcn",  "idcf-lightgcn", "ials",     "mult-vae"};
    struct inmo_dataset *data = grouped_dataset(60, 80, 10, "80/0/20"); /* of 10 items exactly 8 and 2 */
    struct inmo_error error = {0};
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_train_options options;
        struct inmo_train_report report;
        struct inmo_model *model = NULL;
        json_t *refit;
        must(inmo_train_options_init(&options, models[m], NULL, &error));
        options.epochs = 4;
        options.eval_every = 2;
        options.dim = 32;
        for (int threads = 1; threads <= 2; threads++) {
            inmo_set_threads(threads);
            must(inmo_train(data, &options, NULL, &model, &report, &error));
            must(inmo_model_save(model, threads == 1 ? "one" : "two", 1, &error));
            assert_true(report.best_epoch >= 0 && report.best_score > 0);
            assert_int_equal(inmo_csr_count(&model->train), inmo_csr_count(&data->train));
            assert_int_equal(inmo_csr_count(&model->valid), 0);
            assert_true(model->refitted != INMO_REFIT_NONE);
            refit = refit_of(model);
            assert_true(json_integer_value(json_object_get(refit, "held-out")) > 0);
            json_decref(refit);
            inmo_model_free(model);
            model = NULL;
        }
        inmo_set_threads(1);
        assert_true(same_files("one", "two"));
        /* no refit: what was held out is kept beside, for lists */
        options.refit = "none";
        must(inmo_train(data, &options, NULL, &model, &report, &error));
        assert_int_equal(inmo_csr_count(&model->train) + inmo_csr_count(&model->valid),
                         inmo_csr_count(&data->train));
        assert_true(inmo_csr_count(&model->valid) > 0);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

/* Items that one user has: some are in nothing but what is held out, also where keys are trained first. */
static void test_items_of_one_user(void **state)
{
    enum { USERS = 60, SHARED = 8, OWN = 4, ITEMS = 20 + USERS * OWN };
    int64_t offset[USERS + 1] = {0};
    int32_t item[USERS * (SHARED + OWN)];
    struct inmo_interactions train = {USERS, ITEMS, offset, item, 0};
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    struct inmo_train_options options;
    struct inmo_train_report report;
    (void)state;
    for (int u = 0; u < USERS; u++) {
        for (int n = 0; n < SHARED; n++)
            item[train.count++] = u % 2 * 10 + n;
        for (int n = 0; n < OWN; n++)
            item[train.count++] = 20 + u * OWN + n;
        offset[u + 1] = train.count;
    }
    must(inmo_dataset_from_matrices(&train, NULL, NULL, NULL, &data, &error));
    must(inmo_train_options_init(&options, "idcf-lightgcn", NULL, &error));
    options.epochs = 4;
    options.eval_every = 2;
    options.dim = 16;
    options.refit = "train";
    for (int pass = 0; pass < 2; pass++) {
        struct inmo_model *model = NULL;
        must(inmo_train(data, &options, NULL, &model, &report, &error));
        assert_true(report.final_loss > 0 && report.final_loss < 10);
        assert_int_equal(inmo_csr_count(&model->train), train.count);
        must(inmo_model_save(model, pass == 0 ? "one" : "two", 1, &error));
        inmo_model_free(model);
    }
    assert_true(same_files("one", "two"));
    inmo_dataset_free(data);
}

/* ---- Interrupted --------------------------------------------------------------------------------------------- */

struct limit {
    const char *stage;
    int left, reached;
};

static void note_pass(void *context, const struct inmo_progress *progress)
{
    struct limit *limit = context;
    limit->reached = strcmp(progress->stage, limit->stage) == 0;
}

static int stop(void *context)
{
    struct limit *limit = context;
    return limit->reached && limit->left-- <= 0;
}

/* In the first pass, in the second, and in both: the same bytes as without. */
static void test_interrupted(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "mf", "mult-vae"};
    static const char *const stages[][2] = {
        {"training", "training again"}, {"training again", "training again"}, {"training", "training"}};
    struct inmo_dataset *data = grouped_dataset(60, 80, 10, "80/0/20"); /* of 10 items exactly 8 and 2 */
    struct inmo_error error = {0};
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++)
        for (size_t s = 0; s < COUNT(stages); s++) {
            struct inmo_train_options options;
            struct inmo_train_report whole, pieces;
            struct inmo_model *model = NULL;
            must(inmo_train_options_init(&options, models[m], NULL, &error));
            options.epochs = 4;
            options.eval_every = 4; /* so that the second pass has all four, too */
            options.dim = 32;
            must(inmo_train(data, &options, NULL, &model, &whole, &error));
            must(inmo_model_save(model, "whole", 1, &error));
            inmo_model_free(model);
            model = NULL;
            options.checkpoint = "checkpoint";
            unlink("checkpoint");
            for (int piece = 0; piece < 2; piece++) {
                struct limit limit = {stages[s][piece], piece ? 0 : 2, 0};
                struct inmo_hooks hooks = {.context = &limit, .progress = note_pass, .interrupted = stop};
                options.resume = piece > 0;
                must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED, "stopped");
                assert_int_equal(access("checkpoint", F_OK), 0);
            }
            options.resume = 1;
            must(inmo_train(data, &options, NULL, &model, &pieces, &error));
            must(inmo_model_save(model, "pieces", 1, &error));
            inmo_model_free(model);
            assert_true(same_files("whole", "pieces"));
            assert_int_equal(whole.best_epoch, pieces.best_epoch);
            assert_near(whole.best_score, pieces.best_score, 1e-8);
        }
    inmo_dataset_free(data);
}

static void hear(void *context, enum inmo_level level, const char *sentence)
{
    (void)level;
    *(int *)context += strstr(sentence, "stays out of the model") != NULL;
}

/* A few seconds are for one pass: what was held out stays out, and that is said. */
static void test_hurried(void **state)
{
    static const double limits[] = {0, 19, 1000};
    struct inmo_dataset *data = grouped_dataset(60, 80, 10, "80/0/20");
    struct inmo_error error = {0};
    (void)state;
    for (size_t n = 0; n < COUNT(limits); n++) {
        int heard = 0, is_hurried = limits[n] == 19;
        struct inmo_hooks hooks = {.context = &heard, .log = hear};
        struct inmo_train_options options;
        struct inmo_model *model = NULL;
        must(inmo_train_options_init(&options, "inmo-mf", NULL, &error));
        options.epochs = options.eval_every = 2;
        options.dim = 8;
        options.max_seconds = limits[n];
        must(inmo_train(data, &options, &hooks, &model, NULL, &error));
        assert_int_equal(heard, is_hurried);
        assert_int_equal(inmo_csr_count(&model->valid) > 0, is_hurried);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

/* Of a log so long that the share would be more, about 16384 interactions are held out. */
static void test_enough(void **state)
{
    struct inmo_dataset *data = many_histories();
    struct inmo_error error = {0};
    struct inmo_train_options options;
    struct inmo_model *model = NULL;
    json_t *refit;
    (void)state;
    must(inmo_train_options_init(&options, "mf", NULL, &error));
    options.epochs = 1;
    options.dim = 4;
    options.hold_out = 0.9; /* of 46,500 */
    must(inmo_train(data, &options, NULL, &model, NULL, &error));
    refit = refit_of(model);
    assert_near((double)json_integer_value(json_object_get(refit, "held-out")), 16384, 400);
    json_decref(refit);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hold_out),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_graph_is_for_templates),
        cmocka_unit_test(test_train),
        cmocka_unit_test(test_closed_forms),
        cmocka_unit_test(test_by_itself),
        cmocka_unit_test(test_items_of_one_user),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_hurried),
        cmocka_unit_test(test_enough),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
