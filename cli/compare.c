/* compare.c - inmo compare: trains models or takes model files, and says which is best for a data set.
 *
 * Every training is a process of its own (inmo train --json), so its time and memory are its own, and what fails or
 * needs too much memory takes nothing else with it. DIR holds the models and what their trainings printed; a second
 * call trains only what is not there. The best is chosen by the validation part; the test part is only reported. */
#include "compare.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT(member) offsetof(struct compare_settings, member)
static const struct inmo_setting rows[] = {
    {"output", 's', AT(output), 0, 0, NULL, "Output", "DIR",
     "Directory for the models, compare.html and compare.json; a second call goes on there."},
    {"models", 's', AT(models), 0, 0, NULL, "Models", "A,B,C",
     "Models to train, each with its defaults; none: only compare the files given."},
    {"max-seconds", 'r', AT(max_seconds), 0, 1e9, NULL, "Models", "S",
     "Limit of each training; 0: none. With a limit, results depend on the machine."},
    {"k", 'i', AT(k), 1, 1e6, NULL, "Scores", "N", "Length of the lists."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct compare_settings *settings = structure;
    settings->models = "inmo-lightgcn,ials,ease,item-knn,popular";
    settings->k = 20;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_data(options, &settings->data, NULL);
    cli_add_common(options, &settings->common, CLI_JSON | CLI_FORCE);
}

/* ---- The directory ------------------------------------------------------------------------------------------- */

/* What the comparison is of; a directory with another one is refused. */
static enum inmo_status check_identity(const struct compare_settings *settings, const struct inmo_dataset *dataset,
                                       struct inmo_error *error)
{
    char *path = cli_format("%s/comparison.json", settings->output);
    struct inmo_dataset_info info;
    struct cli_output file = {0};
    json_t *is, *was;
    enum inmo_status status = INMO_OK;

    inmo_dataset_info(dataset, &info);
    is = json_pack("{so sI sI sI so}", "made_from", cli_json_parsed(info.description), "train",
                   (json_int_t)info.train, "valid", (json_int_t)info.valid, "test", (json_int_t)info.test,
                   "max_seconds", cli_json_number(settings->max_seconds));
    was = json_load_file(path, 0, NULL);
    if (was && !json_equal(was, is))
        status =
            cli_fail(error, INMO_EXISTS,
                     "%s has a comparison on other data or with another --max-seconds; another directory keeps "
                     "them apart",
                     settings->output);
    if (!was) {
        status = cli_output_open(&file, path, 1, error);
        if (!status) {
            cli_json_put(file.stream, json_incref(is), 1);
            status = cli_output_commit(&file, 1, error);
        }
        cli_output_abandon(&file);
    }
    json_decref(was);
    json_decref(is);
    free(path);
    return status;
}

/* Opens DATA. A raw log is prepared once, in DIR/data, for all trainings. */
static enum inmo_status open_data(const struct cli_options *options, struct compare_settings *settings,
                                  char **directory, struct inmo_dataset **dataset, struct inmo_error *error)
{
    const char *path = options->argument.value[0];
    struct inmo_dataset_info info;
    enum inmo_status status;
    struct stat found;
    int raw = 0;

    if (mkdir(settings->output, 0777) && errno != EEXIST)
        return cli_fail(error, INMO_IO, "cannot make %s: %s", settings->output, strerror(errno));
    status = cli_open_data(options, path, &settings->data, dataset, &raw, error);
    if (!status) { /* before hours of training */
        inmo_dataset_info(*dataset, &info);
        if (info.valid == 0 || info.test == 0)
            status = cli_fail(error, INMO_INPUT, "the data set has no %s interactions to compare by",
                              info.test == 0 ? "test" : "validation");
    }
    if (!status)
        status = check_identity(settings, *dataset, error);
    if (!status)
        *directory = raw ? cli_format("%s/data", settings->output) : cli_copy(path);
    if (!status && raw && stat(*directory, &found))
        status = inmo_dataset_save(*dataset, *directory, 0, error);
    return status;
}

/* ---- Training ------------------------------------------------------------------------------------------------ */

/* Waits for the child; a request to stop is passed on, so that it writes its checkpoint. */
static int wait_for(pid_t child)
{
    int told = 0, how = 0;
    while (waitpid(child, &how, WNOHANG) == 0) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        if (cli_interrupted() && !told)
            told = !kill(child, SIGTERM);
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : INMO_MEMORY; /* killed: most often for want of memory */
}

/* Runs inmo train with its standard output into a file; returns its exit code. */
static int train(const struct compare_settings *settings, const char *data, const struct contestant *one)
{
    char *checkpoint = cli_format("%s.checkpoint", one->model), *aside = cli_format("%s.part", one->report);
    char *threads = cli_format("%d", settings->common.threads), *seconds = cli_format("%g", settings->max_seconds);
    const char *words[24] = {"inmo", "train", data, "-o", one->model, "--model", one->name, "--json"};
    int count = 8, code = INMO_IO, output;
    pid_t child;

    words[count++] = "--force";
    /* all learn from the same interactions; by default only some models take in validation's */
    words[count++] = "--refit";
    words[count++] = "none";
    words[count++] = "--threads";
    words[count++] = threads;
    words[count++] = "--max-seconds";
    words[count++] = seconds;
    if (settings->common.quiet)
        words[count++] = "--quiet";
    if (settings->common.log_times)
        words[count++] = "--log-times";
    if (!access(checkpoint, F_OK))
        words[count++] = "--resume";
    output = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    fflush(NULL);
    child = output < 0 ? -1 : fork();
    if (child == 0) {
        dup2(output, STDOUT_FILENO);
        setenv(CLI_KEPT_SAID, "1", 1);
        execv("/proc/self/exe", (char *const *)words);
        _exit(INMO_INTERNAL);
    }
    if (child > 0)
        code = wait_for(child);
    if (output >= 0)
        close(output);
    if (!code && rename(aside, one->report))
        code = INMO_IO;
    if (code)
        unlink(aside);
    free(seconds);
    free(threads);
    free(aside);
    free(checkpoint);
    return code;
}

static int is_there(const struct contestant *one)
{
    return !access(one->model, F_OK) && (!one->report || !access(one->report, F_OK));
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static void list_all(const struct cli_options *options, const struct compare_settings *settings,
                     struct cli_strings *names, struct contestant *all)
{
    for (size_t n = 0; n < names->count; n++) {
        all[n].name = cli_copy(names->value[n]);
        all[n].model = cli_format("%s/%s.inmo", settings->output, names->value[n]);
        all[n].report = cli_format("%s/%s.json", settings->output, names->value[n]);
    }
    for (size_t n = 1; n < options->argument.count; n++) {
        struct contestant *one = &all[names->count + n - 1];
        one->name = cli_copy(options->argument.value[n]);
        one->model = cli_copy(options->argument.value[n]);
    }
}

static enum inmo_status check_names(const struct cli_strings *names, struct inmo_error *error)
{
    struct inmo_train_options train;
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < names->count && !status; n++) {
        status = cli_check_model(names->value[n], "fast", &train, error);
        for (size_t m = 0; m < n && !status; m++)
            if (!strcmp(names->value[n], names->value[m]))
                status = cli_fail(error, INMO_USAGE, "--models: %s is there twice", names->value[n]);
    }
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct compare_settings *settings = structure;
    struct cli_strings names = {0};
    struct contestant *all;
    struct inmo_dataset *dataset = NULL;
    struct inmo_dataset_info info;
    struct inmo_lock lock = {-1, NULL};
    char *data = NULL;
    size_t count;
    json_t *models = json_array(), *result;
    enum inmo_status status;

    if (strcmp(settings->models, "none"))
        cli_split(settings->models, ',', &names);
    count = names.count + options->argument.count - 1;
    all = cli_allocate(count + 1, sizeof *all);
    status = check_names(&names, error);
    if (!status && !count)
        status = cli_fail(error, INMO_USAGE, "nothing to compare: give model files or --models");
    if (!status)
        status = inmo_lock_output(settings->output, &lock, error);
    if (!status)
        status = open_data(options, settings, &data, &dataset, error);
    if (!status)
        cli_say_kept(dataset);
    list_all(options, settings, &names, all);
    for (size_t n = 0; n < count && !status; n++) {
        struct inmo_error problem = {0};
        enum inmo_status code = INMO_OK;
        all[n].row = json_pack("{so so}", "name", cli_json_text(all[n].name), "file", cli_json_text(all[n].model));
        if (n < names.count && !is_there(&all[n])) {
            cli_note(INMO_NOTE, "training %s", all[n].name);
            code = (enum inmo_status)train(settings, data, &all[n]);
            if (code)
                cli_fail(&problem, code, "not trained: %s", inmo_status_meaning(code));
        } else if (n < names.count) {
            cli_note(INMO_NOTE, "%s is there", all[n].model);
        }
        if (code == INMO_INTERRUPTED || cli_interrupted()) {
            status = cli_fail(error, INMO_INTERRUPTED, "stopped on request while %s was trained", all[n].name);
            json_decref(all[n].row);
            all[n].row = NULL;
            break;
        }
        if (!code)
            code = cli_compare_judge(&all[n], dataset, settings, &problem);
        if (code == INMO_INTERRUPTED)
            status = cli_fail(error, INMO_INTERRUPTED, "%s", problem.message);
        else if (code)
            json_object_set_new(all[n].row, "error", cli_json_text(problem.message));
        json_array_append_new(models, all[n].row);
    }
    cli_hooks_end();
    if (!status) {
        inmo_dataset_info(dataset, &info);
        status = cli_compare_score(all, count, info.users, error);
    }
    if (!status) {
        result = json_pack("{so si si si sI sI sI sO}", "data", cli_json_text(options->argument.value[0]), "k",
                           settings->k, "users", (int)info.users, "items", (int)info.items, "train",
                           (json_int_t)info.train, "valid", (json_int_t)info.valid, "test", (json_int_t)info.test,
                           "models", models);
        status = cli_compare_write(settings, result, error);
        if (!status && settings->common.json)
            cli_json_put(stdout, json_incref(result), 1);
        else if (!status)
            cli_compare_print(settings, models);
        json_decref(result);
    } else if (status == INMO_INTERRUPTED) {
        cli_print_error(error);
        cli_print_go_on(options, NULL);
    }
    for (size_t n = 0; n < count; n++) {
        free(all[n].user_ndcg);
        free(all[n].report);
        free(all[n].model);
        free(all[n].name);
    }
    json_decref(models);
    free(all);
    free(data);
    inmo_dataset_free(dataset);
    inmo_unlock_output(&lock);
    cli_strings_free(&names, 1);
    return status;
}

const struct cli_command cli_compare = {
    .name = "compare",
    .arguments = "DATA [MODEL...]",
    .summary = "train models, or take model files, and say which is best for a data set",
    .description =
        "Trains the --models on DATA, a prepared directory or a raw log (split 70/10/20), adds the model files "
        "given, "
        "and prints for each: NDCG on the validation part, by which the best is chosen; NDCG on the test part with "
        "its "
        "95 % interval; how far it is behind the best over the same users, with the p-value of a paired test for "
        "several comparisons; recall, coverage, novelty, diversity; seconds, memory and file size of its "
        "training.\n\nDIR gets the "
        "models, "
        "compare.json and compare.html, a page with plots. Each training is a process of its own. After Ctrl-C or "
        "kill "
        "-9 the same command goes on and repeats no finished training; more --models may be asked for later. A "
        "model "
        "file that was trained on test or validation interactions of DATA is not judged.",
    .examples = "  inmo compare ratings.csv -o compared\n"
                "  inmo compare data -o compared --models inmo-lightgcn,ials,ease --k 10\n"
                "  inmo compare data yesterday.inmo today.inmo -o compared --models none\n",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .required = "output",
    .settings_size = sizeof(struct compare_settings),
    .declare = declare,
    .run = run,
};
