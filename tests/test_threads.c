/* test_threads.c - one view read by several threads while others train: every answer is the one a single thread
 * gets, and OpenBLAS's number of threads, which belongs to the process, is what it was.
 *
 * Also under ThreadSanitizer (CONTRIBUTING.md): with one OpenMP thread a call, because GCC's OpenMP runtime is not
 * instrumented and the sanitizer cannot see its barriers; the threads here are pthreads, which it sees. */
#include "base/threads.h"
#include "model/model.h"
#include "support.h"

#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>

enum { READERS = 4, ROUNDS = 3, REQUESTS = 24, USERS = 40, ITEMS = 60, BLAS_THREADS = 2 };

/* 64-bit FNV-1a. */
static void mix(uint64_t *hash, const void *bytes, size_t count)
{
    for (size_t n = 0; n < count; n++)
        *hash = (*hash ^ ((const unsigned char *)bytes)[n]) * 0x100000001b3u;
}

static void mix_entries(uint64_t *hash, const struct inmo_entry *entry, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        mix(hash, entry[n].id, strlen(entry[n].id));
        mix(hash, &entry[n].score, sizeof entry[n].score);
    }
}

/* The answer to request n as a number, a refusal included. */
static uint64_t answer(const struct inmo_view *view, int n)
{
    static const char *const history[] = {"item-3", "item-17", "item-18", "item-40", "never-seen"};
    uint64_t hash = 0xcbf29ce484222325u;
    struct inmo_list *list = NULL;
    struct inmo_explanation *why = NULL;
    struct inmo_query query;
    struct inmo_error error = {0};
    enum inmo_status status = INMO_OK;
    char user[24], item[24];
    snprintf(user, sizeof user, "user-%d", n % USERS);
    snprintf(item, sizeof item, "item-%d", 7 * n % ITEMS);
    inmo_query_init(&query);
    query.user = user;
    if (n % 2) {
        query.user = NULL;
        query.items = history;
        query.item_count = 2 + (size_t)n % 4;
    }
    switch (n % 8 / 2) {
    case 0:
    case 1: status = inmo_recommend(view, &query, &list, &error); break;
    case 2: status = inmo_similar(view, n % 2 ? item : NULL, n % 2 ? NULL : user, 10, &list, &error); break;
    default: status = inmo_explain(view, &query, item, &why, &error); break;
    }
    mix(&hash, &status, sizeof status);
    if (list)
        mix_entries(&hash, list->entry, list->count);
    if (why)
        mix_entries(&hash, why->part, why->count);
    inmo_explanation_free(why);
    inmo_list_free(list);
    return hash;
}

static int add_row(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    mix(context, user, strlen(user));
    mix_entries(context, entry, count);
    return 0;
}

static uint64_t answer_all(const struct inmo_view *view)
{
    uint64_t hash = 0xcbf29ce484222325u;
    enum inmo_status status = inmo_recommend_all(
        view, &(struct inmo_query){.size = sizeof(struct inmo_query), .k = 5}, NULL, add_row, &hash, NULL);
    mix(&hash, &status, sizeof status);
    return hash;
}

/* What the threads share. Asserting is for the main thread, so they count. */
struct shared {
    const struct inmo_view *view;
    const struct inmo_dataset *data;
    uint64_t expected[REQUESTS], expected_all;
    atomic_int wrong, failed, counted; /* counted: how often a reader found BLAS with other than one thread */
};

static void *read_view(void *context)
{
    struct shared *shared = context;
    for (int round = 0; round < ROUNDS; round++) {
        for (int n = 0; n < REQUESTS; n++) {
            if (answer(shared->view, n) != shared->expected[n])
                atomic_fetch_add(&shared->wrong, 1);
            if (openblas_get_num_threads() != 1)
                atomic_fetch_add(&shared->counted, 1);
        }
        if (answer_all(shared->view) != shared->expected_all)
            atomic_fetch_add(&shared->wrong, 1);
    }
    return NULL;
}

static void *train_and_judge(void *context)
{
    static const char *const models[] = {"ials", "inmo-mf"};
    struct shared *shared = context;
    for (size_t n = 0; n < COUNT(models); n++) {
        struct inmo_train_options options = small_options(models[n]);
        struct inmo_eval_options eval;
        struct inmo_model *model = NULL;
        struct inmo_report *report = NULL;
        inmo_eval_options_init(&eval);
        options.epochs = 2;
        if (inmo_train(shared->data, &options, NULL, &model, NULL, NULL) ||
            inmo_evaluate(model, shared->data, &eval, NULL, &report, NULL))
            atomic_fetch_add(&shared->failed, 1);
        inmo_report_free(report);
        inmo_model_free(model);
    }
    return NULL;
}

