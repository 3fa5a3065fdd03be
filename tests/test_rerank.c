/* Lists chosen again: maximal marginal relevance, boosts and quotas against an obvious twin, and through every way
 * of asking for lists. */
#include "support.h"

#include "base/random.h"
#include "kernel/kernel.h"
#include "score/rerank.h"

#include <math.h>

enum { MOST = 64, DIM = 7, ITEMS = 90 };

/* ---- The twin: for every place of the list, everything from the definition, in double ------------------------ */

static double cosine(const struct inmo_rerank *rules, int32_t a, int32_t b)
{
    double dot = 0, x = 0, y = 0;
    if (a >= rules->vectors || b >= rules->vectors)
        return 0;
    for (int d = 0; d < rules->dim; d++) {
        double p = rules->vector[a * rules->dim + d], q = rules->vector[b * rules->dim + d];
        dot += p * q;
        x += p * p;
        y += q * q;
    }
    return x > 0 && y > 0 ? dot / sqrt(x * y) : 0;
}

static int fits(const struct inmo_rerank *rules, const int32_t *list, int32_t length, int32_t item)
{
    for (int q = 0; q < rules->quotas; q++)
        for (int64_t e = rules->quota[q].offset[item]; e < rules->quota[q].offset[item + 1]; e++) {
            int same = 0;
            for (int32_t n = 0; n < length; n++)
                for (int64_t f = rules->quota[q].offset[list[n]]; f < rules->quota[q].offset[list[n] + 1]; f++)
                    same += rules->quota[q].category[f] == rules->quota[q].category[e];
            if (same >= rules->quota[q].most)
                return 0;
        }
    return 1;
}

static int32_t twin(const struct inmo_rerank *rules, int32_t count, const int32_t *item, const float *score,
                    int32_t k, int32_t *list)
{
    double boosted[MOST], low = INFINITY, high = -INFINITY;
    int32_t length = 0;
    for (int32_t n = 0; n < count; n++) {
        double factor = rules->factor ? rules->factor[item[n]] : 1;
        boosted[n] = score[n] + (factor - 1) * fabs(score[n]);
        low = fmin(low, boosted[n]);
        high = fmax(high, boosted[n]);
    }
    while (length < k) {
        int32_t best = -1;
        double value = -INFINITY;
        for (int32_t n = 0; n < count; n++) {
            double relevance = high > low ? (boosted[n] - low) / (high - low) : 1, near = -INFINITY;
            int taken = 0;
            for (int32_t m = 0; m < length; m++) {
                taken |= list[m] == item[n];
                near = fmax(near, cosine(rules, item[n], list[m]));
            }
            if (length > 0)
                relevance = (1 - rules->diversity) * relevance - rules->diversity * near;
            if (!taken && relevance > value && fits(rules, list, length, item[n])) {
                value = relevance;
                best = item[n];
            }
        }
        if (best < 0)
            break;
        list[length++] = best;
    }
    return length;
}

static void test_twin(void **state)
{
    static float vector[ITEMS * DIM], factor[ITEMS], space[MOST * (DIM + 5) + 64];
    static const double diversity[] = {0, 0.1, 0.5, 0.9, 1};
    int64_t offset[ITEMS + 1];
    int32_t category[2 * ITEMS];
    struct inmo_quota quota = {.categories = 6, .offset = offset, .category = category};
    uint64_t n = 0;
    (void)state;
    for (int t = 0; t < 400; t++) {
        struct inmo_rerank rules = {.items = ITEMS, .dim = DIM, .vector = vector, .vectors = ITEMS};
        int32_t item[MOST], list[MOST], count = 1 + t % MOST, k = 1 + t * 7 % 25, found, expected;
        float score[MOST];
        int64_t at = 0;
        rules.diversity = diversity[t % 5];
        for (int i = 0; i < ITEMS * DIM; i++)
            vector[i] = (float)inmo_random_normal(2, n++);
        memset(vector + 3 * DIM, 0, DIM * sizeof *vector); /* an item that is like no other */
        for (int32_t i = 0; i < ITEMS; i++) {
            factor[i] = (float)(2 * inmo_random_unit(inmo_random(3, n++)));
            offset[i] = at;
            for (int c = 0; c < 6; c++)
                if (inmo_random_unit(inmo_random(4, n++)) < 0.2 && at - offset[i] < 2)
                    category[at++] = c;
        }
        offset[ITEMS] = at;
        quota.most = 1 + t % 4;
        rules.quota = &quota;
        rules.quotas = t % 3 == 0;
        rules.factor = t % 2 ? factor : NULL;
        for (int32_t j = 0; j < count; j++) {
            item[j] = (j * 37 + t) % ITEMS;
            /* best first; some below zero */
            score[j] = (float)(3 - 0.1 * j + 0.01 * inmo_random_unit(inmo_random(5, n++)));
        }
        expected = twin(&rules, count, item, score, k, list);
        assert_true(inmo_rerank_space(&rules, count) <= COUNT(space));
        found = inmo_rerank(&rules, count, item, score, k, space);
        assert_int_equal(found, expected);
        assert_memory_equal(item, list, (size_t)expected * sizeof *list);
    }
}

/* By hand: three items on two axes. With d = 0.5 the second is not the next best, which points where the first
 * does. */
