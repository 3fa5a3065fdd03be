/* test_resume.c - training that is interrupted, by request or by force, and goes on from its checkpoint: the model
 * must be the one an uninterrupted run gives, byte for byte. And which checkpoints are refused. */
#include "support.h"

#include "base/tensorfile.h"
#include "train/lazy.h"
#include "train/settings.h"

enum { TRAINED = 10, STEPS = 11 }; /* models that are trained; steps an epoch has: ⌈336/32⌉ */

static struct inmo_dataset *small_data(void)
{
    return grouped_dataset(48, 80, 10, "70/10/20");
}

static void train_and_save(const struct inmo_dataset *data, const struct inmo_train_options *options,
                           const char *path)
{
    struct inmo_error error = {0};
    struct inmo_model *model = trained(data, options);
    must(inmo_model_save(model, path, 1, &error));
    inmo_model_free(model);
}

/* Trains in pieces of so many steps (the last one has no limit) and saves the model. */
static void train_in_pieces(const struct inmo_dataset *data, struct inmo_train_options options, const int *steps,
                            size_t count, const char *path)
{
    struct inmo_error error = {0};
    struct inmo_train_report report = {0};
    struct inmo_model *model = NULL;
    options.checkpoint = "checkpoint";
    unlink("checkpoint");
    for (size_t piece = 0; piece < count; piece++) {
        struct step_limit left = {steps[piece], 0};
        struct inmo_hooks hooks = {.context = &left, .progress = note_stage, .interrupted = stop_after_steps};
        options.resume = piece > 0;
        must_fail(inmo_train(data, &options, &hooks, &model, &report, &error), INMO_INTERRUPTED,
                  "stopped on request");
        assert_null(model);
        assert_int_equal(access("checkpoint", F_OK), 0);
        inmo_set_threads(1 + (piece == 0)); /* and the second piece has another number of threads */
    }
    inmo_set_threads(1);
    options.resume = 1;
    must(inmo_train(data, &options, NULL, &model, &report, &error));
    assert_int_equal(report.steps % report.epochs, 0); /* the earlier pieces count */
    must(inmo_model_save(model, path, 1, &error));
    inmo_model_free(model);
}

/* ---- The same bytes -------------------------------------------------------------------------------------- */

static void test_interrupted(void **state)
{
    /* In the middle of an epoch; over its end; at once; then exactly to the end of epoch 1. */
    static const int steps[] = {3, 9, 0, 10};
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int m = 0; m < TRAINED + 2; m++) {
        struct inmo_train_options options = small_options(all_models[m % TRAINED]);
        options.item_templates = 0.5;
        options.epochs = 4;
        if (m >= TRAINED) { /* twice more with the other losses, start and schedule */
            options.loss = m == TRAINED ? "softmax" : "listwise";
            options.batch = m == TRAINED ? 32 : 5; /* listwise: of the 48 users, so ten steps an epoch */
            options.negatives = 50;
            options.start = "spectral";
            options.schedule = "cosine";
        }
        train_and_save(data, &options, "whole");
        train_in_pieces(data, options, steps, COUNT(steps), "pieces");
        assert_true(same_files("whole", "pieces"));
        train_in_pieces(data, options, steps, 1, "pieces");
        assert_true(same_files("whole", "pieces"));
    }
    inmo_dataset_free(data);
}

/* Also when the run stops by itself, and validates only every third epoch. */
static void test_interrupted_before_patience(void **state)
{
    static const int steps[] = {5, 2 * STEPS, STEPS, STEPS + 1};
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int eval_every = 1; eval_every <= 3; eval_every += 2) {
        struct inmo_train_options options = small_options("inmo-mf");
        options.learning_rate = 0.2;
        options.epochs = 400;
        options.patience = 3;
        options.eval_every = eval_every;
        train_and_save(data, &options, "whole");
        train_in_pieces(data, options, steps, COUNT(steps), "pieces");
        assert_true(same_files("whole", "pieces"));
    }
    inmo_dataset_free(data);
}

/* A run that is killed leaves the last checkpoint it wrote. With one after every step, what is there when step
 * number `at` begins is kept aside as if the run had ended there. */
struct killing {
    struct step_limit limit; /* only for its stage */
    int at, asked;
};

