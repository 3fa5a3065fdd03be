/* test_observed.c - a view on more than the model was trained on: new users, new items, new interactions of old
 * ones, nothing retrained; recommendations for everybody at once, and neighbours. Representations are computed
 * again here from the formulas of docs/math.md, in double and one term at a time. */
#include "asking.h"
#include "golden_world.h"

static const char *const models[] = {"inmo-mf-d5",
                                     "inmo-mf-half-d5",
                                     "inmo-lightgcn-d5",
                                     "inmo-lightgcn-half-d32",
                                     "inmo-ngcf-drop-d5",
                                     "inmo-ngcf-half-drop-d5",
                                     "inmo-imc-gae-half-drop-d5",
                                     "idcf-lightgcn-d5",
                                     "idcf-lightgcn-half-d5",
                                     "imc-gae-d5",
                                     "lightgcn-d5",
                                     "ngcf-d5",
                                     "mf-d5"};
enum { INDUCTIVE = 10 }; /* so many of them come first */

/* zoe and film are new; u1 and i5 get something they did not have; two lines say what is known already. */
static const char news[] = "zoe i0, zoe i2, u1 film, zoe film, u1 film, u1 i5, u0 i0";

/* ---- The formulas again ---------------------------------------------------------------------------------- */

/* out = W x */
static void multiply(int dim, const float *w, const double *x, double *out)
{
    for (int j = 0; j < dim; j++) {
        out[j] = 0;
        for (int k = 0; k < dim; k++)
            out[j] += w[j * dim + k] * x[k];
    }
}

/* idcf: e = Σ_h Wout_h Σ_j a_hj Wv_h k_j, a_h = softmax_j((Wq_h q)·(Wk_h k_j)). There are fewer keys than a
 * sample has, so that it is all of them. e: q before, e after. */
static void naive_attention(const struct inmo_model *model, int is_user, double *e)
{
    enum { HEADS = 4 };
    int dim = model->dim, square = dim * dim;
    const float *w =
        model->own + (is_user ? 0 : 4 * HEADS * square + (2 * HEADS + 1) * dim); /* after its biases, 0 */
    double query[32], key[32], matched[32], value[32], out[32], result[32] = {0};
    for (int h = 0; h < HEADS; h++) {
        double sum = 0, answer[32] = {0};
        multiply(dim, w + h * square, e, query);
        for (int32_t r = 0; r < model->rows; r++) {
            double weight = 0;
            if ((model->node_of_row[r] < USERS) != is_user)
                continue;
            for (int j = 0; j < dim; j++)
                key[j] = model->parameter[r * dim + j];
            multiply(dim, w + (HEADS + h) * square, key, matched);
            multiply(dim, w + (2 * HEADS + h) * square, key, value);
            for (int j = 0; j < dim; j++)
                weight += query[j] * matched[j];
            weight = exp(weight);
            sum += weight;
            for (int j = 0; j < dim; j++)
                answer[j] += weight * value[j];
        }
        for (int j = 0; j < dim; j++)
            answer[j] /= sum;
        multiply(dim, w + (3 * HEADS + h) * square, answer, out);
        for (int j = 0; j < dim; j++)
            result[j] += out[j];
    }
    memcpy(e, result, (size_t)dim * sizeof *e);
}

/* e_v: the rows of the model's templates among v's neighbours. The model's ids keep their numbers in a view, so
 * graph user n is the model's user n, and graph item n the model's item n. */
