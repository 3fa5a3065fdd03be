/* test_warm.c - a warm start (train/warm.h): parameters are kept by id, new ones are turned into the space of the
 * old, nothing the earlier model has learned is validated with, and the same bytes come out however the run is
 * cut. */
#include "support.h"

#include "model/model.h"
#include "train/step.h"
#include "train/warm.h"

enum { USERS = 60, ITEMS = 80, EACH = 12 };

static struct inmo_dataset *divided(struct inmo_log *log, const char *split, uint64_t seed)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    struct inmo_prepare_options options;
    inmo_prepare_options_init(&options);
    options.split = split;
    options.seed = seed;
    must(inmo_dataset_prepare(log, &options, &data, &error));
    inmo_log_free(log);
    return data;
}

/* Yesterday: without the first ten users, so that all numbers differ from today's. */
static struct inmo_dataset *yesterday(void)
{
    struct inmo_log *all = grouped_log(USERS, ITEMS, EACH, 3), *log = inmo_log_new(0, 0);
    struct inmo_idmap users = inmo_idtable_map(all->users), items = inmo_idtable_map(all->items);
    for (int64_t n = 0; n < all->count; n++) {
        const char *user = inmo_idmap_id(&users, inmo_log_user(all, n));
        const char *item = inmo_idmap_id(&items, inmo_log_item(all, n));
        if (inmo_log_user(all, n) < 10)
            continue;
        assert_int_equal(inmo_log_add(log, inmo_idtable_intern(log->users, user, strlen(user)),
                                      inmo_idtable_intern(log->items, item, strlen(item)), 0, 0),
                         0);
    }
    inmo_log_free(all);
    return divided(log, "80/20/0", 1);
}

static struct inmo_dataset *today(const char *split)
{
    return divided(grouped_log(USERS, ITEMS, EACH, 3), split, 2);
}

static struct inmo_train_options spectral_options(const char *model)
{
    struct inmo_train_options options = small_options(model);
    options.start = "spectral";
    options.epochs = 6;
    return options;
}

static void save_yesterday(const struct inmo_train_options *options, const char *path)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = yesterday();
    struct inmo_model *model = trained(data, options);
    must(inmo_model_save(model, path, 1, &error));
    inmo_model_free(model);
    inmo_dataset_free(data);
}

static int32_t number_in(const struct inmo_idmap *map, const char *id)
{
    for (int32_t n = 0; n < map->count; n++)
        if (strcmp(inmo_idmap_id(map, n), id) == 0)
            return n;
    return -1;
}

/* The model's row of a node of today's data, found by comparing strings. */
static const float *row_by_name(const struct inmo_model *model, const struct inmo_dataset *data, int32_t v)
{
    int is_user = v < data->users.count;
    int32_t n = is_user ? number_in(&model->users, inmo_idmap_id(&data->users, v))
                        : number_in(&model->items, inmo_idmap_id(&data->items, v - data->users.count));
    if (n < 0)
        return NULL;
    n += is_user ? 0 : model->users.count;
    for (int32_t r = 0; r < model->rows; r++)
        if ((model->node_of_row ? model->node_of_row[r] : r) == n)
            return model->parameter + (size_t)r * (size_t)model->dim;
    return NULL;
}

