/* test_locale.c - a program under a locale that writes 0,5 gets the same bytes, reads the same numbers and sees the
 * same sentences as one under the C locale: data sets, checkpoints, model files, settings, searches, findings.
 *
 * The locale is made by localedef (Debian: package locales) in a temporary folder; without it the test is skipped
 * and says so. */
#include "base/number.h"
#include "base/text.h"
#include "lab/reproduce.h"
#include "support.h"

#include <locale.h>

#define GERMAN "de_DE.UTF-8"

/* 1: LC_ALL is now the German locale, and it has a decimal comma. */
static int become_german(void)
{
    char command[600];
    if (setlocale(LC_ALL, GERMAN) == NULL) {
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/" GERMAN "' >/dev/null 2>&1",
                 test_directory);
        setenv("LOCPATH", test_directory, 1);
        if (system(command) == -1 || setlocale(LC_ALL, GERMAN) == NULL)
            return 0;
    }
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

#define need_german()                                                                                              \
    do {                                                                                                           \
        if (!become_german()) {                                                                                    \
            print_message("skipped: no locale " GERMAN " and no localedef that makes it\n");                       \
            skip();                                                                                                \
        }                                                                                                          \
    } while (0)

static int leave_german(void **state)
{
    (void)state;
    return setlocale(LC_ALL, "C") ? 0 : -1;
}

static void test_numbers(void **state)
{
    char text[64];
    char *end = NULL;
    struct inmo_text json = {0};
    (void)state;
    need_german();
    snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5"); /* the test is of something */
    inmo_format(text, sizeof text, "%g %.3f", 0.5, 1.25);
    assert_string_equal(text, "0.5 1.250");
    assert_near(inmo_real("0.25x", &end), 0.25, 0);
    assert_string_equal(end, "x");
    inmo_text_number(&json, 1e-3, 17);
    inmo_text_format(&json, " %.2f", 2.5);
    assert_string_equal(json.data, "0.001 2.50");
    inmo_text_free(&json);
    snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5"); /* and the program keeps its locale */
}

/* Everything that writes or reads a number, with files called NAME.* */
static void run_all(const char *name)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(40, 30, 8, "65.5/12.5/22"), *opened = NULL;
    struct inmo_train_options options = small_options("inmo-lightgcn");
    struct inmo_tune_options tune;
    struct inmo_eval_options eval;
    struct inmo_model *model, *loaded = NULL;
    struct inmo_tune_report *found = NULL;
    struct inmo_report *report = NULL;
    struct inmo_view *view = NULL;
    struct inmo_list *list = NULL;
    struct inmo_query query;
    const struct inmo_setting *setting;
    char file[4][64], text[128];
    size_t count;
    FILE *out;

    snprintf(file[0], sizeof *file, "%s.data", name);
    snprintf(file[1], sizeof *file, "%s.model", name);
    snprintf(file[2], sizeof *file, "%s.checkpoint", name);
    snprintf(file[3], sizeof *file, "%s.text", name);
    must(inmo_dataset_save(data, file[0], 0, &error));
    must(inmo_dataset_open(file[0], &opened, &error));
    out = fopen(file[3], "wb");
    assert_non_null(out);

    /* Settings from text and back. */
    setting = inmo_train_settings(&count);
    for (size_t n = 0; n < count; n++) {
        if (!strcmp(setting[n].name, "learning-rate"))
            assert_true(inmo_setting_set(&setting[n], &options, "0.0125"));
        if (!strcmp(setting[n].name, "walks"))
            assert_true(inmo_setting_set(&setting[n], &options, "1.5"));
        inmo_setting_text(&setting[n], &options, text, sizeof text);
        fprintf(out, "%s %s", setting[n].name, text);
        inmo_setting_expected(&setting[n], text, sizeof text);
        fprintf(out, " %s\n", text);
    }
    assert_near(options.learning_rate, 0.0125, 0);
    assert_near(options.walks, 1.5, 0);

    /* Train in two pieces, through a checkpoint. */
    options.checkpoint = file[2];
    options.checkpoint_seconds = 0;
    options.epochs = 2;
    inmo_model_free(trained(opened, &options));
    options.resume = 1;
    options.epochs = 4;
    model = trained(opened, &options);
    must(inmo_model_save(model, file[1], 0, &error));
    must(inmo_model_load(file[1], &loaded, &error));

    inmo_eval_options_init(&eval);
    must(inmo_evaluate(loaded, opened, &eval, NULL, &report, &error));
    inmo_query_init(&query);
    query.user = "user-3";
    must(inmo_view_create(loaded, NULL, &view, &error));
    must(inmo_recommend(view, &query, &list, &error));
    fwrite(report->group[0].at, sizeof *report->group[0].at, 1, out);
    for (size_t n = 0; n < list->count; n++)
        fwrite(&list->entry[n].score, sizeof list->entry[n].score, 1, out);

    inmo_tune_options_init(&tune);
    tune.search = "learning-rate=1.5e-3..3.5e-2:log,dropout=0.25..0.75";
    tune.trials = 2;
    options = small_options("inmo-mf");
    must(inmo_tune(opened, &options, &tune, NULL, NULL, &found, &error));
    for (size_t n = 0; n < found->trial_count; n++)
        fprintf(out, "%s %s\n", found->trial[n].value[0], found->trial[n].value[1]);

    options.learning_rate = -0.5;
    assert_int_equal(inmo_train(opened, &options, NULL, &model, NULL, &error), INMO_USAGE);
    fprintf(out, "%s\n", error.message);
    fclose(out);

    inmo_tune_report_free(found);
    inmo_list_free(list);
    inmo_view_free(view);
    inmo_report_free(report);
    inmo_model_free(loaded);
    inmo_model_free(model);
    inmo_dataset_free(opened);
    inmo_dataset_free(data);
}

