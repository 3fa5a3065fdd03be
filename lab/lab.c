/* lab.c - inmo_reproduce: turns experiment names into rows, rows into runs, does each run once, and writes the
 * pages. */
#include "lab/lab.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/threads.h"
#include "lab/plan.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The data ------------------------------------------------------------------------------------------------ */

/* All interactions of a prepared directory, whatever their part; every seed splits them again. */
static enum inmo_status log_of_directory(const char *path, struct inmo_log **log, struct inmo_error *error)
{
    struct inmo_dataset *dataset = NULL;
    const char **user = NULL, **item = NULL;
    int64_t count = 0, at = 0;
    enum inmo_status status = inmo_dataset_open(path, &dataset, error);
    if (status)
        return status;
    const struct inmo_csr *part[] = {&dataset->train, &dataset->valid, &dataset->test, &dataset->later,
                                     &dataset->aside};
    const int parts = sizeof part / sizeof *part;
    for (int p = 0; p < parts; p++)
        count += part[p]->offset ? inmo_csr_count(part[p]) : 0;
    user = inmo_alloc((size_t)count, sizeof *user);
    item = inmo_alloc((size_t)count, sizeof *item);
    if (!user || !item)
        status = inmo_fail_memory(error, "the interactions");
    for (int32_t u = 0; u < dataset->users.count && !status; u++)
        for (int p = 0; p < parts; p++)
            for (int64_t e = part[p]->offset ? part[p]->offset[u] : 0;
                 part[p]->offset && e < part[p]->offset[u + 1]; e++) {
                user[at] = inmo_idmap_id(&dataset->users, u);
                item[at++] = inmo_idmap_id(&dataset->items, part[p]->column[e]);
            }
    if (!status)
        status = inmo_log_from_pairs((size_t)count, user, item, NULL, log, error);
    inmo_free(item);
    inmo_free(user);
    inmo_dataset_free(dataset);
    return status;
}

static enum inmo_status open_data(const char *path, const struct inmo_read_options *read, const char *new_choice,
                                  const struct inmo_hooks *hooks, struct inmo_log **log, struct inmo_error *error)
{
    struct stat found;
    int is_directory = stat(path, &found) == 0 && S_ISDIR(found.st_mode);
    if (is_directory && strcmp(new_choice, "last") == 0) /* its joined parts have another order than the log had */
        return inmo_fail(
            error, INMO_USAGE,
            "--new-choice last needs a log, whose order says who came last; found the prepared directory "
            "%s",
            path);
    if (is_directory)
        return log_of_directory(path, log, error);
    return inmo_log_read(&path, 1, read, hooks, log, error);
}

/* ---- The directory ------------------------------------------------------------------------------------------- */

static char *joined(const char *directory, const char *name)
{
    struct inmo_text path = {0};
    inmo_text_add(&path, directory, strlen(directory));
    inmo_text_add(&path, "/", 1);
    inmo_text_add(&path, name, strlen(name));
    return inmo_text_take(&path);
}

/* An existing directory must be empty or one of ours, because its pages are replaced. */
static enum inmo_status make_directory(const char *directory, const char *runs, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct stat found;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return inmo_fail_errno(error, "make", directory);
    if (stat(runs, &found) != 0) {
        struct dirent *entry;
        DIR *stream = opendir(directory);
        if (!stream)
            return inmo_fail_errno(error, "read", directory);
        while ((entry = readdir(stream)) && !status)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                status = inmo_fail(error, INMO_EXISTS,
                                   "%s exists already and was not made by inmo reproduce: it has %.100s "
                                   "and no runs",
                                   directory, entry->d_name);
        closedir(stream);
    }
    if (!status && mkdir(runs, 0777) != 0 && errno != EEXIST)
        status = inmo_fail_errno(error, "make", runs);
    return status;
}

static enum inmo_status write_page(const char *directory, const char *name, const char *content,
                                   struct inmo_error *error)
{
    struct inmo_new_file file = {0};
    char *path = joined(directory, name);
    enum inmo_status status =
        path && content ? inmo_new_file_open(&file, path, 1, error) : inmo_fail_memory(error, "the report");
    if (!status)
        status = inmo_new_file_write(&file, content, strlen(content), error);
    if (!status)
        status = inmo_new_file_commit(&file, error);
    inmo_new_file_abandon(&file);
    inmo_free(path);
    return status;
}