static void test_rows_are_kept_by_id(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "inmo-mf", "lightgcn", "inmo-ngcf", "neumf"};
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_error error = {0};
        struct inmo_train_options options = spectral_options(models[m]);
        struct inmo_dataset *data = today("80/20/0");
        struct inmo_warm warm;
        struct inmo_graph *graph = NULL;
        struct inmo_stepper *stepper = NULL;
        const struct inmo_csr *lists[1];
        size_t dim, extra;
        int64_t kept = 0;
        options.user_templates = options.item_templates = m == 1 ? 0.5 : 1;
        save_yesterday(&options, "old");
        options.from = "old";
        must(inmo_warm_open(data, &options, NULL, &warm, &error));
        lists[0] = &warm.data.train;
        must(inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error));
        {
            uint8_t *templates = inmo_alloc((size_t)graph->nodes, 1);
            must(inmo_warm_templates(&warm, graph, templates, &error));
            must(inmo_stepper_new_keeping(inmo_model_kind_find(models[m]), &options, graph, &warm.data.train,
                                          templates, NULL, &stepper, &error));
            inmo_free(templates);
        }
        must(inmo_warm_copy(&warm, stepper, &error));
        dim = (size_t)stepper->binding.dim;
        for (int32_t v = 0; v < graph->nodes; v++) {
            const float *row = row_by_name(warm.model, data, v);
            int32_t r = inmo_stepper_row(stepper, v);
            if (!row)
                continue;
            if (inmo_graph_degree(graph, inmo_graph_place(graph, v)) > 0)
                assert_true(r >= 0); /* a template stays one */
            if (r >= 0) {
                assert_memory_equal(stepper->parameter + (size_t)r * dim, row, dim * sizeof *row);
                kept++;
            }
        }
        assert_int_equal(kept, warm.kept);
        assert_true(warm.kept > 40);
        if (m != 1) /* of the ten new users */
            assert_true(warm.fresh >= 10);
        extra = (size_t)warm.model->kind->provider->extra_rows;
        assert_memory_equal(stepper->parameter + (size_t)stepper->binding.rows * dim,
                            warm.model->parameter + (size_t)warm.model->rows * dim, extra * dim * sizeof(float));
        inmo_stepper_free(stepper);
        inmo_graph_free(graph);
        inmo_warm_close(&warm);
        inmo_dataset_free(data);
    }
}

/* If the old rows are the start's, multiplied by a matrix, then new rows must be the start's times the same. */
static void test_new_rows_are_turned_as_the_old_ones(void **state)
{
    struct inmo_error error = {0};
    struct inmo_train_options options = spectral_options("inmo-mf");
    struct inmo_dataset *data = today("80/20/0");
    struct inmo_warm warm;
    struct inmo_graph *graph = NULL;
    struct inmo_stepper *plain = NULL, *stepper = NULL;
    const struct inmo_csr *lists[1];
    float turn[6][6], *own;
    const float *mapped;
    int fresh = 0;
    (void)state;
    save_yesterday(&options, "old");
    options.from = "old";
    must(inmo_warm_open(data, &options, NULL, &warm, &error));
    mapped = warm.model->parameter; /* the file's, which nobody may change */
    own = inmo_alloc((size_t)(warm.model->rows + 3) * 6, sizeof *own);
    memcpy(own, mapped, (size_t)(warm.model->rows + 3) * 6 * sizeof *own);
    warm.model->parameter = own;
    lists[0] = &warm.data.train;
    must(inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error));
    must(inmo_stepper_new(inmo_model_kind_find("inmo-mf"), &options, graph, lists[0], NULL, &plain, &error));
    must(inmo_stepper_new(inmo_model_kind_find("inmo-mf"), &options, graph, lists[0], NULL, &stepper, &error));
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            turn[a][b] = (float)inmo_random_normal(inmo_key(5, 79), (uint64_t)(6 * a + b));
    for (int32_t v = 0; v < graph->nodes; v++) {
        float *row = (float *)row_by_name(warm.model, data, v);
        const float *start =
            plain->parameter + 6 * (size_t)(inmo_stepper_row(plain, v) >= 0 ? inmo_stepper_row(plain, v) : 0);
        for (int b = 0; row && inmo_stepper_row(plain, v) >= 0 && b < 6; b++) {
            row[b] = 0;
            for (int a = 0; a < 6; a++)
                row[b] += start[a] * turn[a][b];
        }
    }
    must(inmo_warm_copy(&warm, stepper, &error));
    for (int32_t v = 0; v < graph->nodes; v++) {
        int32_t r = inmo_stepper_row(stepper, v);
        if (r < 0 || row_by_name(warm.model, data, v))
            continue;
        fresh++;
        for (int b = 0; b < 6; b++) {
            double expected = 0, size = 0;
            for (int a = 0; a < 6; a++) {
                expected += plain->parameter[6 * (size_t)r + (size_t)a] * turn[a][b];
                size += fabs(plain->parameter[6 * (size_t)r + (size_t)a] * turn[a][b]);
            }
            assert_near(stepper->parameter[6 * (size_t)r + (size_t)b], expected, 0.02 * size + 1e-6);
        }
    }
    assert_true(fresh >= 10);
    warm.model->parameter = mapped;
    inmo_free(own);
    inmo_stepper_free(stepper);
    inmo_stepper_free(plain);
    inmo_graph_free(graph);
    inmo_warm_close(&warm);
    inmo_dataset_free(data);
}