static void naive_embedding(const struct inmo_view *view, int32_t v, double *e)
{
    const struct inmo_model *model = view->model;
    const struct inmo_graph *graph = view->snapshot->graph;
    int is_user = v < graph->users, count = 0;
    int32_t number = is_user ? v : v - graph->users;
    memset(e, 0, (size_t)model->dim * sizeof *e);
    if (!model->kind->provider->templates) {
        int known = number < (is_user ? USERS : ITEMS);
        for (int j = 0; j < model->dim && known; j++)
            e[j] = model->parameter[(number + (is_user ? 0 : USERS)) * model->dim + j];
        for (int j = 0; j < model->dim && !known && model->kind->provider->inductive; j++)
            for (int n = 0; n < USERS + ITEMS; n++)
                e[j] += model->parameter[n * model->dim + j] / (double)(USERS + ITEMS);
        return;
    }
    for (int64_t n = graph->offset[v]; n < graph->offset[v + 1]; n++)
        for (int32_t r = 0; r < model->rows; r++) {
            int32_t node = model->node_of_row[r], w = graph->neighbour[n];
            if ((node < USERS ? node : node - USERS + graph->users) != w)
                continue;
            count++;
            for (int j = 0; j < model->dim; j++)
                e[j] += model->parameter[r * model->dim + j];
        }
    if (model->kind->provider->additive == 0) {
        naive_attention(model, is_user, e);
        return;
    }
    for (int j = 0; j < model->dim; j++)
        e[j] = (e[j] + model->parameter[(model->rows + !is_user) * model->dim + j]) / (count + 1);
}

/* NGCF: m = mean of x over v and its neighbours; y = LeakyReLU(W1 m + b1 + W2 (x_v m) + b2); r = (e, y^1/|y^1|,
 * ...). */
static void naive_ngcf(const struct inmo_view *view, double *r)
{
    const struct inmo_graph *graph = view->snapshot->graph;
    int dim = view->model->dim;
    double x[32 * 32], y[32 * 32];
    for (int32_t v = 0; v < graph->nodes; v++) {
        naive_embedding(view, v, x + v * dim);
        memcpy(r + v * view->snapshot->scorer.dim, x + v * dim, (size_t)dim * sizeof *r);
    }
    for (int l = 0; l < view->model->layers; l++) {
        const float *w1 = view->model->own + l * 2 * dim * (dim + 1), *b1 = w1 + dim * dim, *w2 = b1 + dim;
        for (int32_t v = 0; v < graph->nodes; v++) {
            double m[32], norm = 0;
            for (int j = 0; j < dim; j++) {
                m[j] = x[v * dim + j];
                for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++)
                    m[j] += x[graph->neighbour[e] * dim + j];
                m[j] /= (double)inmo_graph_degree(graph, v) + 1;
            }
            for (int j = 0; j < dim; j++) {
                double sum = (double)b1[j] + w2[dim * dim + j];
                for (int k = 0; k < dim; k++)
                    sum += w1[j * dim + k] * m[k] + w2[j * dim + k] * x[v * dim + k] * m[k];
                y[v * dim + j] = sum > 0 ? sum : 0.2 * sum;
                norm += y[v * dim + j] * y[v * dim + j];
            }
            for (int j = 0; j < dim; j++)
                r[v * view->snapshot->scorer.dim + (l + 1) * dim + j] = y[v * dim + j] / sqrt(norm);
        }
        memcpy(x, y, sizeof x);
    }
}

/* lightgcn: r = (r^0 + ... + r^K)/(K + 1), r^{l+1}_v = Σ_w r^l_w / sqrt(d_v d_w); imc-gae: the same with r^0 =
 * (e, g, s) and r = Σ r^l/(l + 1). */
