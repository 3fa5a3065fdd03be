/* test_directau.c - the loss directau: numpy's numbers, finite differences, a naive twin with many blocks and
 * tiles, the same bytes at any number of threads, and that it learns. */
#include "golden_step.h"
#include "support.h"

static const char *const names[] = {"mf-directau-d5", "lightgcn-directau-d32", "inmo-mf-directau-d5",
                                    "inmo-lightgcn-directau-half-d5"};

static void test_golden(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(names); n++) {
        struct golden golden;
        json_t *steps;
        float *found;
        open_golden(names[n], "directau", 0, &golden); /* γ, the temperature, is 0.3 there */
        assert_true(golden.options.temperature == number(golden.json, "gamma"));
        found =
            inmo_alloc((size_t)golden.stepper->parameter_rows * (size_t)golden.stepper->binding.dim, sizeof *found);
        steps = json_object_get(golden.json, "steps");
        for (size_t s = 0; s < json_array_size(steps); s++) {
            json_t *step = json_array_get(steps, s), *triples = json_object_get(step, "triples");
            double total = number(json_object_get(step, "loss"), "total"), loss;
            int32_t batch = golden.options.batch, drawn[5 * 64];
            struct inmo_gradient gradient;
            draw_numbers(&golden, (int64_t)s, drawn);
            for (int32_t b = 0; b < batch; b++)
                for (int part = 0; part < 2; part++)
                    assert_int_equal(
                        drawn[part * batch + b],
                        json_integer_value(json_array_get(json_array_get(triples, (size_t)b), (size_t)part)));
            loss = inmo_stepper_gradient(golden.stepper, (int64_t)s, number(step, "alpha"), &gradient);
            assert_near(loss, total, 1e-6); /* of parts that cancel */
            whole_gradient(golden.stepper, gradient, found);
            assert_true(distance(found, json_object_get(step, "gradient")) < 1e-5);
            inmo_stepper_run(golden.stepper, (int64_t)s, number(step, "alpha"), golden.options.learning_rate);
        }
        inmo_stepper_catch_up(golden.stepper);
        assert_true(distance(golden.stepper->parameter, json_object_get(golden.json, "after")) < 2e-5);
        inmo_free(found);
        close_golden(&golden);
    }
}

/* Read out with and without popularity. */
static void test_finite_differences(void **state)
{
    static const char *const models[] = {"mf-d5", "lightgcn-d5", "inmo-mf-half-d5", "inmo-lightgcn-half-d5",
                                         "ngcf-d5"};
    (void)state;
    for (size_t n = 0; n < COUNT(models); n++)
        check_finite_differences(models[n], "directau", n % 2 ? 0 : -0.3, 3);
}

/* ---- Many blocks and tiles ----------------------------------------------------------------------------------- */

enum { BATCH = 700, DIM = 19 }; /* blocks of 128 rows and tiles of 512 columns are not full at the end */

struct judged {
    struct inmo_dataset *data;
    struct inmo_graph *graph;
    struct inmo_train_options options;
    const struct inmo_loss *loss;
    struct inmo_loss_state *state;
    struct inmo_grouping grouping;
    float *r, *dr;  // (rows of the grouping, DIM)
};

static void open_judged(int32_t batch, struct judged *judged)
{
    struct inmo_error error = {0};
    *judged = (struct judged){.data = grouped_dataset(300, 400, 10, "70/10/20"), .options = small_options("mf")};
    const struct inmo_csr *lists[1] = {&judged->data->train};
    must(inmo_graph_build(judged->data->users.count, judged->data->items.count, lists, 1, &judged->graph, &error));
    judged->options.batch = batch;
    judged->options.temperature = 0.7;
    judged->options.l2 = 0.01;
    judged->loss = inmo_loss_find("directau");
    struct inmo_loss_setup setup = {&judged->options, judged->graph, &judged->data->train, DIM, 1, 0, NULL};
    must(judged->loss->create(&setup, &judged->state, &error));
    must(inmo_grouping_make(judged->graph->nodes, 2 * batch, &judged->grouping, &error));
    judged->loss->draw(judged->state, 0, &judged->grouping);
    judged->r = inmo_alloc(2 * (size_t)batch * DIM, sizeof(float));
    judged->dr = inmo_alloc(2 * (size_t)batch * DIM, sizeof(float));
    for (uint64_t n = 0; n < 2 * (uint64_t)batch * DIM; n++)
        judged->r[n] = (float)inmo_random_normal(inmo_key(5, 1), n);
    if (batch > 3)
        memset(judged->r + 3 * DIM, 0, DIM * sizeof(float)); /* a zero vector */
}

static void close_judged(struct judged *judged)
{
    inmo_free(judged->dr);
    inmo_free(judged->r);
    inmo_grouping_free(&judged->grouping);
    judged->loss->destroy(judged->state);
    inmo_graph_free(judged->graph);
    inmo_dataset_free(judged->data);
}