static void test_readers(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(USERS, ITEMS, 10, "70/10/20");
    const struct inmo_model_kind *kind;
    (void)state;
    for (size_t m = 0; (kind = inmo_model_kind_at(m)); m++) {
        struct inmo_train_options options = small_options(kind->name);
        struct inmo_model *model = NULL;
        struct inmo_view *view = NULL;
        struct shared shared = {.data = data};
        pthread_t thread[READERS + 1];
        options.epochs = 2;
        openblas_set_num_threads(BLAS_THREADS);
        model = trained(data, &options);
        assert_int_equal(openblas_get_num_threads(), BLAS_THREADS);
        must(inmo_view_create(model, NULL, &view, &error));
        shared.view = view;
        for (int n = 0; n < REQUESTS; n++)
            shared.expected[n] = answer(view, n);
        shared.expected_all = answer_all(view);
        for (int n = 0; n < READERS; n++)
            assert_int_equal(pthread_create(&thread[n], NULL, read_view, &shared), 0);
        assert_int_equal(pthread_create(&thread[READERS], NULL, train_and_judge, &shared), 0);
        for (int n = 0; n <= READERS; n++)
            assert_int_equal(pthread_join(thread[n], NULL), 0);
        if (atomic_load(&shared.wrong) || atomic_load(&shared.failed) || atomic_load(&shared.counted))
            fail_msg("%s: %d answers differ, %d trainings failed, OpenBLAS had other than one thread %d times",
                     kind->name, atomic_load(&shared.wrong), atomic_load(&shared.failed),
                     atomic_load(&shared.counted));
        inmo_view_free(view);
        inmo_model_free(model);
        assert_int_equal(openblas_get_num_threads(), BLAS_THREADS);
    }
    inmo_dataset_free(data);
}

/* ---- Views that come and go, trainings side by side -------------------------------------------------------- */

struct task {
    const struct inmo_dataset *data;
    const struct inmo_model *model; /* of the views */
    struct inmo_model *trained;
    enum inmo_status status;
};

static void *make_views(void *context)
{
    struct task *task = context;
    for (int n = 0; n < 20 && !task->status; n++) {
        struct inmo_view *view = NULL;
        task->status = inmo_view_create(task->model, NULL, &view, NULL);
        if (!task->status)
            answer(view, n);
        inmo_view_free(view);
    }
    return NULL;
}

static void *train_one(void *context)
{
    struct task *task = context;
    struct inmo_train_options options = small_options("inmo-lightgcn");
    options.loss = "listwise";
    options.negatives = 16;
    task->status = inmo_train(task->data, &options, NULL, &task->trained, NULL, NULL);
    return NULL;
}

static void test_side_by_side(void **state)
{
    enum { EACH = 3 };
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(USERS, ITEMS, 10, "70/10/20");
    struct inmo_train_options options = small_options("item-knn");
    struct inmo_model *model = trained(data, &options);
    struct task task[2 * EACH] = {{0}}, alone = {.data = data};
    pthread_t thread[2 * EACH];
    (void)state;
    openblas_set_num_threads(BLAS_THREADS);
    train_one(&alone);
    assert_int_equal(alone.status, INMO_OK);
    must(inmo_model_save(alone.trained, "alone.model", 1, &error));
    for (int n = 0; n < 2 * EACH; n++) {
        task[n].data = data;
        task[n].model = model;
        assert_int_equal(pthread_create(&thread[n], NULL, n < EACH ? make_views : train_one, &task[n]), 0);
    }
    for (int n = 0; n < 2 * EACH; n++)
        assert_int_equal(pthread_join(thread[n], NULL), 0);
    for (int n = 0; n < 2 * EACH; n++) {
        assert_int_equal(task[n].status, INMO_OK);
        if (n >= EACH) {
            must(inmo_model_save(task[n].trained, "beside.model", 1, &error));
            assert_true(same_files("alone.model", "beside.model"));
        }
        inmo_model_free(task[n].trained);
    }
    assert_int_equal(openblas_get_num_threads(), BLAS_THREADS);
    inmo_model_free(alone.trained);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* The owner itself: holds nest, and what somebody else has set meanwhile stays. */
static void test_hold(void **state)
{
    (void)state;
    openblas_set_num_threads(BLAS_THREADS);
    inmo_blas_hold();
    inmo_blas_hold();
    assert_int_equal(openblas_get_num_threads(), 1);
    inmo_blas_release();
    assert_int_equal(openblas_get_num_threads(), 1);
    inmo_blas_release();
    assert_int_equal(openblas_get_num_threads(), BLAS_THREADS);
    openblas_set_num_threads(1);
    inmo_blas_hold();
    inmo_blas_release();
    assert_int_equal(openblas_get_num_threads(), 1);
    openblas_set_num_threads(BLAS_THREADS);
    inmo_blas_hold();
    openblas_set_num_threads(BLAS_THREADS + 1);
    inmo_blas_release();
    assert_int_equal(openblas_get_num_threads(), BLAS_THREADS + 1);
    openblas_set_num_threads(BLAS_THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_readers),
    };
#ifdef __SANITIZE_THREAD__
    inmo_set_threads(1);
#endif
    return cmocka_run_group_tests_name("threads", tests, enter_directory, leave_directory);
}
