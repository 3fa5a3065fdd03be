/* test_link_choice.c - which ridge and exponent of popularity item links have: every candidate is solved, ranked by
 * and trained with here, one after the other. */
#include "linked.h"

#include "base/random.h"
#include "eval/validate.h"

/* NDCG@20 of the users of the validation part by the links of a rule alone. */
static int32_t links_alone(const struct inmo_dataset *data, const struct inmo_link_rule *rule, float *ndcg)
{
    struct inmo_error error = {0};
    const struct inmo_csr *lists[1] = {&data->train};
    struct inmo_graph *graph = NULL;
    struct inmo_links *links = NULL;
    struct inmo_validation *validation = NULL;
    struct inmo_scorer scorer = {.dim = 1};
    int32_t users = 0;
    must(inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error));
    must(inmo_links_solve(graph, rule, NULL, NULL, &links, &error));
    must(inmo_validation_new(&data->valid, &data->train, 20, 0, &validation, &error));
    scorer.graph = graph;
    scorer.r = calloc((size_t)graph->nodes, sizeof *scorer.r);
    assert_non_null(scorer.r);
    must(inmo_validation_links_ndcg(validation, &scorer, links, ndcg, &users, &error));
    free(scorer.r);
    inmo_validation_free(validation);
    inmo_links_free(links);
    inmo_graph_free(graph);
    return users;
}

enum { USERS = 200 };

/* Users have the first ten items often and the others seldom, at random; a fifth of them is for validation. */
static struct inmo_dataset *uneven_data(void)
{
    enum { ITEMS = 100 };
    static int64_t offset[2][USERS + 1];
    static int32_t item[2][USERS * ITEMS];
    struct inmo_interactions part[2] = {{USERS, ITEMS, offset[0], item[0], 0},
                                        {USERS, ITEMS, offset[1], item[1], 0}};
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    for (int u = 0; u < USERS; u++) {
        for (int i = 0; i < ITEMS; i++) {
            uint64_t draw = (uint64_t)(u * ITEMS + i);
            int valid = inmo_random_unit(inmo_random(1, draw)) < 0.2;
            if (i == u % ITEMS || inmo_random_unit(inmo_random(2, draw)) < (i < 10 ? 0.6 : 0.1))
                item[valid][part[valid].count++] = i;
        }
        offset[0][u + 1] = part[0].count;
        offset[1][u + 1] = part[1].count;
    }
    must(inmo_dataset_from_matrices(&part[0], &part[1], NULL, NULL, &data, &error));
    return data;
}

/* The validation score of a training whose links have this ridge and exponent. */
static double score_by(const struct inmo_dataset *data, struct inmo_train_options options, double ridge,
                       double exponent)
{
    struct inmo_error error = {0};
    struct inmo_train_report report;
    struct inmo_model *model = NULL;
    options.link_ridge = ridge;
    options.link_popularity = exponent;
    must(inmo_train(data, &options, NULL, &model, &report, &error));
    inmo_model_free(model);
    return report.best_score;
}

static const struct {
    double ridge, share;
} ridges[] = {{10, 0.3}, {30, 1}, {100, 1}, {300, 1}};

static double sum_of(const float *ndcg, int32_t users)
{
    double sum = 0;
    for (int32_t u = 0; u < users; u++)
        sum += ndcg[u];
    return sum;
}

/* Replaces the ridge of a rule by the one that ranks best by links alone. Returns the users, and what they get. */
static int32_t best_ridge(const struct inmo_dataset *data, struct inmo_link_rule *rule, float *best)
{
    struct inmo_link_rule tried = *rule;
    float ndcg[USERS];
    double highest = -1;
    int32_t users = 0;
    for (size_t n = 0; n < COUNT(ridges); n++) {
        tried.ridge = ridges[n].ridge;
        tried.share = ridges[n].share;
        users = links_alone(data, &tried, ndcg);
        if (sum_of(ndcg, users) > highest) {
            highest = sum_of(ndcg, users);
            *rule = tried;
            memcpy(best, ndcg, sizeof ndcg);
        }
    }
    return users;
}