static int keep_checkpoint(void *context)
{
    struct killing *killing = context;
    if (killing->limit.is_training && killing->asked++ == killing->at) {
        struct bytes bytes = read_bytes("checkpoint");
        write_bytes("left", bytes.at, bytes.count);
        free(bytes.at);
    }
    return 0;
}

static void test_killed(void **state)
{
    /* STEPS: the last step of an epoch is done, and its end (validation, record) is not. */
    static const int at[] = {1, STEPS, STEPS + 5, 1, 2 * STEPS - 1, 2 * STEPS, 3 * STEPS + 5};
    struct inmo_dataset *data = small_data();
    (void)state;
    for (size_t n = 0; n < COUNT(at); n++) {
        struct inmo_error error = {0};
        struct killing killing = {.at = at[n]};
        struct inmo_hooks hooks = {.context = &killing, .progress = note_stage, .interrupted = keep_checkpoint};
        /* the last four: in both stages, before the last step of the first and after it */
        struct inmo_train_options options = small_options(n < 3 ? "inmo-lightgcn" : "idcf-lightgcn");
        struct inmo_model *model = NULL;
        options.epochs = 2;
        options.checkpoint = "checkpoint";
        options.checkpoint_seconds = 0;
        unlink("checkpoint");
        must(inmo_train(data, &options, &hooks, &model, NULL, &error));
        must(inmo_model_save(model, "whole", 1, &error));
        inmo_model_free(model);
        options.checkpoint = "left";
        options.checkpoint_seconds = 60;
        options.resume = 1;
        train_and_save(data, &options, "resumed");
        assert_true(same_files("whole", "resumed"));
    }
    inmo_dataset_free(data);
}

/* A run that has ended can be made longer; one that ended early by the clock, ended. */
static void test_going_farther(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = small_options("lightgcn");
    struct inmo_error error = {0};
    struct inmo_train_report report;
    struct inmo_model *model = NULL;
    (void)state;
    options.epochs = 5;
    train_and_save(data, &options, "five");
    unlink("checkpoint");
    options.checkpoint = "checkpoint";
    options.resume = 1; /* nothing to resume yet: starts anew */
    options.max_seconds = 1e-9;
    must(inmo_train(data, &options, NULL, &model, &report, &error));
    assert_string_equal(report.stopped, "max-seconds");
    assert_int_equal(report.steps, 0);
    inmo_model_free(model);
    options.max_seconds = 0;
    options.epochs = 2;
    train_and_save(data, &options, "two");
    assert_false(same_files("two", "five"));
    options.epochs = 5;
    options.patience = 49; /* may differ, too */
    train_and_save(data, &options, "farther");
    options.patience = 50;
    train_and_save(data, &options, "farther");
    assert_true(same_files("farther", "five"));
    inmo_dataset_free(data);
}

/* Without a file for checkpoints an interrupted run is lost, and says that it was interrupted. */
static void test_no_checkpoint(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = small_options("mf");
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct step_limit left = {5, 0};
    struct inmo_hooks hooks = {.context = &left, .progress = note_stage, .interrupted = stop_after_steps};
    (void)state;
    must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED, "epoch 1");
    options.resume = 1;
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_USAGE, "`resume`");
    options.resume = 0;
    options.checkpoint = "no/such/folder/checkpoint";
    left = (struct step_limit){5, 0};
    must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_IO, "no/such/folder");
    assert_null(model);
    inmo_dataset_free(data);
}

/* ---- What is refused ------------------------------------------------------------------------------------- */

/* Leaves a checkpoint of five steps and gives the options that it belongs to. */
static struct inmo_train_options leave_checkpoint(const struct inmo_dataset *data, const char *name,
                                                  const char *loss)
{
    struct inmo_train_options options = small_options(name);
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct step_limit left = {5, 0};
    struct inmo_hooks hooks = {.context = &left, .progress = note_stage, .interrupted = stop_after_steps};
    options.loss = loss;
    options.batch = strcmp(loss, "listwise") == 0 ? 5 : options.batch;
    options.checkpoint = "checkpoint";
    must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED, "stopped");
    options.resume = 1;
    return options;
}

/* Gives the option another valid value: for a word the last of its choices, or one before. Closed forms, which
 * have no checkpoints, are passed over. */
