/* test_system.c - systems of their own shape (item-knn, ease, ials, gf-cf, mult-vae): scores beside numpy's
 * (tests/golden, make_systems.py), everything a view does with them, the same bytes at any number of threads and
 * after an interruption, files that are refused, allocations that fail. */
#include "support.h"

#include "score/scorer.h"
#include "view/view.h"

#include <jansson.h>

static const char *const systems[] = {"item-knn", "ease", "ials", "gf-cf", "mult-vae", "popular"};

/* ---- The golden world: ids u? and i?, one user and one item without interactions
 * --------------------------------- */

struct world {
    json_t *golden;
    int users, items;
    struct inmo_dataset data;
};

static struct inmo_idmap named(char letter, int count)
{
    int64_t *offset = inmo_alloc((size_t)count + 1, sizeof *offset);
    char *text = inmo_alloc((size_t)count, 3);
    for (int n = 0; n <= count; n++)
        offset[n] = 3 * n;
    for (int n = 0; n < count; n++)
        memcpy(text + 3 * n, (char[3]){letter, (char)('0' + n), '\0'}, 3);
    return (struct inmo_idmap){.count = count, .offset = offset, .text = text};
}

static struct world open_golden(void)
{
    struct world world = {.golden = json_load_file(INMO_TEST_DIR "/golden/systems.json", 0, NULL)};
    assert_non_null(world.golden);
    const json_t *edges = json_object_get(world.golden, "edges");
    world.users = (int)json_integer_value(json_object_get(world.golden, "users"));
    world.items = (int)json_integer_value(json_object_get(world.golden, "items"));
    world.data.users = named('u', world.users);
    world.data.items = named('i', world.items);
    int64_t *offset = inmo_alloc_zero((size_t)world.users + 1, sizeof *offset);
    int32_t *column = inmo_alloc(json_array_size(edges), sizeof *column);
    for (size_t e = 0; e < json_array_size(edges); e++) {
        json_t *edge = json_array_get(edges, e);
        column[e] = (int32_t)json_integer_value(json_array_get(edge, 1));
        for (int64_t u = json_integer_value(json_array_get(edge, 0)); u < world.users; u++)
            offset[u + 1] = (int64_t)e + 1;
    }
    world.data.train = (struct inmo_csr){world.users, world.items, offset, column, NULL};
    return world;
}

static void close_golden(struct world *world)
{
    inmo_csr_free(&world->data.train);
    inmo_free((void *)world->data.users.text);
    inmo_free((void *)world->data.users.offset);
    inmo_free((void *)world->data.items.text);
    inmo_free((void *)world->data.items.offset);
    json_decref(world->golden);
}

/* The options of a case are settings by name. */
static struct inmo_train_options options_of(const json_t *golden)
{
    struct inmo_error error = {0};
    struct inmo_train_options options;
    size_t count;
    const struct inmo_setting *table = inmo_train_settings(&count);
    must(inmo_train_options_init(&options, json_string_value(json_object_get(golden, "model")), NULL, &error));
    options.hold_out = 0;
    for (size_t n = 0; n < count; n++) {
        json_t *value = json_object_get(golden, table[n].name);
        void *field = (char *)&options + table[n].offset;
        if (!value)
            continue;
        if (table[n].type == 's')
            *(const char **)field = json_string_value(value);
        else if (table[n].type == 'r')
            *(double *)field = json_number_value(value);
        else if (table[n].type == 'u')
            *(uint64_t *)field = (uint64_t)json_integer_value(value);
        else
            *(int *)field = (int)json_integer_value(value);
    }
    return options;
}

/* Found are scores of all items; null is one that is not on offer, whose score does not matter. */
static void scores_are(const float *found, const json_t *expected, double tolerance)
{
    for (size_t i = 0; i < json_array_size(expected); i++) {
        json_t *value = json_array_get(expected, i);
        if (!json_is_null(value))
            assert_near(found[i], json_number_value(value), tolerance * fmax(1, fabs(json_number_value(value))));
    }
}

