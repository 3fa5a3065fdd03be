/* support.h - what the tests of graphs, models and files share: calls that must succeed, logs and data sets from
 * a few words, one small synthetic data set with groups of taste, small graphs and their exact decomposition, a
 * temporary folder, and whole files as bytes. */
#ifndef INMO_TESTS_SUPPORT_H
#define INMO_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/dataset.h"
#include "data/log.h"
#include "graph/graph.h"
#include "inmo.h"

#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The call must return INMO_OK; otherwise the test fails with the library's own sentence. `error` is in scope. */
#define must(call)                                                                                                 \
    do {                                                                                                           \
        if ((call) != INMO_OK)                                                                                     \
            fail_msg("%s: %s", #call, error.message);                                                              \
    } while (0)

/* The call must return the status, and the sentence must have the words in it. */
#define must_fail(call, status, words)                                                                             \
    do {                                                                                                           \
        error.message[0] = '\0';                                                                                   \
        assert_int_equal(call, status);                                                                            \
        assert_int_equal(error.code, status);                                                                      \
        if (!strstr(error.message, words))                                                                         \
            fail_msg("\"%s\" does not say \"%s\"", error.message, words);                                          \
    } while (0)

static inline void assert_near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("found %.17g, expected %.17g within %g", found, expected, tolerance);
}

/* ---- Hooks that stop a training after some steps: it is asked before each. What comes before the steps, a
 * decomposition, asks as well and is let pass. */

struct step_limit {
    int left, is_training;
};

static inline void note_stage(void *context, const struct inmo_progress *progress)
{
    ((struct step_limit *)context)->is_training = strncmp(progress->stage, "training", 8) == 0;
}

static inline int stop_after_steps(void *context)
{
    struct step_limit *limit = context;
    return limit->is_training && limit->left-- <= 0;
}

/* ---- A temporary folder that is the current one, so that files have short names
 * ------------------------------- */

static char test_directory[256];