static void change(const struct inmo_setting *setting, struct inmo_train_options *options, char *word)
{
    char *field = (char *)options + setting->offset;
    switch (setting->type) {
    case 'i': *(int *)field += 1; break;
    case 'u': *(uint64_t *)field += 1; break;
    case 'r':
        *(double *)field = *(double *)field > 0.5 || *(double *)field < -2 ? 0.5 : *(double *)field + 0.25;
        break;
    case 's': {
        const char *current = *(const char **)field, *end = setting->choices + strlen(setting->choices), *begin;
        do {
            begin = end;
            while (begin > setting->choices && begin[-1] != '|')
                begin--;
            snprintf(word, 64, "%.*s", (int)(end - begin), begin);
            end = begin - 1;
        } while (strcmp(word, current) == 0 || strcmp(word, "popular") == 0 || strcmp(word, "gf-cf") == 0);
        *(const char **)field = word;
        break;
    }
    default: fail_msg("%s has a type this test does not know", setting->name);
    }
}

static void test_other_options(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = leave_checkpoint(data, "inmo-lightgcn", "bpr");
    struct bytes before = read_bytes("checkpoint"), after;
    size_t count;
    const struct inmo_setting *settings = inmo_train_settings(&count);
    (void)state;
    for (size_t n = 0; n < inmo_train_settings_of_model(); n++) {
        struct inmo_error error = {0};
        struct inmo_train_options other = options;
        struct inmo_model *model = NULL;
        char word[64];
        if (inmo_train_setting_may_differ(settings + n, &options))
            continue;
        change(settings + n, &other, word);
        if (strcmp(settings[n].name, "l2-on") == 0) /* refused for this model anyway */
            continue;
        must_fail(inmo_train(data, &other, NULL, &model, NULL, &error), INMO_FORMAT, "with other options");
        assert_null(model);
    }
    after = read_bytes("checkpoint"); /* refused, not overwritten */
    assert_int_equal(before.count, after.count);
    assert_memory_equal(before.at, after.at, before.count);
    free(after.at);
    free(before.at);
    inmo_dataset_free(data);
}

/* One item of one user differs, in the training part or in the validation part. */
static void test_other_data(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = leave_checkpoint(data, "mf", "bpr");
    (void)state;
    for (int validation = 0; validation < 2; validation++) {
        struct inmo_error error = {0};
        struct inmo_dataset other = *data;
        struct inmo_csr *part = validation ? &other.valid : &other.train;
        size_t count = (size_t)inmo_csr_count(part);
        int32_t *column = malloc(count * sizeof *column);
        struct inmo_model *model = NULL;
        assert_non_null(column);
        memcpy(column, part->column, count * sizeof *column);
        part->column = column;
        column[count - 1] += column[count - 1] + 1 < part->columns ? 1 : -1;
        must_fail(inmo_train(&other, &options, NULL, &model, NULL, &error), INMO_FORMAT, "other data");
        assert_null(model);
        free(column);
    }
    inmo_dataset_free(data);
}

static void test_damaged(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = leave_checkpoint(data, "mf", "bpr");
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct bytes bytes = read_bytes("checkpoint");
    (void)state;
    for (size_t at = 0; at < bytes.count; at += bytes.count / 40) {
        bytes.at[at] ^= 0x10;
        write_bytes("checkpoint", bytes.at, bytes.count);
        bytes.at[at] ^= 0x10;
        must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_FORMAT, "checkpoint");
        write_bytes("checkpoint", bytes.at, at);
        must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_FORMAT, "checkpoint");
    }
    free(bytes.at);
    options.checkpoint = NULL;
    options.resume = 0;
    train_and_save(data, &options, "model");
    options.checkpoint = "model"; /* a file of inmo, of another kind */
    options.resume = 1;
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_FORMAT, "kind \"model\"");
    assert_null(model);
    inmo_dataset_free(data);
}

/* ---- Forged: the checksums are right, what they cover is not ------------------------------------------------ */

static const char *const keys[] = {"model",      "fingerprint", "epoch",      "step",   "loss_sum",
                                   "final_loss", "best_epoch",  "best_score", "record", "epochs"};