static int has_pair(const struct inmo_csr *list, const struct inmo_model *model, const char *user, const char *item)
{
    int32_t u = number_in(&model->users, user), i = number_in(&model->items, item);
    return u >= 0 && i >= 0 && inmo_csr_has(list, u, i);
}

static void test_nothing_learned_is_validated_with(void **state)
{
    struct inmo_error error = {0};
    struct inmo_train_options options = spectral_options("inmo-mf");
    struct inmo_dataset *data = today("80/20/0"); /* of another seed: parts as they fall */
    struct inmo_warm warm;
    int64_t moved = 0, stayed = 0;
    (void)state;
    save_yesterday(&options, "old");
    options.from = "old";
    must(inmo_warm_open(data, &options, NULL, &warm, &error));
    assert_int_equal(inmo_csr_count(&warm.data.train) + inmo_csr_count(&warm.data.valid),
                     inmo_csr_count(&data->train) + inmo_csr_count(&data->valid));
    for (int32_t u = 0; u < data->users.count; u++)
        for (int32_t i = 0; i < data->items.count; i++) {
            const char *user = inmo_idmap_id(&data->users, u), *item = inmo_idmap_id(&data->items, i);
            int was_train = has_pair(&warm.model->train, warm.model, user, item);
            int was_valid = has_pair(&warm.model->valid, warm.model, user, item);
            int train = inmo_csr_has(&warm.data.train, u, i), valid = inmo_csr_has(&warm.data.valid, u, i);
            assert_false(train && valid);
            assert_int_equal(train || valid, inmo_csr_has(&data->train, u, i) || inmo_csr_has(&data->valid, u, i));
            if (was_train)
                assert_true(train && !valid);
            else if (was_valid)
                assert_true(valid && !train);
            else if (train || valid)
                assert_int_equal(valid, inmo_csr_has(&data->valid, u, i));
            moved += was_train && inmo_csr_has(&data->valid, u, i);
            stayed += was_valid;
        }
    assert_true(moved > 0 && stayed > 0);
    inmo_warm_close(&warm);
    inmo_dataset_free(data);
}

static void test_refusals(void **state)
{
    struct inmo_error error = {0};
    struct inmo_train_options options = spectral_options("inmo-lightgcn"), other;
    struct inmo_dataset *data = today("80/20/0"), *tested = today("60/20/20"), *strange;
    struct inmo_model *model = NULL;
    (void)state;
    save_yesterday(&options, "old");
    options.from = "old";
    must_fail(inmo_train(tested, &options, NULL, &model, NULL, &error), INMO_INPUT, "test interactions");
    other = options;
    other.dim = 8;
    must_fail(inmo_train(data, &other, NULL, &model, NULL, &error), INMO_USAGE, "`dim`: found 8");
    other = options;
    other.layers = 3;
    must_fail(inmo_train(data, &other, NULL, &model, NULL, &error), INMO_USAGE, "`layers`: found 3, expected 2");
    other = options;
    other.model = "inmo-mf";
    must_fail(inmo_train(data, &other, NULL, &model, NULL, &error), INMO_USAGE, "holds inmo-lightgcn");
    other = options;
    other.from = NULL;
    other.from_epochs = 3;
    must_fail(inmo_train(data, &other, NULL, &model, NULL, &error), INMO_USAGE, "`from-epochs`");
    strange = dataset_of("ann tea train, ann milk valid, bob tea train");
    must_fail(inmo_train(strange, &options, NULL, &model, NULL, &error), INMO_INPUT, "none of the data's");
    other = small_options("ease");
    save_yesterday(&other, "ease");
    other.from = "ease";
    must_fail(inmo_train(data, &other, NULL, &model, NULL, &error), INMO_UNSUPPORTED, "closed form");
    other = spectral_options("idcf-lightgcn");
    save_yesterday(&other, "idcf");
    other.from = "idcf";
    must_fail(inmo_train(data, &other, NULL, &model, NULL, &error), INMO_UNSUPPORTED, "two stages");
    assert_null(model);
    inmo_dataset_free(strange);
    inmo_dataset_free(tested);
    inmo_dataset_free(data);
}