static void test_by_hand(void **state)
{
    static const float vector[] = {1, 0, 1, 0.01F, 0, 1};
    struct inmo_rerank rules = {.diversity = 0.5, .items = 3, .dim = 2, .vector = vector, .vectors = 3};
    int32_t item[] = {0, 1, 2};
    float score[] = {1, 0.9F, 0.5F}, space[3 * 7];
    (void)state;
    /* relevance 1, 0.8, 0; after item 0: 0.5 * 0.8 - 0.5 * 0.99995 = -0.1, and 0.5 * 0 - 0.5 * 0 = 0 */
    assert_int_equal(inmo_rerank(&rules, 3, item, score, 2, space), 2);
    assert_int_equal(item[0], 0);
    assert_int_equal(item[1], 2);
    assert_true(score[0] == 1 && score[1] == 0.5F);
}

/* ---- Through the view ---------------------------------------------------------------------------------------- */

struct collected {
    char *text;
    size_t users;
};

static int collect(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    struct collected *all = context;
    size_t used = strlen(all->text);
    used += (size_t)sprintf(all->text + used, "%s:", user);
    for (size_t n = 0; n < count; n++)
        used += (size_t)sprintf(all->text + used, " %s", entry[n].id);
    strcpy(all->text + used, "\n");
    all->users++;
    return 0;
}

static void test_every_way_of_asking(void **state)
{
    static const char *const models[] = {"inmo-mf", "inmo-lightgcn", "ials", "ease", "popular"};
    static const char *const where[] = {"kind=even|odd", "kind!=odd"}, *const boost[] = {"third=yes:1.5"},
                             *const at_most[] = {"2:tens"};
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(60, 50, 8, "80/10/10");
    struct inmo_titles *titles = NULL;
    FILE *stream = fopen("rerank-titles.csv", "w");
    struct inmo_id_table users, items;
    (void)state;
    inmo_dataset_ids(data, &users, &items);
    fputs("id,title,kind,third,tens\n", stream);
    for (int64_t n = 0; n < items.count; n++)
        fprintf(stream, "%s,Item %d,%s,%s,%d\n", items.text + items.offset[n], (int)n, n % 2 ? "odd" : "even",
                n % 3 ? "no" : "yes", (int)n / 10);
    fclose(stream);
    must(inmo_titles_read("rerank-titles.csv", NULL, &titles, &error));
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_train_options train = small_options(models[m]);
        struct inmo_model *model = trained(data, &train);
        struct inmo_view *view = NULL;
        struct inmo_rule_options options;
        struct inmo_rules *rules = NULL;
        struct inmo_query query;
        struct inmo_rows_query rows;
        struct collected all = {calloc(1, 1 << 20), 0}, one = {calloc(1, 1 << 20), 0};
        int has_vectors = m < 3;
        must(inmo_view_create(model, NULL, &view, &error));
        inmo_rule_options_init(&options);
        options.diversity = 0.4;
        options.where = where;
        options.where_count = 2;
        options.boost = boost;
        options.boost_count = 1;
        options.at_most = at_most;
        options.at_most_count = 1;
        if (!has_vectors) {
            must_fail(inmo_rules_create(view, titles, &options, &rules, &error), INMO_UNSUPPORTED,
                      "has no vectors");
            assert_null(rules);
            options.diversity = 0;
        }
        must(inmo_rules_create(view, titles, &options, &rules, &error));
        inmo_query_init(&query);
        query.k = 6;
        query.rules = rules;
        must(inmo_recommend_all(view, &query, NULL, collect, &all, &error));
        for (int64_t u = 0; u < users.count; u++) {
            struct inmo_list *list = NULL;
            int tens[10] = {0};
            query.user = users.text + users.offset[u];
            must(inmo_recommend(view, &query, &list, &error));
            for (size_t n = 0; n < list->count; n++) {
                int64_t row = inmo_titles_row(titles, list->entry[n].id);
                assert_true(row >= 0 && row % 2 == 0); /* even ones only */
                assert_true(++tens[row / 10] <= 2);
            }
            collect(&one, query.user, list->count, list->entry);
            inmo_list_free(list);
        }
        assert_string_equal(all.text, one.text);
        /* by numbers, few and many */
        for (int count = 10; count <= 60; count += 50) {
            int64_t who[60], offset[61] = {0};
            int32_t item[60 * 6];
            float score[60 * 6];
            const char *line = one.text;
            inmo_rows_query_init(&rows);
            for (int n = 0; n < count; n++)
                who[n] = n;
            rows.count = (size_t)count;
            rows.user = who;
            rows.offset = offset;
            rows.exclude_past = 1;
            rows.k = 6;
            rows.rules = rules;
            must(inmo_recommend_rows(view, &rows, NULL, item, score, &error));
            for (int n = 0; n < count; n++) {
                char text[512];
                int used = sprintf(text, "%s:", inmo_view_user_id(view, n));
                for (int j = 0; j < 6 && item[n * 6 + j] >= 0; j++)
                    used += sprintf(text + used, " %s", inmo_view_item_id(view, item[n * 6 + j]));
                assert_true(strstr(line, text) != NULL);
            }
        }
        free(one.text);
        free(all.text);
        inmo_rules_free(rules);
        inmo_view_free(view);
        inmo_model_free(model);
    }
    inmo_titles_free(titles);
    remove("rerank-titles.csv");
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_every_way_of_asking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