static inline int enter_directory(void **state)
{
    const char *parent = getenv("TMPDIR");
    (void)state;
    snprintf(test_directory, sizeof test_directory, "%s/inmo-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(test_directory) && chdir(test_directory) == 0 ? 0 : -1;
}

static inline int leave_directory(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", test_directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

struct bytes {
    unsigned char *at;
    size_t count;
};

static inline struct bytes read_bytes(const char *name)
{
    FILE *file = fopen(name, "rb");
    struct bytes bytes = {0};
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    bytes.count = (size_t)ftell(file);
    rewind(file);
    bytes.at = malloc(bytes.count + 1);
    assert_non_null(bytes.at);
    assert_int_equal(fread(bytes.at, 1, bytes.count, file), bytes.count);
    fclose(file);
    return bytes;
}

static inline void write_bytes(const char *name, const void *at, size_t count)
{
    FILE *file;
    unlink(name); /* some file systems sync a file that is written over */
    file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(at, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline int same_files(const char *a, const char *b)
{
    struct bytes x = read_bytes(a), y = read_bytes(b);
    int same = x.count == y.count && memcmp(x.at, y.at, x.count) == 0;
    free(x.at);
    free(y.at);
    return same;
}

/* ---- Logs and data sets from a few words -------------------------------------------------------------------- */

/* "ann tea, ann milk, bob tea": user and item of each interaction. */
static inline struct inmo_log *log_of(const char *text)
{
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    char word[2][128][32];
    const char *user[128], *item[128];
    size_t count = 0;
    for (int used = 0; sscanf(text, " %31[^ ,] %31[^ ,]%n", word[0][count], word[1][count], &used) == 2; count++) {
        assert_true(count < 127);
        user[count] = word[0][count];
        item[count] = word[1][count];
        text += used;
        text += *text == ',';
    }
    must(inmo_log_from_pairs(count, user, item, NULL, &log, &error));
    return log;
}

/* The same with a part for each: "ann tea train, ann milk test, bob tea valid". */
static inline struct inmo_dataset *dataset_of(const char *text)
{
    struct inmo_error error = {0};
    struct inmo_log *log = inmo_log_new(0, 1);
    struct inmo_dataset *data = NULL;
    struct inmo_prepare_options options;
    char user[32], item[32], part[32];
    assert_non_null(log);
    for (int used = 0; sscanf(text, " %31[^ ,] %31[^ ,] %31[^ ,]%n", user, item, part, &used) == 3;) {
        int32_t u = inmo_idtable_intern(log->users, user, strlen(user));
        int32_t i = inmo_idtable_intern(log->items, item, strlen(item));
        assert_int_equal(inmo_log_add(log, u, i, 0, *part == 'v' ? 2 : part[1] == 'e'), 0);
        text += used;
        text += *text == ',';
    }
    inmo_prepare_options_init(&options);
    options.by = "column";
    must(inmo_dataset_prepare(log, &options, &data, &error));
    inmo_log_free(log);
    return data;
}

/* users with `each` different items: four of five from the user's own quarter of the items, the others from all. */
static inline struct inmo_log *grouped_log(int users, int items, int each, uint64_t seed)
{
    enum { GROUPS = 4 };
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    size_t count = 0, most = (size_t)users * (size_t)each;
    char(*name)[2][24] = calloc(most, sizeof *name);
    const char **user = calloc(most, sizeof *user), **item = calloc(most, sizeof *item);
    uint64_t key = inmo_key(seed, 77), draw = 0;
    assert_true(name && user && item);
    for (int u = 0; u < users; u++) {
        size_t first = count;
        while (count < first + (size_t)each) {
            int own = inmo_random_below(inmo_random(key, draw++), 5) > 0, repeated = 0;
            int width = items / GROUPS, start = (u % GROUPS) * width;
            int i = own ? start + (int)inmo_random_below(inmo_random(key, draw++), (uint32_t)width)
                        : (int)inmo_random_below(inmo_random(key, draw++), (uint32_t)items);
            snprintf(name[count][0], sizeof name[count][0], "user-%d", u);
            snprintf(name[count][1], sizeof name[count][1], "item-%d", i);
            for (size_t n = first; n < count; n++)
                repeated |= strcmp(name[n][1], name[count][1]) == 0;
            user[count] = name[count][0];
            item[count] = name[count][1];
            count += !repeated;
        }
    }
    must(inmo_log_from_pairs(count, user, item, NULL, &log, &error));
    free(item);
    free(user);
    free(name);
    return log;
}

static inline struct inmo_dataset *grouped_dataset(int users, int items, int each, const char *split)
{
    struct inmo_error error = {0};
    struct inmo_log *log = grouped_log(users, items, each, 3);
    struct inmo_dataset *data = NULL;
    struct inmo_prepare_options options;
    inmo_prepare_options_init(&options);
    options.split = split;
    must(inmo_dataset_prepare(log, &options, &data, &error));
    inmo_log_free(log);
    return data;
}

/* ---- Small graphs, and matrices to compare them with --------------------------------------------------------- */

/* One string a user, a digit for each of the user's items, ascending: {"01", "", "3"}. */
static inline struct inmo_graph *graph_of(int32_t users, int32_t items, const char *const *row)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = NULL;
    int64_t offset[64] = {0};
    int32_t column[256];
    struct inmo_csr list = {users, items, offset, column, NULL};
    const struct inmo_csr *lists[1] = {&list};
    assert_true(users < 64);
    for (int32_t u = 0; u < users; u++) {
        offset[u + 1] = offset[u];
        for (const char *digit = row[u]; *digit; digit++)
            column[offset[u + 1]++] = *digit - '0';
    }
    must(inmo_graph_build(users, items, lists, 1, &graph, &error));
    return graph;
}

/* Each user has each item with the given probability. */
static inline struct inmo_graph *random_graph_of(int32_t users, int32_t items, double density, uint64_t seed)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = NULL;
    int64_t *offset = inmo_alloc((size_t)users + 1, sizeof *offset), count = 0;
    int32_t *column = inmo_alloc((size_t)users * (size_t)items, sizeof *column);
    struct inmo_csr list = {users, items, offset, column, NULL};
    const struct inmo_csr *lists[1] = {&list};
    for (int32_t u = 0; u < users; u++) {
        offset[u] = count;
        for (int32_t i = 0; i < items; i++)
            if (inmo_random_unit(inmo_random(inmo_key(seed, 78), (uint64_t)u << 32 | (uint64_t)i)) < density)
                column[count++] = i;
    }
    offset[users] = count;
    must(inmo_graph_build(users, items, lists, 1, &graph, &error));
    inmo_free(column);
    inmo_free(offset);
    return graph;
}

/* Y, (users, items), of doubles; normalised: D_u^-1/2 Y D_i^-1/2. */
static inline double *dense_of(const struct inmo_graph *graph, int normalised)
{
    double *y = inmo_alloc_zero((size_t)graph->users * (size_t)graph->items, sizeof *y);
    assert_non_null(y);
    for (int32_t u = 0; u < graph->users; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            int32_t w = graph->neighbour[e];
            double degrees = (double)inmo_graph_degree(graph, u) * (double)inmo_graph_degree(graph, w);
            y[u * graph->items + w - graph->users] = normalised ? 1 / sqrt(degrees) : 1;
        }
    return y;
}

/* The whole singular value decomposition of y, exact to rounding. */
struct dense_svd {
    int users, items, rank; /* rank = min(users, items) */
    double *u;              // (users, rank)
    double *s;              // (rank) descending
    double *v;              // (rank, items): transposed
};

static inline struct dense_svd dense_svd_of(const double *y, int users, int items)
{
    struct dense_svd svd = {.users = users, .items = items, .rank = users < items ? users : items};
    size_t size = (size_t)users * (size_t)items;
    double *used_up = inmo_alloc(size, sizeof *used_up);
    memcpy(used_up, y, size * sizeof *y);
    svd.u = inmo_alloc((size_t)(users * svd.rank), sizeof(double));
    svd.s = inmo_alloc((size_t)svd.rank, sizeof(double));
    svd.v = inmo_alloc((size_t)(svd.rank * items), sizeof(double));
    assert_int_equal(
        LAPACKE_dgesdd(LAPACK_ROW_MAJOR, 'S', users, items, used_up, items, svd.s, svd.u, svd.rank, svd.v, items),
        0);
    inmo_free(used_up);
    return svd;
}

static inline void free_dense_svd(struct dense_svd *svd)
{
    inmo_free(svd->v);
    inmo_free(svd->s);
    inmo_free(svd->u);
}

/* Entry (u, i) of the best approximation of rank d. */
static inline double truncated(const struct dense_svd *svd, int d, int u, int i)
{
    double sum = 0;
    for (int k = 0; k < d; k++)
        sum += svd->u[u * svd->rank + k] * svd->s[k] * svd->v[k * svd->items + i];
    return sum;
}

/* Its squared error, which no matrix of rank d can go below (Eckart and Young). */
static inline double least_error(const struct dense_svd *svd, int d)
{
    double sum = 0;
    for (int k = d; k < svd->rank; k++)
        sum += svd->s[k] * svd->s[k];
    return sum;
}

/* ---- Training ------------------------------------------------------------------------------------------- */

static const char *const all_models[] = {
    "inmo-lightgcn", "inmo-mf",      "inmo-ngcf",     "inmo-imc-gae", "lightgcn", "mf",        "ngcf",
    "imc-gae",       "imc-lightgcn", "idcf-lightgcn", "popular",      "neumf",    "inmo-neumf"};

/* A model's own defaults, cut down to what a small data set needs. */
static inline struct inmo_train_options small_options(const char *model)
{
    struct inmo_error error = {0};
    struct inmo_train_options options;
    must(inmo_train_options_init(&options, model, "paper", &error));
    options.dim = 6;
    options.layers = 2;
    options.batch = 32;
    options.learning_rate = 0.02;
    options.epochs = 3;
    options.pretrain = options.pretrain > 0; /* of each half */
    options.hold_out = 0;                    /* one pass on what is given; test_refit.c has the rest */
    return options;
}

static inline struct inmo_model *trained(const struct inmo_dataset *data, const struct inmo_train_options *options)
{
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    must(inmo_train(data, options, NULL, &model, NULL, &error));
    assert_non_null(model);
    return model;
}

#endif