/* Scores of a user or of a history, whatever the model's shape. */
static void score_all(const struct inmo_scorer *scorer, const struct inmo_history *who, float *score)
{
    struct inmo_error error = {0};
    int dim = scorer->dim;
    if (dim == 0) {
        void *scratch = inmo_alloc_zero(scorer->fill.scratch_bytes, 1);
        inmo_scorer_fill(scorer, who, 1, scratch, score);
        inmo_free(scratch);
        return;
    }
    float *term = inmo_alloc((size_t)(who->count * dim), sizeof *term);
    must(scorer->model->kind->system->fold(scorer->state, who, term, &error));
    for (int32_t i = 0; i < scorer->graph->items; i++) {
        score[i] = 0;
        for (int32_t h = 0; h < who->count; h++)
            for (int k = 0; k < dim; k++)
                score[i] += term[h * dim + k] * scorer->r[(scorer->graph->users + i) * dim + k];
    }
    inmo_free(term);
}

static void check_case(struct world *world, const json_t *golden, const struct inmo_model *model)
{
    struct inmo_error error = {0};
    const struct inmo_csr *lists[1] = {&world->data.train};
    struct inmo_graph *graph = NULL;
    struct inmo_model_binding bound;
    struct inmo_scorer scorer;
    int32_t item[16], count = 0;
    float score[16];
    const json_t *history = json_object_get(world->golden, "history");
    must(inmo_graph_build(world->users, world->items, lists, 1, &graph, &error));
    must(inmo_model_bind(model, graph, &world->data.users, &world->data.items, &bound, &error));
    must(inmo_scorer_open(&scorer, model, &bound, 1, 0, &error));
    for (int32_t u = 0; u < world->users; u++) {
        const json_t *expected = json_array_get(json_object_get(golden, "scores"), (size_t)u);
        struct inmo_history who = inmo_history_of(graph, u);
        score_all(&scorer, &who, score);
        scores_are(score, expected, 2e-5);
        for (int32_t i = 0; i < world->items && scorer.dim > 0; i++) { /* and of vectors, not folded in anew */
            float dot = 0;
            for (int k = 0; k < scorer.dim; k++)
                dot += scorer.r[u * scorer.dim + k] * scorer.r[(world->users + i) * scorer.dim + k];
            score[i] = dot;
        }
        scores_are(score, expected, 2e-5);
    }
    for (; count < (int32_t)json_array_size(history); count++)
        item[count] = (int32_t)json_integer_value(json_array_get(history, (size_t)count));
    struct inmo_history unseen = {-1, count, 0, item, NULL, NULL};
    score_all(&scorer, &unseen, score);
    scores_are(score, json_object_get(golden, "unseen"), 2e-5);
    inmo_scorer_close(&scorer);
    inmo_model_unbind(&bound);
    inmo_graph_free(graph);
}

static void test_golden(void **state)
{
    struct world world = open_golden();
    size_t n;
    json_t *golden;
    (void)state;
    json_array_foreach(json_object_get(world.golden, "cases"), n, golden) {
        struct inmo_error error = {0};
        struct inmo_train_options options = options_of(golden);
        struct inmo_model *model = trained(&world.data, &options);
        struct inmo_model_info info;
        const json_t *loss = json_object_get(golden, "objective");
        check_case(&world, golden, model);
        inmo_model_info(model, &info);
        json_t *record = json_loads(info.record, 0, NULL);
        assert_int_equal(json_array_size(record), json_array_size(loss));
        for (size_t e = 0; e < json_array_size(loss); e++)
            assert_near(json_number_value(json_object_get(json_array_get(record, e), "loss")),
                        json_number_value(json_array_get(loss, e)), 1e-5);
        json_decref(record);
        must(inmo_model_save(model, "model", 1, &error));
        inmo_model_free(model);
        must(inmo_model_load("model", &model, &error));
        check_case(&world, golden, model);
        inmo_model_free(model);
    }
    assert_true(n >= 11);
    close_golden(&world);
}

/* ---- Views
 * ------------------------------------------------------------------------------------------------------ */

static struct inmo_model *small_model(const char *name, const struct inmo_dataset *data)
{
    struct inmo_train_options options = small_options(name);
    return trained(data, &options);
}