static void naive_representations(const struct inmo_view *view, double *r)
{
    const struct inmo_graph *graph = view->snapshot->graph;
    size_t dim = (size_t)view->snapshot->scorer.dim, size = (size_t)graph->nodes * dim,
           d = (size_t)view->model->dim;
    int weighted = strcmp(view->model->kind->backbone->name, "imc-gae") == 0;
    double *now, *next;
    if (strcmp(view->model->kind->backbone->name, "ngcf") == 0) {
        naive_ngcf(view, r);
        return;
    }
    now = calloc(size, sizeof *now);
    next = calloc(size, sizeof *next);
    assert_true(now && next);
    for (int32_t v = 0; v < graph->nodes; v++) {
        naive_embedding(view, v, now + (size_t)v * dim);
        for (size_t j = 0; j < d && weighted; j++) {
            now[(size_t)v * dim + d + j] = view->model->own[(v < graph->users ? 0 : d) + j];
            now[(size_t)v * dim + 2 * d + j] = view->model->own[2 * d + j];
        }
    }
    memcpy(r, now, size * sizeof *r);
    for (int l = 0; l < view->model->layers; l++) {
        memset(next, 0, size * sizeof *next);
        for (int32_t v = 0; v < graph->nodes; v++)
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
                int32_t w = graph->neighbour[e];
                double root = sqrt((double)inmo_graph_degree(graph, v) * (double)inmo_graph_degree(graph, w));
                for (size_t j = 0; j < dim; j++)
                    next[(size_t)v * dim + j] += now[(size_t)w * dim + j] / root;
            }
        memcpy(now, next, size * sizeof *now);
        for (size_t n = 0; n < size; n++)
            r[n] += weighted ? now[n] / (l + 2) : now[n];
    }
    for (size_t n = 0; n < size; n++)
        r[n] /= weighted ? 1 : view->model->layers + 1;
    free(next);
    free(now);
}

static void test_observed_representations(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++) {
        struct world world = open_world(models[m], news);
        const struct inmo_graph *graph = world.view->snapshot->graph;
        double expected[32 * 32];
        assert_int_equal(graph->users, USERS + 1);
        assert_int_equal(graph->items, ITEMS + 1);
        assert_int_equal(graph->edges, 16 + 5);
        assert_string_equal(inmo_view_user_id(world.view, USERS), "zoe");
        assert_string_equal(inmo_view_item_id(world.view, ITEMS), "film");
        naive_representations(world.view, expected);
        for (int32_t n = 0; n < graph->nodes * world.view->snapshot->scorer.dim; n++)
            assert_near(world.view->snapshot->scorer.r[n], expected[n], 1e-6);
        close_world(&world);
    }
}

/* ---- What it changes ------------------------------------------------------------------------------------- */

static void test_new_users_and_items(void **state)
{
    (void)state;
    for (size_t m = 0; m < INDUCTIVE; m++) {
        struct world before = open_world(models[m], NULL), after = open_world(models[m], news);
        struct inmo_query query = query_of("zoe", NULL, 0);
        struct inmo_list *list = recommended(after.view, &query), *u1[2];
        assert_int_equal(list->count, ITEMS + 1 - 3);
        assert_true(!entry_of(list, "i0") && !entry_of(list, "i2") && !entry_of(list, "film"));
        inmo_list_free(list);
        query.user = "u4"; /* who has nothing new is offered the new item */
        list = recommended(after.view, &query);
        assert_non_null(entry_of(list, "film"));
        inmo_list_free(list);
        /* u1 has seen i5 and film by now, and what i5 and film say about u1 counts. */
        query.user = "u1";
        u1[0] = recommended(before.view, &query);
        u1[1] = recommended(after.view, &query);
        assert_non_null(entry_of(u1[0], "i5"));
        assert_null(entry_of(u1[1], "i5"));
        assert_null(entry_of(u1[1], "film"));
        assert_int_equal(u1[0]->count, ITEMS - 1);
        assert_int_equal(u1[1]->count, ITEMS + 1 - 3);
        if (before.model->layers > 0) /* under mf only templates count, which i5 and film are not */
            assert_true(fabs(entry_of(u1[0], "i4")->score - entry_of(u1[1], "i4")->score) > 1e-6);
        inmo_list_free(u1[1]);
        inmo_list_free(u1[0]);
        close_world(&after);
        close_world(&before);
    }
}