/* ---- The call ------------------------------------------------------------------------------------------------ */

/* What is allocated for a report. The public part comes first, so a pointer to it is a pointer to all. */
struct report {
    struct inmo_reproduce_report head;
    char *markdown, *json;
};

void inmo_reproduce_report_free(struct inmo_reproduce_report *report)
{
    struct report *whole = (struct report *)report;
    if (!whole)
        return;
    free(whole->json);
    inmo_free(whole->markdown);
    inmo_free(whole);
}

static enum inmo_status write_all(struct inmo_lab *lab, const char *directory, struct report *report,
                                  struct inmo_error *error)
{
    json_t *findings = NULL;
    char *html = NULL;
    enum inmo_status status = inmo_lab_findings(lab, &findings, error);
    if (!status) {
        report->markdown = inmo_lab_markdown(findings);
        report->json = json_dumps(findings, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
        html = inmo_lab_html(findings);
        status = write_page(directory, "report.md", report->markdown, error);
    }
    if (!status)
        status = write_page(directory, "report.html", html, error);
    if (!status)
        status = write_page(directory, "report.json", report->json, error);
    inmo_free(html);
    json_decref(findings);
    return status;
}

enum inmo_status inmo_reproduce(const char *data, const struct inmo_read_options *read,
                                const struct inmo_reproduce_options *options, const char *directory,
                                const struct inmo_hooks *hooks, struct inmo_reproduce_report **out,
                                struct inmo_error *error)
{
    struct inmo_reproduce_options filled;
    struct inmo_lab lab = {.options = &filled, .source = strrchr(data, '/') ? strrchr(data, '/') + 1 : data};
    struct inmo_log *log = NULL;
    struct report *report = inmo_alloc_zero(1, sizeof *report);
    char *runs = joined(directory, "runs");
    double start = inmo_now();
    int trained = 0, done = 0, lock = -1;
    enum inmo_status status = report && runs ? INMO_OK : inmo_fail_memory(error, "the experiments");
    if (!status)
        status = inmo_lab_plan_options(options, &filled, &lab, error);
    if (!status)
        status = open_data(data, read, filled.new_choice, hooks, &log, error);
    if (!status) {
        lab.data = (struct inmo_lab_data){.log = log, .k_core = filled.k_core, .new_choice = filled.new_choice};
        status = inmo_lab_plan_data(&lab, error);
    }
    if (!status)
        lab.data.paper_recipe = inmo_recipe_for(filled.like, lab.users, lab.items, lab.interactions);
    if (!status && strcmp(filled.recipe, "paper") == 0) {
        filled.recipe = lab.data.paper_recipe;
        if (!filled.like)
            inmo_note(hooks, INMO_NOTE,
                      "the paper's settings are those for %s, which is nearest in size and density (--like)",
                      strchr(filled.recipe, ':') + 1);
    }
    if (!status)
        status = inmo_lab_plan_runs(&lab, error);
    if (!status)
        status = make_directory(directory, runs, error);
    if (!status && !filled.finished) /* what is finished may be looked at while another one works */
        status = inmo_lock_folder(runs, &lock, error);
    if (!status)
        status = inmo_lab_do_runs(&lab, runs, hooks, &trained, error);
    if (!status)
        status = write_all(&lab, directory, report, error);
    for (size_t n = 0; n < lab.runs; n++)
        done += lab.run[n].result != NULL; /* all, unless only finished runs were requested */
    if (!status) {
        report->head =
            (struct inmo_reproduce_report){done, trained, inmo_now() - start, report->markdown, report->json};
        *out = &report->head;
        report = NULL;
    }
    if (lock >= 0)
        close(lock);
    inmo_reproduce_report_free((struct inmo_reproduce_report *)report);
    inmo_free(runs);
    inmo_lab_plan_free(&lab);
    inmo_log_free(log);
    return status;
}