/* Writes checkpoint again as forged, with the value of one key (NULL: left out) and one array of other content. */
static void forge(const char *key, const char *value, const char *array, const void *content)
{
    struct inmo_error error = {0};
    struct inmo_tensorfile *file = NULL;
    struct inmo_metadata metadata[COUNT(keys)];
    struct inmo_tensor tensor[8];
    size_t count, kept = 0, changed = 0;
    must(inmo_tensorfile_open("checkpoint", "checkpoint", 2, &file, &error));
    for (size_t n = 0; n < COUNT(keys); n++) {
        int is = key && strcmp(keys[n], key) == 0;
        metadata[kept] = (struct inmo_metadata){keys[n], is ? value : inmo_tensorfile_metadata(file, keys[n])};
        kept += metadata[kept].value != NULL;
        changed += (size_t)is;
    }
    count = inmo_tensorfile_count(file);
    assert_true(count <= COUNT(tensor));
    for (size_t n = 0; n < count; n++) {
        tensor[n] = *inmo_tensorfile_at(file, n);
        if (array && strcmp(tensor[n].name, array) == 0) {
            tensor[n].data = content;
            changed++;
        }
    }
    assert_int_equal(changed, 1);
    must(inmo_tensorfile_write("forged", 1, "checkpoint", 2, metadata, kept, tensor, count, &error));
    inmo_tensorfile_close(file);
}

static void forged_is_refused(const struct inmo_dataset *data, struct inmo_train_options options, const char *what)
{
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    options.checkpoint = "forged";
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_FORMAT, "forged");
    if (!strstr(error.message, what))
        fail_msg("\"%s\" does not name %s", error.message, what);
    assert_null(model);
}

static void test_forged_numbers(void **state)
{
    static const char *const wrong[][2] = {
        {"epoch", "nan"},        {"epoch", "-1"},       {"epoch", "1"},        {"epoch", "1e9"},
        {"epoch", "0x"},         {"epoch", ""},         {"epoch", NULL},       {"epoch", "99999999999999999999"},
        {"epoch", "2147483647"}, {"step", "1e15"},      {"step", "-5"},        {"step", "1000000000000000"},
        {"step", "nan"},         {"step", "12"},        {"step", NULL},        {"step", "9223372036854775807"},
        {"loss_sum", "nan"},     {"loss_sum", "inf"},   {"loss_sum", "word"},  {"loss_sum", NULL},
        {"final_loss", "inf"},   {"final_loss", "1"},   {"final_loss", "x"},   {"final_loss", NULL},
        {"best_epoch", "0"},     {"best_epoch", "-2"},  {"best_epoch", "nan"}, {"best_epoch", NULL},
        {"best_score", "0.5"},   {"best_score", "inf"}, {"best_score", "x"},   {"best_score", NULL},
        {"record", "{}"},        {"record", "["},       {"record", "1"},       {"record", NULL},
    };
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int m = 0; m < 2; m++) {
        struct inmo_train_options options = leave_checkpoint(data, m ? "inmo-lightgcn" : "mf", "bpr");
        for (size_t n = 0; n < COUNT(wrong); n++) {
            forge(wrong[n][0], wrong[n][1], NULL, NULL);
            forged_is_refused(data, options, wrong[n][0]);
        }
        forge("model", "ease", NULL, NULL); /* says nothing that the fingerprint does not */
        forge("fingerprint", "0", NULL, NULL);
        forged_is_refused(data, options, "other options");
        forge("fingerprint", NULL, NULL, NULL);
        forged_is_refused(data, options, "other options");
    }
    inmo_dataset_free(data);
}

/* After an epoch there is a best one, a loss and a record, and they are checked as well. */
static void test_forged_numbers_of_a_later_epoch(void **state)
{
    static const char *const wrong[][2] = {
        {"epoch", "0"},        {"epoch", "3"},      {"step", "10"},        {"step", "34"},
        {"final_loss", "nan"}, {"best_epoch", "2"}, {"best_score", "nan"}, {"best_score", "2"},
        {"best_score", "-1"},  {"record", ""},      {"record", "1, 2"},    {"record", "{}, {}, {}"},
    };
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = small_options("mf");
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct step_limit left = {2 * STEPS + 1, 0};
    struct inmo_hooks hooks = {.context = &left, .progress = note_stage, .interrupted = stop_after_steps};
    (void)state;
    options.checkpoint = "checkpoint";
    must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED, "epoch 3");
    options.resume = 1;
    for (size_t n = 0; n < COUNT(wrong); n++) {
        forge(wrong[n][0], wrong[n][1], NULL, NULL);
        forged_is_refused(data, options, wrong[n][0]);
    }
    inmo_dataset_free(data);
}

