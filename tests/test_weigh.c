/* test_weigh.c - the lists of many weights in turn against those of sorting everything. Scores are small whole
 * numbers, so that many are equal. */
#include "support.h"

#include "base/random.h"
#include "eval/weigh_trial.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS = 300, MOST_K = 20, TRIALS = 60 };

struct scored {
    float score;
    int32_t item;
};

static int better_first(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score) - (x->score > y->score)
                                : (x->item > y->item) - (x->item < y->item);
}

static float draw(uint64_t *at, uint32_t most)
{
    return (float)inmo_random_below(inmo_random(inmo_key(7, 79), (*at)++), most);
}

/* A share of the items is reached, in hundredths; the others have a score of their own. */
static void check_lists(uint32_t share, int32_t k, uint64_t seed)
{
    int32_t item[ITEMS], place[ITEMS] = {0}, rest_item[MOST_K], top_item[MOST_K], count = 0;
    float product[ITEMS], walk[ITEMS], link[ITEMS], prior[ITEMS], own[ITEMS];
    float rest_score[MOST_K], top_score[MOST_K];
    struct inmo_top rest = {k, 0, rest_score, rest_item}, top = {k, 0, top_score, top_item};
    struct inmo_reached reached = {0, item, place, product, walk, link, prior};
    uint64_t at = seed << 32;
    for (int32_t i = 0; i < ITEMS; i++) {
        own[i] = draw(&at, 9);
        if (draw(&at, 100) >= (float)share) {
            inmo_top_add(&rest, own[i], i);
            continue;
        }
        place[i] = count;
        item[count] = i;
        product[count] = own[i];
        walk[count] = draw(&at, 4);
        link[count] = draw(&at, 4);
        prior[count++] = draw(&at, 2);
    }
    reached.count = count;
    for (int t = 0; t < TRIALS; t++) {
        struct inmo_factors factors = {draw(&at, 5), draw(&at, 5), draw(&at, 3)};
        struct scored all[ITEMS];
        for (int32_t i = 0; i < ITEMS; i++)
            all[i] = (struct scored){own[i], i};
        for (int32_t m = 0; m < count; m++)
            all[item[m]].score += factors.walk * walk[m] + factors.link * link[m] + factors.prior * prior[m];
        qsort(all, ITEMS, sizeof *all, better_first);
        inmo_weigh_rank(&reached, &rest, factors, &top);
        assert_int_equal(top.count, k);
        for (int32_t n = 0; n < k; n++) {
            assert_int_equal(top.item[n], all[n].item);
            assert_true(top.score[n] == all[n].score);
        }
    }
}

static void test_lists(void **state)
{
    static const uint32_t share[] = {0, 3, 40, 97, 100};
    (void)state;
    for (size_t n = 0; n < COUNT(share); n++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            check_lists(share[n], MOST_K, seed);
            check_lists(share[n], 1, 100 + seed);
        }
}

/* A catalogue with fewer items than a list has places. */
static void test_few_items(void **state)
{
    static const int32_t item[] = {1, 2}, place[] = {0, 0, 1};
    static const float product[] = {1, 1}, walk[] = {0, 1}, zero[] = {0, 0};
    int32_t rest_item[4] = {0}, top_item[4];
    float rest_score[4] = {2}, top_score[4];
    struct inmo_top rest = {4, 1, rest_score, rest_item}, top = {4, 0, top_score, top_item};
    struct inmo_reached reached = {2, item, place, product, walk, zero, zero};
    (void)state;
    for (int t = 0; t < 3; t++) {
        inmo_weigh_rank(&reached, &rest, (struct inmo_factors){t == 1 ? 3 : 0, 0, 0}, &top);
        assert_int_equal(top.count, 3);
        assert_int_equal(top.item[0], t == 1 ? 2 : 0);
        assert_int_equal(top.item[1], t == 1 ? 0 : 1);
        assert_int_equal(top.item[2], t == 1 ? 1 : 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists), cmocka_unit_test(test_few_items)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