/* New interactions between nodes the model knows move the scores and, with them, the list. */
static void test_list_changes(void **state)
{
    struct world before = open_world("inmo-lightgcn-d5", NULL),
                 after = open_world("inmo-lightgcn-d5", "u6 i2, u6 i3");
    struct inmo_query query = query_of("u6", NULL, 0);
    struct inmo_list *old = recommended(before.view, &query), *fresh = recommended(after.view, &query);
    int moved = 0;
    size_t at = 0;
    (void)state;
    assert_int_equal(old->count, ITEMS - 1);
    assert_int_equal(fresh->count, ITEMS - 3);
    for (size_t n = 0; n < old->count; n++) {
        if (strcmp(old->entry[n].id, "i2") == 0 || strcmp(old->entry[n].id, "i3") == 0)
            continue;
        moved |= strcmp(old->entry[n].id, fresh->entry[at++].id) != 0;
    }
    assert_int_equal(at, fresh->count);
    assert_true(moved);
    inmo_list_free(fresh);
    inmo_list_free(old);
    close_world(&after);
    close_world(&before);
}

/* A history given with the question, or observed under a name: for inmo-mf the same, as no template is touched.
 * With layers the observed person also moves the others a little, so the two only come close. */
static void test_folded_or_observed(void **state)
{
    static const char *const history[] = {"i0", "i2", "i7"};
    (void)state;
    for (size_t m = 0; m < INDUCTIVE; m++) {
        struct inmo_error error = {0};
        struct world without = open_world(models[m], NULL), with = open_world(models[m], "zoe i0, zoe i2, zoe i7");
        struct inmo_query unseen = query_of(NULL, history, COUNT(history)), known = query_of("zoe", NULL, 0);
        struct asking folded, observed;
        double dot = 0, norm[2] = {0, 0}, worst = 0;
        must(ask(without.view, &unseen, &folded, &error));
        must(ask(with.view, &known, &observed, &error));
        for (int j = 0; j < without.view->snapshot->scorer.dim; j++) {
            dot += (double)folded.person.r[j] * observed.person.r[j];
            norm[0] += (double)folded.person.r[j] * folded.person.r[j];
            norm[1] += (double)observed.person.r[j] * observed.person.r[j];
            worst = fmax(worst, fabs((double)folded.person.r[j] - observed.person.r[j]));
        }
        if (without.model->layers == 0)
            assert_near(worst, 0, 1e-6);
        else
            assert_true(worst > 1e-6 && dot > 0.9 * sqrt(norm[0] * norm[1]));
        asked(&observed);
        asked(&folded);
        close_world(&with);
        close_world(&without);
    }
}

/* A lookup model has no vectors for what is new: it says so, and never offers the new item. */
static void test_lookup_models(void **state)
{
    (void)state;
    for (size_t m = INDUCTIVE; m < COUNT(models); m++) {
        struct inmo_error error = {0};
        struct world world = open_world(models[m], news);
        struct inmo_query query = query_of("zoe", NULL, 0);
        struct inmo_list *list = NULL;
        must_fail(inmo_recommend(world.view, &query, &list, &error), INMO_UNSUPPORTED, "zoe");
        assert_null(list);
        query.user = "u4";
        query.include_seen = 1;
        list = recommended(world.view, &query);
        assert_int_equal(list->count, ITEMS);
        assert_null(entry_of(list, "film"));
        inmo_list_free(list);
        close_world(&world);
    }
}