/* The same of an exponent other than that of the vectors, the one that ranks best. */
static struct inmo_link_rule best_other(const struct inmo_dataset *data, struct inmo_link_rule rule,
                                        double of_vectors, float *best)
{
    static const double exponents[] = {-0.2, -0.1, 0};
    struct inmo_link_rule other = rule;
    float ndcg[USERS];
    double highest = -1;
    for (size_t n = 0; n < COUNT(exponents); n++) {
        int32_t users;
        rule.popularity = exponents[n];
        if (exponents[n] == of_vectors)
            continue;
        users = best_ridge(data, &rule, ndcg);
        if (sum_of(ndcg, users) > highest) {
            highest = sum_of(ndcg, users);
            other = rule;
            memcpy(best, ndcg, sizeof ndcg);
        }
    }
    return other;
}

/* Whether one is better than the other by three standard errors of the difference. */
static int is_clear(const float *better, const float *worse, int32_t users)
{
    double sum = 0, squares = 0;
    for (int32_t u = 0; u < users; u++) {
        sum += (double)better[u] - worse[u];
        squares += ((double)better[u] - worse[u]) * ((double)better[u] - worse[u]);
    }
    return sum / users > 3 * sqrt((squares / users - sum / users * sum / users) / users);
}

/* Links alone say which two ridges and exponents to consider, that of the vectors and the best other one; the
 * whole score decides. Where weights are given links alone do: another exponent must be better by three standard
 * errors. */
static void test_popularity(void **state)
{
    static const double of_vectors[] = {2, -2, -0.2, 0, 0.1};
    struct inmo_error error = {0};
    struct inmo_dataset *data = uneven_data();
    struct inmo_train_options options = small_options("inmo-lightgcn");
    struct inmo_train_report report;
    struct inmo_model *model;
    int replaced = 0, clear = 0, other_ridge = 0;
    (void)state;
    options.refit = "none";                  /* the links are those of the training part */
    options.epochs = options.eval_every = 1; /* the exponent must not decide which epoch is the best */
    for (size_t v = 0; v < COUNT(of_vectors); v++) {
        float by_first[USERS], by_other[USERS];
        struct inmo_link_rule first, other;
        double stays, changes;
        int32_t users;
        options.popularity = of_vectors[v];
        options.links = options.walks = INMO_AUTO;
        must(inmo_train(data, &options, NULL, &model, &report, &error));
        first = model->link_rule;
        first.popularity = of_vectors[v];
        users = best_ridge(data, &first, by_first);
        other = best_other(data, first, of_vectors[v], by_other);
        stays = score_by(data, options, first.ridge, first.popularity);
        changes = score_by(data, options, other.ridge, other.popularity);
        assert_true(stays != changes); /* or nothing would be tested */
        assert_true(model->link_rule.popularity == (changes > stays ? other : first).popularity);
        assert_true(model->link_rule.ridge == (changes > stays ? other : first).ridge);
        assert_near(report.best_score, fmax(stays, changes), 1e-6);
        if (model->links > 0)
            check_links(model);
        replaced += changes > stays;
        other_ridge += first.ridge != other.ridge;
        inmo_model_free(model);

        options.links = options.walks = 1;
        model = trained(data, &options);
        assert_true(model->link_rule.popularity ==
                    (is_clear(by_other, by_first, users) ? other : first).popularity);
        check_links(model);
        clear += is_clear(by_other, by_first, users);
        inmo_model_free(model);
    }
    /* or one side would not be tested */
    assert_in_range(replaced, 1, COUNT(of_vectors) - 1);
    assert_in_range(clear, 1, COUNT(of_vectors) - 1);
    assert_true(other_ridge > 0);
    options.link_popularity = 0.7;
    model = trained(data, &options);
    assert_true(model->link_rule.popularity == 0.7);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_popularity),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
