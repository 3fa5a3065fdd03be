/* test_stages.c - models whose parts are first trained alone: which epochs are validated, what a stage takes over
 * from the one before, and how a stage scores. */
#include "support.h"

#include "model/head/neumf.h"
#include "train/trainer.h"

/* A learner that notes how its stages end. */
static struct {
    int calls, stage;
    const float *parameter;
} ended;

static void note_end(struct inmo_learner *learner, int stage, const float *parameter)
{
    (void)learner;
    ended.calls++;
    ended.stage = stage;
    ended.parameter = parameter;
}

static const struct inmo_learner_type noting = {.end_stage = note_end};

static void test_epochs_of_stages(void **state)
{
    struct inmo_train_options options = small_options("neumf");
    struct inmo_learner learner = {.type = &noting};
    float best[1];
    struct inmo_trainer trainer = {.options = &options,
                                   .learner = &learner,
                                   .pretraining = 10,
                                   .epochs = 7,
                                   .best_epoch = -1,
                                   .best_score = NAN};
    (void)state;
    ended.calls = 0;
    options.pretrain = 5;
    options.epochs = 7;
    options.eval_every = 3;
    options.patience = 2;
    trainer.best = best;
    assert_int_equal(inmo_trainer_epochs(&trainer), 17);
    for (; trainer.epoch < 17;) {
        /* of the stages 0-4, 5-9 and 10-16 every third epoch, and the last */
        static const int validated[17] = {0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1};
        int epoch = trainer.epoch;
        struct inmo_stage stage = inmo_stage_at(&trainer, epoch);
        assert_int_equal(stage.number, epoch < 5 ? 0 : epoch < 10 ? 1 : 2);
        assert_int_equal(stage.first, epoch < 5 ? 0 : epoch < 10 ? 5 : 10);
        assert_int_equal(inmo_epoch_is_validated(&trainer), validated[epoch]);
        if (epoch == 2 || epoch == 12) {
            trainer.best_epoch = epoch;
            trainer.best_score = 0.5;
        }
        inmo_trainer_next_epoch(&trainer);
        assert_int_equal(ended.calls, epoch < 4 ? 0 : epoch < 9 ? 1 : 2);
        /* The first stage had a best epoch, the second none; the third runs out of patience. */
        if (epoch == 4)
            assert_true(ended.stage == 0 && ended.parameter == best && trainer.best_epoch == -1);
        if (epoch == 9)
            assert_true(ended.stage == 1 && !ended.parameter && isnan(trainer.best_score));
        assert_int_equal(inmo_trainer_out_of_patience(&trainer), epoch == 15);
    }
    assert_int_equal(trainer.best_epoch, 12);
}

/* Without pretraining there is one stage, which ends with the run. */
static void test_one_stage(void **state)
{
    struct inmo_train_options options = small_options("mf");
    struct inmo_learner learner = {.type = &noting};
    struct inmo_trainer trainer = {.options = &options, .learner = &learner, .epochs = 3, .best_epoch = -1};
    (void)state;
    ended.calls = 0;
    for (int epoch = 0; epoch < 3; epoch++) {
        struct inmo_stage stage = inmo_stage_at(&trainer, epoch);
        assert_true(stage.number == 0 && stage.first == 0 && stage.epochs == 3);
        inmo_trainer_next_epoch(&trainer);
    }
    assert_int_equal(ended.calls, 0);
}

/* The rows are taken over, and at the last part's end the perceptron and the output weights are made anew. */
static void test_what_is_taken_over(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    struct inmo_train_options options = small_options("neumf");
    struct inmo_learner_setup setup = {data, data, &options, inmo_model_kind_find("neumf"), NULL, NULL, NULL};
    struct inmo_learner *learner = NULL;
    struct inmo_error error = {0};
    struct inmo_neumf net;
    size_t size, rows;
    float *start, *best;
    (void)state;
    must(inmo_learner_parts.create(&setup, &learner, &error));
    size = inmo_block_size(&learner->block);
    rows = (size_t)(data->users.count + data->items.count) * 9;
    start = inmo_alloc(size, sizeof *start);
    best = inmo_alloc(size, sizeof *best);
    memcpy(start, learner->block.parameter, size * sizeof *start);
    for (size_t n = 0; n < size; n++)
        best[n] = (float)n;

    learner->type->end_stage(learner, 0, NULL);
    assert_memory_equal(learner->block.parameter, start, size * sizeof *start);
    learner->type->end_stage(learner, 0, best);
    assert_memory_equal(learner->block.parameter, best, size * sizeof *best);
    learner->type->end_stage(learner, 1, best);
    assert_memory_equal(learner->block.parameter, best, rows * sizeof *best);
    net = inmo_neumf_of(9, learner->block.parameter + rows);
    for (int j = 0; j < 6; j++) {
        assert_true(net.part[INMO_NEUMF_GMF][j] == 1 && net.part[INMO_NEUMF_MLP][j] == 1);
        assert_true(net.part[INMO_NEUMF_B1][j] == 0 && net.part[INMO_NEUMF_B2][j] == 0);
    }
    for (int n = 0; n < 36; n++) { /* other numbers than at the start, within the same bound */
        assert_true(fabs(net.part[INMO_NEUMF_W1][n]) <= 1 && net.part[INMO_NEUMF_W1][n] != start[rows + (size_t)n]);
        assert_true(fabs(net.part[INMO_NEUMF_W2][n]) <= 1);
    }
    inmo_free(best);
    inmo_free(start);
    inmo_learner_parts.destroy(learner);
    inmo_dataset_free(data);
}

/* A stage scores by its own part; the parameters stay whole. */
static void test_score_of_a_stage(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    struct inmo_train_options options = small_options("neumf");
    struct inmo_learner_setup setup = {data, data, &options, inmo_model_kind_find("neumf"), NULL, NULL, NULL};
    struct inmo_learner *learner = NULL;
    struct inmo_error error = {0};
    (void)state;
    must(inmo_learner_parts.create(&setup, &learner, &error));
    for (int stage = 0; stage < 3; stage++) {
        struct inmo_neumf net;
        learner->type->set_stage(learner, stage, 7);
        net = inmo_neumf_of(9, inmo_model_head(learner->model));
        for (int j = 0; j < 6; j++) {
            assert_true(net.part[INMO_NEUMF_GMF][j] == (float)(stage != 1));
            assert_true(net.part[INMO_NEUMF_MLP][j] == (float)(stage != 0));
        }
    }
    inmo_learner_parts.destroy(learner);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_of_stages),
        cmocka_unit_test(test_one_stage),
        cmocka_unit_test(test_what_is_taken_over),
        cmocka_unit_test(test_score_of_a_stage),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