/* A user by name and the same history by items get the same list; the parts of every score sum to it. */
static void test_views(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "80/0/20");
    (void)state;
    for (size_t s = 0; s < COUNT(systems); s++) {
        struct inmo_error error = {0};
        struct inmo_model *model = small_model(systems[s], data);
        struct inmo_view *view = NULL;
        must(inmo_view_create(model, NULL, &view, &error));
        for (int32_t u = 0; u < 5; u++) {
            const char *history[16];
            struct inmo_query known, unseen;
            struct inmo_list *a = NULL, *b = NULL;
            inmo_query_init(&known);
            inmo_query_init(&unseen);
            known.user = inmo_idmap_id(&model->users, u);
            unseen.items = history;
            for (int64_t e = model->train.offset[u]; e < model->train.offset[u + 1]; e++)
                history[unseen.item_count++] = inmo_idmap_id(&model->items, model->train.column[e]);
            must(inmo_recommend(view, &known, &a, &error));
            must(inmo_recommend(view, &unseen, &b, &error));
            assert_int_equal(a->count, 20);
            assert_int_equal(b->fallback, 0);
            assert_near(b->coverage, 1, 0);
            for (size_t n = 0; n < a->count; n++) {
                struct inmo_explanation *why = NULL;
                double sum = 0;
                assert_near(a->entry[n].score, b->entry[n].score, 1e-5 * fmax(1, a->entry[n].score));
                must(inmo_explain(view, n % 2 ? &known : &unseen, a->entry[n].id, &why, &error));
                assert_near(why->score, a->entry[n].score, 1e-5 * fmax(1, a->entry[n].score));
                /* popular has one part; what mult-vae would lose without each item leaves a rest */
                assert_int_equal(why->count, strcmp(systems[s], "popular") == 0
                                                 ? 1
                                                 : unseen.item_count + (strcmp(systems[s], "mult-vae") == 0));
                for (size_t p = 0; p < why->count; p++)
                    sum += why->part[p].score;
                assert_near(sum, why->score, 1e-5 * fmax(1, why->score));
                inmo_explanation_free(why);
            }
            inmo_list_free(b);
            inmo_list_free(a);
        }
        inmo_view_free(view);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

static int compare_row(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    struct inmo_error error = {0};
    struct inmo_query query;
    struct inmo_list *list = NULL;
    inmo_query_init(&query);
    query.user = user;
    query.k = 7;
    must(inmo_recommend(context, &query, &list, &error));
    assert_int_equal(count, list->count);
    for (size_t n = 0; n < count;
         n++) /* scores are equal; which of two equal ones comes first may differ by rounding */
        assert_near(entry[n].score, list->entry[n].score, 1e-6 * fmax(1, entry[n].score));
    inmo_list_free(list);
    return 0;
}

/* All users at once are as each alone; an item nobody trained on is offered by those that can, and by no others. */
static void test_new_items(void **state)
{
    static const int offers[] = {0, 0, 0, 1, 0, 1};
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "80/0/20");
    (void)state;
    for (size_t s = 0; s < COUNT(systems); s++) {
        struct inmo_error error = {0};
        struct inmo_model *model = small_model(systems[s], data);
        struct inmo_log *log = log_of("user-0 fresh, user-4 fresh, nobody fresh, nobody item-1");
        struct inmo_view *view = NULL;
        struct inmo_query query;
        struct inmo_list *list = NULL;
        int found = 0;
        must(inmo_view_create(model, log, &view, &error));
        must(inmo_recommend_all(view,
                                &(struct inmo_query){.size = sizeof(struct inmo_query), .k = 7, .include_seen = 0},
                                NULL, compare_row, view, &error));
        inmo_query_init(&query);
        query.user = "user-8"; /* of the same quarter as 0 and 4 */
        query.k = 100;
        must(inmo_recommend(view, &query, &list, &error));
        for (size_t n = 0; n < list->count; n++)
            found += strcmp(list->entry[n].id, "fresh") == 0;
        assert_int_equal(found, offers[s]);
        inmo_list_free(list);
        query.user = "nobody"; /* was not there in training, but has a history */
        must(inmo_recommend(view, &query, &list, &error));
        assert_near(list->coverage, offers[s] ? 1 : 0.5, 0);
        inmo_list_free(list);
        const char *unknown[] = {"nothing"};
        query.user = NULL;
        query.items = unknown;
        query.item_count = 1;
        must(inmo_recommend(view, &query, &list, &error));
        assert_int_equal(list->fallback, strcmp(systems[s], "popular") != 0);
        inmo_list_free(list);
        inmo_view_free(view);
        inmo_log_free(log);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

static void test_similar(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "80/0/20");
    (void)state;
    for (size_t s = 0; s < COUNT(systems); s++) {
        struct inmo_error error = {0};
        struct inmo_model *model = small_model(systems[s], data);
        struct inmo_view *view = NULL;
        struct inmo_list *list = NULL;
        struct inmo_matrix matrix;
        int ials = strcmp(systems[s], "ials") == 0, own = 0;
        must(inmo_view_create(model, NULL, &view, &error));
        inmo_view_items(view, &matrix);
        assert_int_equal(matrix.columns, ials ? 6 : 0);
        if (strcmp(systems[s], "popular") == 0 || strcmp(systems[s], "mult-vae") == 0) {
            must_fail(inmo_similar(view, "item-3", NULL, 5, &list, &error), INMO_UNSUPPORTED, "item-knn");
        } else {
            must(inmo_similar(view, "item-3", NULL, 5, &list, &error));
            assert_string_equal(list->measure, ials ? "cosine" : "weight");
            assert_int_equal(list->count, 5);
            for (size_t n = 0; n < list->count; n++) /* items 0 to 19 are the first quarter */
                own += atoi(list->entry[n].id + strlen("item-")) < 20;
            assert_true(own >= 3);
            inmo_list_free(list);
            list = NULL;
        }
        if (ials) {
            must(inmo_similar(view, NULL, "user-1", 5, &list, &error));
            inmo_list_free(list);
        } else {
            must_fail(inmo_similar(view, NULL, "user-1", 5, &list, &error), INMO_UNSUPPORTED, "users are alike");
        }
        inmo_view_free(view);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

/* ---- Training
 * --------------------------------------------------------------------------------------------------- */

static void test_learn_and_same_bytes(void **state)
{
    struct inmo_dataset *data = grouped_dataset(300, 400, 14, "70/10/20");
    double popular = 0, best = 0;
    (void)state;
    for (size_t s = COUNT(systems); s-- > 0;) {
        struct inmo_error error = {0};
        struct inmo_train_options options;
        struct inmo_train_report report;
        struct inmo_report *judged = NULL;
        struct inmo_eval_options valid;
        must(inmo_train_options_init(&options, systems[s], NULL, &error));
        options.dim = 16;
        options.epochs = 6;
        if (strcmp(systems[s], "mult-vae") == 0) { /* learns by gradients: more and larger steps */
            options.batch = 50;
            options.learning_rate = 0.03;
            options.epochs = 20;
            options.dropout = 0.3;
        }
        for (int threads = 1; threads <= 3; threads++) {
            struct inmo_model *model = NULL;
            inmo_set_threads(threads);
            must(inmo_train(data, &options, NULL, &model, &report, &error));
            must(inmo_model_save(model, threads == 1 ? "first" : "again", 1, &error));
            if (threads > 1)
                assert_true(same_files("first", "again"));
            else { /* the score of the report is that of an evaluation */
                inmo_eval_options_init(&valid);
                valid.part = "valid";
                must(inmo_evaluate(model, data, &valid, NULL, &judged, &error));
                assert_near(judged->group[0].at->ndcg, report.best_score, 1e-9);
                inmo_report_free(judged);
                best = report.best_score;
            }
            inmo_model_free(model);
        }
        inmo_set_threads(1);
        print_message("%s: validation NDCG@20 %.3f\n", systems[s], best);
        if (strcmp(systems[s], "popular") == 0)
            popular = best;
        else
            assert_true(best > 1.5 * popular);
    }
    inmo_dataset_free(data);
}

static int stop_after(void *context)
{
    int *left = context;
    return (*left)-- <= 0;
}

/* In two pieces, the second of another number of threads. */
static void interrupt(const char *name, struct inmo_dataset *data, int steps)
{
    struct inmo_train_options options = small_options(name);
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    int left = steps;
    struct inmo_hooks hooks = {.context = &left, .interrupted = stop_after};
    options.epochs = 5;
    model = trained(data, &options);
    must(inmo_model_save(model, "whole", 1, &error));
    inmo_model_free(model);
    model = NULL;
    options.checkpoint = "checkpoint";
    must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED, "epoch 3");
    options.resume = 1;
    inmo_set_threads(2);
    must(inmo_train(data, &options, NULL, &model, NULL, &error));
    inmo_set_threads(1);
    must(inmo_model_save(model, "pieces", 1, &error));
    assert_true(same_files("whole", "pieces"));
    inmo_model_free(model);
    unlink("checkpoint");
}

/* An epoch of ials is one step, one of mult-vae two: 48 users, 32 a batch. */
static void test_interrupted(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    (void)state;
    interrupt("ials", data, 2);
    interrupt("mult-vae", data, 5);
    inmo_dataset_free(data);
}

/* Four bytes for each pair of 400,000 items are more than this machine has. */
static void test_ease_refuses(void **state)
{
    enum { MANY = 400000 };
    struct inmo_error error = {0};
    struct inmo_train_options options = small_options("ease");
    struct inmo_model *model = NULL;
    int64_t offset[2] = {0, MANY}, *id_offset = inmo_alloc(MANY + 1, sizeof *id_offset);
    int32_t *column = inmo_alloc(MANY, sizeof *column);
    char *text = inmo_alloc(MANY, 8);
    struct inmo_dataset data = {.users = named('u', 1)};
    (void)state;
    for (int i = 0; i < MANY; i++) {
        column[i] = i;
        id_offset[i] = 8L * i;
        snprintf(text + 8L * i, 8, "%07u", (unsigned)i % 10000000u);
    }
    id_offset[MANY] = 8L * MANY;
    data.items = (struct inmo_idmap){.count = MANY, .offset = id_offset, .text = text};
    data.train = (struct inmo_csr){1, MANY, offset, column, NULL};
    must_fail(inmo_train(&data, &options, NULL, &model, NULL, &error), INMO_MEMORY,
              "`model` item-knn needs little");
    options.most_items = 3;
    must(inmo_train(&data, &options, NULL, &model, NULL, &error));
    inmo_model_free(model);
    inmo_free((void *)data.users.text);
    inmo_free((void *)data.users.offset);
    inmo_free(text);
    inmo_free(column);
    inmo_free(id_offset);
}

/* No allocation that fails does harm, in training, evaluation and views. */
static void test_out_of_memory(void **state)
{
    struct inmo_dataset *data = grouped_dataset(12, 20, 6, "60/20/20");
    (void)state;
    inmo_set_threads(1);
    for (size_t s = 0; s < COUNT(systems); s++) {
        struct inmo_train_options options = small_options(systems[s]);
        const char *history[] = {"item-1", "item-2"};
        struct inmo_query query;
        long allowed = 0;
        int done = 0;
        options.epochs = 1;
        inmo_query_init(&query);
        query.items = history;
        query.item_count = 2;
        for (; !done; allowed++) {
            struct inmo_error error = {0};
            struct inmo_model *model = NULL;
            struct inmo_report *report = NULL;
            struct inmo_view *view = NULL;
            struct inmo_list *list = NULL;
            struct inmo_explanation *why = NULL;
            enum inmo_status status;
            inmo_alloc_fail_after(allowed);
            status = inmo_train(data, &options, NULL, &model, NULL, &error);
            if (!status)
                status = inmo_evaluate(model, data, NULL, NULL, &report, &error);
            if (!status)
                status = inmo_view_create(model, NULL, &view, &error);
            if (!status)
                status = inmo_recommend(view, &query, &list, &error);
            if (!status)
                status = inmo_explain(view, &query, "item-3", &why, &error);
            inmo_alloc_fail_after(-1);
            done = status == INMO_OK;
            assert_int_equal(status, done ? INMO_OK : INMO_MEMORY);
            inmo_explanation_free(why);
            inmo_list_free(list);
            inmo_view_free(view);
            inmo_report_free(report);
            inmo_model_free(model);
        }
        assert_true(allowed > 30);
    }
    inmo_dataset_free(data);
}

/* ---- Files that are sound by their checksum and wrong inside
 * ------------------------------------------------------ */

/* Writes the model with one tensor changed: another row count, or one number of it. */
static void spoil(const struct inmo_model *model, size_t tensor, int64_t rows, int64_t columns, const void *number,
                  size_t size)
{
    struct inmo_error error = {0};
    struct inmo_tensor kept = model->tensor[tensor];
    size_t bytes = (size_t)(kept.rows * (kept.columns ? kept.columns : 1)) * (kept.dtype == INMO_I64 ? 8 : 4);
    char *copy = inmo_alloc(bytes + 8, 1);
    memcpy(copy, kept.data, bytes);
    memcpy(copy, number, size);
    model->tensor[tensor].rows = rows < 0 ? kept.rows : rows;
    model->tensor[tensor].columns = columns < 0 ? kept.columns : columns;
    model->tensor[tensor].data = copy;
    must(inmo_model_save(model, "spoiled", 1, &error));
    model->tensor[tensor] = kept;
    inmo_free(copy);
}

static void test_files(void **state)
{
    static const int32_t far = 80000, below = -1;
    static const int64_t one = 1;
    static const float minus = -1;
    static const struct {
        const char *model;
        size_t tensor;
        int64_t rows, columns;
        const void *number;
        size_t size;
        const char *says;
    } damage[] = {
        {"item-knn", 0, 5, -1, "", 0, "do not fit its items"},
        {"item-knn", 0, -1, -1, &one, 8, "do not fit its items"},
        {"item-knn", 1, -1, -1, &far, 4, "that are not there"},
        {"item-knn", 1, -1, -1, &below, 4, "that are not there"},
        {"item-knn", 2, 7, -1, "", 0, "do not fit its items"},
        {"ease", 0, -1, -1, &far, 4, "that are not there"},
        {"ease", 1, 2, -1, "", 0, "do not fit its items"},
        {"ease", 1, -1, 2, "", 0, "do not fit its items"},
        {"ials", 0, 3, -1, "", 0, "do not fit its items"},
        {"ials", 0, -1, 5, "", 0, "do not fit its items"},
        {"ials", 1, -1, -1, &minus, 4, "out of bounds"},
        {"ials", 1, 2, -1, "", 0, "out of bounds"},
        {"gf-cf", 0, 3, -1, "", 0, "do not fit its items"},
        {"gf-cf", 1, 0, -1, "", 0, "no weight"},
        {"mult-vae", 0, 3, -1, "", 0, "do not fit its items"},
        {"mult-vae", 1, 5, -1, "", 0, "do not fit its items"},
        {"mult-vae", 2, -1, 5, "", 0, "do not fit its items"},
        {"mult-vae", 7, 3, -1, "", 0, "do not fit its items"},
    };
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "80/0/20");
    (void)state;
    for (size_t n = 0; n < COUNT(damage); n++) {
        struct inmo_error error = {0};
        struct inmo_model *model = small_model(damage[n].model, data), *loaded = NULL;
        spoil(model, damage[n].tensor, damage[n].rows, damage[n].columns, damage[n].number, damage[n].size);
        must_fail(inmo_model_load("spoiled", &loaded, &error), INMO_FORMAT, damage[n].says);
        model->tensors--; /* and without its last tensor */
        must(inmo_model_save(model, "spoiled", 1, &error));
        model->tensors++;
        must_fail(inmo_model_load("spoiled", &loaded, &error), INMO_FORMAT, damage[n].model);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),       cmocka_unit_test(test_views),
        cmocka_unit_test(test_new_items),    cmocka_unit_test(test_similar),
        cmocka_unit_test(test_interrupted),  cmocka_unit_test(test_learn_and_same_bytes),
        cmocka_unit_test(test_ease_refuses), cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_files),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