static void test_same_bytes(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C");
    run_all("plain");
    need_german();
    run_all("german");
    assert_true(same_files("plain.text", "german.text"));
    assert_true(same_files("plain.model", "german.model"));
    assert_true(same_files("plain.data/data.safetensors", "german.data/data.safetensors"));
    assert_true(same_files("plain.data/meta.json", "german.data/meta.json"));
}

/* A model written under one locale is read under the other. */
static void test_crossed(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(30, 20, 6, "80/20/0");
    struct inmo_train_options options = small_options("inmo-lightgcn");
    struct inmo_model *model, *loaded = NULL;
    struct inmo_model_info info[2];
    (void)state;
    options.walks = 2.5;
    options.popularity = -0.25;
    setlocale(LC_ALL, "C");
    model = trained(data, &options);
    must(inmo_model_save(model, "crossed.model", 0, &error));
    need_german();
    must(inmo_model_load("crossed.model", &loaded, &error));
    must(inmo_model_save(loaded, "again.model", 0, &error));
    assert_true(same_files("crossed.model", "again.model"));
    inmo_model_info(model, &info[0]);
    inmo_model_info(loaded, &info[1]);
    assert_string_equal(info[0].configuration, info[1].configuration);
    assert_string_equal(info[0].record, info[1].record);
    inmo_model_free(loaded);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* The program's report, and its files of runs. */
static void test_findings(void **state)
{
    static const char *const folder[] = {"lab-plain", "lab-german"};
    struct inmo_error error = {0};
    struct inmo_synth_options synth;
    struct inmo_reproduce_options options;
    struct inmo_reproduce_report *report[2] = {NULL, NULL};
    const char *end[2];
    (void)state;
    setlocale(LC_ALL, "C");
    inmo_synth_options_init(&synth);
    synth.interactions = 500;
    must(inmo_synth(&synth, "log.tsv", 0, NULL, &error));
    inmo_reproduce_options_init(&options);
    options.what = "table2";
    options.seeds = "1";
    options.only = "mf,inmo-mf";
    options.k_core = 0;
    options.epochs = 1;
    for (int n = 0; n < 2; n++) {
        struct inmo_read_options read;
        inmo_read_options_init(&read);
        if (n == 1)
            need_german();
        must(inmo_reproduce("log.tsv", &read, &options, folder[n], NULL, &report[n], &error));
    }
    for (int n = 0; n < 2; n++) { /* what comes then has seconds in it */
        end[n] = strstr(report[n]->markdown, "## Runs");
        assert_non_null(end[n]);
    }
    assert_int_equal(end[0] - report[0]->markdown, end[1] - report[1]->markdown);
    assert_memory_equal(report[0]->markdown, report[1]->markdown, (size_t)(end[0] - report[0]->markdown));
    inmo_reproduce_report_free(report[1]);
    inmo_reproduce_report_free(report[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_numbers, leave_german),
        cmocka_unit_test_teardown(test_same_bytes, leave_german),
        cmocka_unit_test_teardown(test_crossed, leave_german),
        cmocka_unit_test_teardown(test_findings, leave_german),
    };
    return cmocka_run_group_tests_name("locale", tests, enter_directory, leave_directory);
}