static void test_popular(void **state)
{
    static const char *const history[] = {"tea", "nowhere"};
    struct inmo_dataset *data = dataset_of("ann tea train, bob tea train, ann milk train, bob cola valid");
    struct inmo_train_options options = small_options("popular");
    struct inmo_model *model = trained(data, &options);
    struct inmo_log *log = log_of("cat soup, dan soup, eve soup");
    struct inmo_error error = {0};
    struct inmo_view *view = NULL;
    struct inmo_query query = query_of(NULL, history, COUNT(history));
    struct inmo_list *list;
    (void)state;
    /* The model knows what had training interactions, which cola has not. */
    must(inmo_view_create(model, log, &view, &error));
    list = recommended(view, &query); /* soup 3, milk 1, tea seen */
    assert_int_equal(list->count, 2);
    assert_string_equal(list->entry[0].id, "soup");
    assert_near(list->entry[0].score, 3, 0);
    assert_string_equal(list->entry[1].id, "milk");
    assert_int_equal(list->unknown_items, 1);
    assert_int_equal(list->fallback, 0); /* popularity is what this model does */
    inmo_list_free(list);
    inmo_view_free(view);
    inmo_log_free(log);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* ---- Everybody at once ----------------------------------------------------------------------------------- */

struct everybody {
    const struct inmo_view *view;
    int k, include_seen, rows, stop_after;
    int32_t next; /* user expected */
};

/* The list is that of the same user asked alone. Near ties may stand the other way round: the two add up the
 * products in another order. */
static int compare_row(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    struct everybody *all = context;
    struct inmo_query query = query_of(user, NULL, 0);
    struct inmo_list *alone;
    query.k = all->k;
    query.include_seen = all->include_seen;
    alone = recommended(all->view, &query);
    assert_string_equal(user, inmo_view_user_id(all->view, all->next++));
    assert_int_equal(count, alone->count);
    for (size_t n = 0; n < count; n++) {
        assert_near(entry[n].score, alone->entry[n].score, 1e-6);
        if (entry_of(alone, entry[n].id))
            assert_near(entry_of(alone, entry[n].id)->score, entry[n].score, 1e-6);
        else /* only at the end, where another with the same score stands instead */
            assert_near(entry[n].score, alone->entry[count - 1].score, 1e-6);
    }
    inmo_list_free(alone);
    return ++all->rows == all->stop_after;
}

static void test_recommend_all(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++)
        for (int options = 0; options < 4; options++) {
            struct inmo_error error = {0};
            struct world world = open_world(models[m], news);
            struct everybody all = {world.view, options & 1 ? 4 : 100, options & 2, 0, 0, 0};
            inmo_set_threads(1 + (options & 1));
            must(inmo_recommend_all(world.view,
                                    &(struct inmo_query){.size = sizeof(struct inmo_query),
                                                         .k = all.k,
                                                         .include_seen = all.include_seen},
                                    NULL, compare_row, &all, &error));
            assert_int_equal(all.rows, m < INDUCTIVE ? USERS + 1 : USERS); /* zoe is none of a lookup model's */
            all.rows = all.next = 0;
            all.stop_after = 3;
            must_fail(inmo_recommend_all(world.view,
                                         &(struct inmo_query){.size = sizeof(struct inmo_query),
                                                              .k = all.k,
                                                              .include_seen = all.include_seen},
                                         NULL, compare_row, &all, &error),
                      INMO_INTERRUPTED, "stopped");
            assert_int_equal(all.rows, 3);
            must_fail(inmo_recommend_all(
                          world.view,
                          &(struct inmo_query){.size = sizeof(struct inmo_query), .k = 0, .include_seen = 0}, NULL,
                          compare_row, &all, &error),
                      INMO_USAGE, "`k`: found 0");
            close_world(&world);
        }
    inmo_set_threads(1);
}

/* ---- Neighbours ------------------------------------------------------------------------------------------ */

static double cosine(const float *a, const float *b, int dim)
{
    double ab = 0, aa = 0, bb = 0;
    for (int j = 0; j < dim; j++) {
        ab += (double)a[j] * b[j];
        aa += (double)a[j] * a[j];
        bb += (double)b[j] * b[j];
    }
    return ab / sqrt(aa * bb);
}