static void test_forged_arrays(void **state)
{
    static const int32_t touched[] = {-1, 6, INT32_MAX, INT32_MIN}; /* five updates were done */
    static const double rates[] = {NAN, -1, INFINITY};
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = leave_checkpoint(data, "mf", "bpr");
    size_t rows = (size_t)(data->users.count + data->items.count);
    int32_t *number = calloc(rows, sizeof *number);
    double *rate = calloc(INMO_LAZY_RING, sizeof *rate);
    (void)state;
    assert_non_null(number);
    assert_non_null(rate);
    for (size_t n = 0; n < COUNT(touched); n++) {
        number[rows - 1] = touched[n];
        forge(NULL, NULL, "adam.touched", number);
        forged_is_refused(data, options, "adam.touched");
    }
    for (size_t n = 0; n < COUNT(rates); n++) {
        rate[INMO_LAZY_RING - 1] = rates[n];
        forge(NULL, NULL, "adam.rate", rate);
        forged_is_refused(data, options, "adam.rate");
    }
    free(rate);
    free(number);
    inmo_dataset_free(data);
}

/* A schedule that falls over the epochs cannot be stretched afterwards; the message says so, and what to do. */
static void test_more_epochs_of_a_schedule(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = small_options("mf");
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct step_limit left = {5, 0};
    struct inmo_hooks hooks = {.context = &left, .progress = note_stage, .interrupted = stop_after_steps};
    (void)state;
    options.schedule = "cosine";
    options.epochs = 4;
    options.checkpoint = "checkpoint";
    must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED, "stopped");
    options.resume = 1;
    options.epochs = 6;
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_FORMAT, "`resume` needs `epochs` 4");
    assert_non_null(strstr(error.message, "`schedule` cosine"));
    options.epochs = 4;
    options.l2 += 1;
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_FORMAT, "(only `patience`");
    inmo_dataset_free(data);
}

/* ---- Numbers that are not finite --------------------------------------------------------------------------- */

/* No options within their bounds make a float overflow in a few steps, so the run is given a parameter that is no
 * number: a checkpoint, written again with one changed. */
static void test_not_finite(void **state)
{
    static const char *const losses[] = {"bpr", "softmax", "listwise"};
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int m = 0; m < 3 * TRAINED; m++) {
        struct inmo_train_options options = leave_checkpoint(data, all_models[m % TRAINED], losses[m / TRAINED]);
        struct inmo_error error = {0};
        struct inmo_tensorfile *file = NULL;
        struct inmo_tensor tensor;
        struct inmo_model *model = NULL;
        size_t size;
        float *parameter;
        must(inmo_tensorfile_open("checkpoint", "checkpoint", 2, &file, &error));
        tensor = *inmo_tensorfile_at(file, 0);
        assert_string_equal(tensor.name, "parameter");
        size = (size_t)(tensor.rows * tensor.columns);
        parameter = malloc(size * sizeof *parameter);
        assert_non_null(parameter);
        memcpy(parameter, tensor.data, size * sizeof *parameter);
        inmo_tensorfile_close(file);
        for (size_t n = 0; n < size; n += 6) /* one of each row, so that the next batch meets it */
            parameter[n] = NAN;
        forge(NULL, NULL, "parameter", parameter);
        free(parameter);
        options.checkpoint = "forged";
        must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_NUMERIC, "`learning-rate`");
        assert_non_null(strstr(error.message, "epoch 1 (step 5)"));
        assert_null(model);
    }
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupted),    cmocka_unit_test(test_interrupted_before_patience),
        cmocka_unit_test(test_killed),         cmocka_unit_test(test_going_farther),
        cmocka_unit_test(test_no_checkpoint),  cmocka_unit_test(test_other_options),
        cmocka_unit_test(test_other_data),     cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_forged_numbers), cmocka_unit_test(test_forged_numbers_of_a_later_epoch),
        cmocka_unit_test(test_forged_arrays),  cmocka_unit_test(test_more_epochs_of_a_schedule),
        cmocka_unit_test(test_not_finite),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