/* The formula, pair by pair, in double. */
static double cosine(const float *x, const float *y)
{
    double product = 0, xx = 0, yy = 0;
    for (int j = 0; j < DIM; j++) {
        product += (double)x[j] * y[j];
        xx += (double)x[j] * x[j];
        yy += (double)y[j] * y[j];
    }
    return xx > 0 && yy > 0 ? product / sqrt(xx * yy) : 0;
}

static double naive_loss(const struct judged *judged)
{
    int32_t batch = judged->options.batch;
    const int32_t *row = judged->grouping.row;
    double loss = 0;
    for (int32_t b = 0; b < batch; b++)
        loss += (2 - 2 * cosine(judged->r + row[b] * DIM, judged->r + row[batch + b] * DIM)) / batch;
    for (int side = 0; side < 2; side++) {
        double sum = 0;
        for (int32_t b = 0; b < batch; b++) {
            const float *x = judged->r + row[side * batch + b] * DIM;
            for (int32_t c = 0; c < b; c++)
                sum += exp(-2 * (2 - 2 * cosine(x, judged->r + row[side * batch + c] * DIM)));
            for (int j = 0; j < DIM; j++)
                loss += judged->options.l2 / batch * x[j] * x[j];
        }
        if (batch > 1)
            loss += judged->options.temperature / 2 * log(sum / (0.5 * batch * (batch - 1)));
    }
    return loss;
}

static void test_naive_twin(void **state)
{
    struct judged judged;
    double loss, worst = 0, largest = 0;
    const double h = 1e-3;
    (void)state;
    open_judged(BATCH, &judged);
    loss = judged.loss->judge(judged.state, &judged.grouping, judged.r, judged.dr);
    assert_near(loss, naive_loss(&judged), 1e-6 * fabs(loss));
    for (int32_t n = 0; n < judged.grouping.rows.count * DIM; n += 1201) { /* some of all blocks */
        float kept = judged.r[n], up = (float)(kept + h), down = (float)(kept - h);
        double above, below;
        if (n / DIM == 3) /* the zero vector, where the loss has no derivative */
            continue;
        judged.r[n] = up;
        above = naive_loss(&judged);
        judged.r[n] = down;
        below = naive_loss(&judged);
        judged.r[n] = kept;
        worst = fmax(worst, fabs((above - below) / ((double)up - down) - judged.dr[n]));
        largest = fmax(largest, fabs(judged.dr[n]));
    }
    print_message("directau of %d: worst %.2g of %.2g\n", BATCH, worst, largest);
    assert_true(largest > 0);
    assert_true(worst < 1e-4 * largest);
    for (int j = 0; j < DIM; j++)
        assert_true(judged.dr[3 * DIM + j] == 0);
    close_judged(&judged);
}

static void test_same_bytes(void **state)
{
    struct judged judged;
    double first = 0;
    float *kept = inmo_alloc(2 * BATCH * DIM, sizeof *kept);
    (void)state;
    open_judged(BATCH, &judged);
    size_t bytes = (size_t)judged.grouping.rows.count * DIM * sizeof *kept;
    for (int threads = 1; threads <= 3; threads++) {
        inmo_set_threads(threads);
        double loss = judged.loss->judge(judged.state, &judged.grouping, judged.r, judged.dr);
        if (threads == 1) {
            first = loss;
            memcpy(kept, judged.dr, bytes);
        }
        assert_true(loss == first);
        assert_memory_equal(kept, judged.dr, bytes);
    }
    inmo_set_threads(0);
    close_judged(&judged);
    inmo_free(kept);
}

/* One pair has nobody to be apart from: alignment alone. */
static void test_one(void **state)
{
    struct judged judged;
    (void)state;
    open_judged(1, &judged);
    double loss = judged.loss->judge(judged.state, &judged.grouping, judged.r, judged.dr);
    assert_true(isfinite(loss));
    assert_near(loss, naive_loss(&judged), 1e-6 * fabs(loss));
    close_judged(&judged);
}

/* ---- Whole trainings ----------------------------------------------------------------------------------------- */

static void test_learns(void **state)
{
    static const char *const models[] = {"mf", "lightgcn", "inmo-lightgcn", "inmo-mf"};
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    struct inmo_error error = {0};
    (void)state;
    for (size_t n = 0; n < COUNT(models); n++) {
        struct inmo_train_options options = small_options(models[n]);
        struct inmo_train_report report, before;
        struct inmo_model *model = NULL;
        options.loss = "directau";
        options.temperature = 1;
        options.l2 = 0;
        options.epochs = 1;
        options.learning_rate = 1e-9;
        must(inmo_train(data, &options, NULL, &model, &before, &error));
        inmo_model_free(model);
        model = NULL;
        options.epochs = 30;
        options.learning_rate = 0.02;
        must(inmo_train(data, &options, NULL, &model, &report, &error));
        print_message("%s: NDCG@20 %.3f, at the start %.3f\n", models[n], report.best_score, before.best_score);
        assert_true(report.best_score > 1.5 * before.best_score || report.best_score > 0.3);
        assert_true(report.best_score > before.best_score);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),     cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_naive_twin), cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_one),        cmocka_unit_test(test_learns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