static void test_similar(void **state)
{
    struct inmo_error error = {0};
    struct world world = open_world("inmo-lightgcn-d5", news);
    struct inmo_view *view = world.view;
    struct inmo_list *list = NULL;
    (void)state;
    for (int is_item = 0; is_item < 2; is_item++) {
        const char *item = is_item ? "film" : NULL, *user = is_item ? NULL : "u0";
        int32_t count = is_item ? ITEMS + 1 : USERS + 1, self = is_item ? ITEMS : 0;
        const float *row = is_item ? inmo_snapshot_item_row(view->snapshot, 0) : view->snapshot->scorer.r;
        must(inmo_similar(view, item, user, 100, &list, &error));
        assert_int_equal(list->count, count - 1); /* not itself */
        for (int32_t n = 0; n < count; n++) {
            const char *id = is_item ? inmo_view_item_id(view, n) : inmo_view_user_id(view, n);
            if (n == self)
                assert_null(entry_of(list, id));
            else
                assert_near(entry_of(list, id)->score, cosine(row + self * 5, row + n * 5, 5), 1e-5);
        }
        for (size_t n = 1; n < list->count; n++)
            assert_true(list->entry[n - 1].score >= list->entry[n].score);
        inmo_list_free(list);
        list = NULL;
    }
    must(inmo_similar(view, "i0", NULL, 2, &list, &error));
    assert_int_equal(list->count, 2);
    inmo_list_free(list);
    list = NULL;
    must_fail(inmo_similar(view, "i0", "u0", 2, &list, &error), INMO_USAGE, "either");
    must_fail(inmo_similar(view, NULL, NULL, 2, &list, &error), INMO_USAGE, "either");
    must_fail(inmo_similar(view, "i0", NULL, 0, &list, &error), INMO_USAGE, "`k`: found 0");
    must_fail(inmo_similar(view, "nothing", NULL, 2, &list, &error), INMO_UNKNOWN, "item 'nothing'");
    must_fail(inmo_similar(view, NULL, "nobody", 2, &list, &error), INMO_UNKNOWN, "user 'nobody'");
    assert_null(list);
    close_world(&world);
}

/* ---- Every allocation fails once -------------------------------------------------------------------------- */

static int count_rows(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    (void)user;
    (void)count;
    (void)entry;
    ++*(int *)context;
    return 0;
}

static enum inmo_status run_call(int call, const struct world *world, const struct inmo_log *log,
                                 struct inmo_error *error)
{
    struct inmo_query query = query_of("u0", NULL, 0);
    struct inmo_view *view = NULL;
    struct inmo_list *list = NULL;
    struct inmo_explanation *explanation = NULL;
    enum inmo_status status;
    int rows = 0;
    switch (call) {
    case 0: status = inmo_view_create(world->model, log, &view, error); break;
    case 1: status = inmo_recommend(world->view, &query, &list, error); break;
    case 2: status = inmo_explain(world->view, &query, "i3", &explanation, error); break;
    case 3: status = inmo_similar(world->view, "i3", NULL, 5, &list, error); break;
    default:
        status = inmo_recommend_all(
            world->view, &(struct inmo_query){.size = sizeof(struct inmo_query), .k = 5, .include_seen = 0}, NULL,
            count_rows, &rows, error);
        break;
    }
    if (status != INMO_OK)
        assert_true(!view && !list && !explanation && rows == 0); /* outputs untouched */
    inmo_view_free(view);
    inmo_list_free(list);
    inmo_explanation_free(explanation);
    return status;
}

static void test_out_of_memory(void **state)
{
    struct inmo_log *log = log_of(news);
    struct world world = open_world("inmo-lightgcn-half-d5", NULL), lookup = open_world("lightgcn-d5", news);
    (void)state;
    for (int call = 0; call < 10; call++) {
        struct inmo_error error = {0};
        enum inmo_status status = INMO_MEMORY;
        long allowed = 0;
        for (; status == INMO_MEMORY; allowed++) {
            inmo_alloc_fail_after(allowed);
            status = run_call(call % 5, call < 5 ? &world : &lookup, log, &error);
            inmo_alloc_fail_after(-1);
            if (status == INMO_MEMORY)
                assert_int_equal(error.code, INMO_MEMORY);
        }
        assert_int_equal(status, INMO_OK);
        assert_true(allowed > 1); /* a warm request allocates its list, and nothing else */
    }
    close_world(&lookup);
    close_world(&world);
    inmo_log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_observed_representations),
        cmocka_unit_test(test_new_users_and_items),
        cmocka_unit_test(test_list_changes),
        cmocka_unit_test(test_folded_or_observed),
        cmocka_unit_test(test_lookup_models),
        cmocka_unit_test(test_popular),
        cmocka_unit_test(test_recommend_all),
        cmocka_unit_test(test_similar),
        cmocka_unit_test(test_out_of_memory),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