/* At 1 to 3 threads, and cut into pieces; a checkpoint of another warm start is another run's. */
static void test_same_bytes(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "mf", "ials"};
    struct inmo_dataset *data = today("80/20/0");
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_error error = {0};
        struct inmo_train_options options = spectral_options(models[m]);
        struct inmo_train_report report;
        struct step_limit limit = {m == 2 ? 1 : 5, 0};
        struct inmo_hooks hooks = {.context = &limit, .progress = note_stage, .interrupted = stop_after_steps};
        struct inmo_model *model = NULL;
        char name[3][16] = {"one", "two", "three"};
        options.unobserved = 0.1;
        options.l2 = 0.01;
        save_yesterday(&options, "old");
        options.from = "old";
        options.from_epochs = 3;
        for (int t = 0; t < 3; t++) {
            inmo_set_threads(t + 1);
            must(inmo_train(data, &options, NULL, &model, &report, &error));
            assert_int_equal(report.epochs, 3);
            must(inmo_model_save(model, name[t], 1, &error));
            inmo_model_free(model);
            model = NULL;
            assert_true(same_files(name[0], name[t]));
        }
        unlink("checkpoint");
        options.checkpoint = "checkpoint";
        must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED, "stopped");
        options.resume = 1;
        options.from_epochs = 2;
        must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_FORMAT, "other options");
        options.from_epochs = 3;
        must(inmo_train(data, &options, NULL, &model, NULL, &error));
        must(inmo_model_save(model, "pieces", 1, &error));
        inmo_model_free(model);
        assert_true(same_files("one", "pieces"));
    }
    inmo_dataset_free(data);
}

/* With a rate of next to nothing the parameters are those of the earlier model, and so is alpha. */
static void test_start_is_the_earlier_model(void **state)
{
    struct inmo_error error = {0};
    struct inmo_train_options options = spectral_options("inmo-mf");
    struct inmo_dataset *data = today("80/20/0");
    struct inmo_model *model = NULL, *old = NULL;
    double moved = 0, size = 0;
    (void)state;
    save_yesterday(&options, "old");
    options.from = "old";
    options.learning_rate = 1e-9;
    must(inmo_train(data, &options, NULL, &model, NULL, &error));
    must(inmo_model_load("old", &old, &error));
    assert_near(model->alpha_reached, old->alpha_reached, 0);
    for (int32_t u = 0; u < data->users.count; u++) {
        const float *was = row_by_name(old, data, u), *is = row_by_name(model, data, u);
        for (int j = 0; was && is && j < 6; j++) {
            moved += (was[j] - is[j]) * (was[j] - is[j]);
            size += was[j] * was[j];
        }
    }
    assert_true(size > 0 && moved < 1e-6 * size);
    assert_non_null(strstr(inmo_model_origin(model), "\"from\""));
    inmo_model_free(old);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* Every allocation of opening and copying may fail. */
static void test_memory(void **state)
{
    struct inmo_error error = {0};
    struct inmo_train_options options = spectral_options("inmo-mf");
    struct inmo_dataset *data = today("80/20/0");
    enum inmo_status status = INMO_MEMORY;
    (void)state;
    save_yesterday(&options, "old");
    options.from = "old";
    for (long n = 0; status; n++) {
        struct inmo_warm warm;
        assert_true(n < 1000);
        inmo_alloc_fail_after(n);
        status = inmo_warm_open(data, &options, NULL, &warm, &error);
        inmo_alloc_fail_after(-1);
        if (status)
            assert_int_equal(status, INMO_MEMORY);
        else
            inmo_warm_close(&warm);
    }
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_kept_by_id),
        cmocka_unit_test(test_new_rows_are_turned_as_the_old_ones),
        cmocka_unit_test(test_nothing_learned_is_validated_with),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_start_is_the_earlier_model),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
