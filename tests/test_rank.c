/* test_rank.c - the k best of a stream, and the full ranking against its naive twin: masks, candidates, short
 * lists, more users than a block and more items than a tile. Vectors hold small whole numbers, so that scores
 * are exact in float however they are added up, and ties are many and exact: the smaller item must come first. */
#include "support.h"

#include "graph/graph.h"
#include "score/rank.h"

static const uint64_t KEY = 19560817;

static uint32_t below(uint64_t stream, uint64_t counter, uint32_t n)
{
    return inmo_random_below(inmo_random(inmo_key(KEY, stream), counter), n);
}

/* ---- The k best of a stream ------------------------------------------------------------------------------ */

struct scored {
    float score;
    int32_t item;
};

static int best_first(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static void test_top(void **state)
{
    static const int32_t lengths[] = {1, 2, 7, 50, 400};
    enum { COUNT_OF_SCORES = 300 };
    (void)state;
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (uint64_t round = 0; round < 20; round++) {
            struct scored all[COUNT_OF_SCORES];
            float score[400];
            int32_t item[400], k = lengths[l], kept = k < COUNT_OF_SCORES ? k : COUNT_OF_SCORES;
            struct inmo_top top = {k, 0, score, item};
            assert_true(inmo_top_bound(&top) == -INFINITY);
            for (int32_t n = 0; n < COUNT_OF_SCORES; n++) {
                all[n] = (struct scored){(float)below(1, round * 1000 + (uint64_t)n, 40) - 20, 2 * n};
                inmo_top_add(&top, all[n].score, all[n].item);
            }
            qsort(all, COUNT_OF_SCORES, sizeof *all, best_first);
            assert_int_equal(top.count, kept);
            assert_true(inmo_top_bound(&top) == (k > COUNT_OF_SCORES ? -INFINITY : all[k - 1].score));
            inmo_top_sort(&top);
            for (int32_t n = 0; n < kept; n++) {
                assert_int_equal(item[n], all[n].item);
                assert_true(score[n] == all[n].score);
            }
        }
}

/* What is masked has the score -inf and must never get in, and neither must what is no number. */
static void test_top_refuses(void **state)
{
    float score[3];
    int32_t item[3];
    struct inmo_top top = {3, 0, score, item};
    (void)state;
    inmo_top_add(&top, -INFINITY, 0);
    inmo_top_add(&top, NAN, 1);
    assert_int_equal(top.count, 0);
    inmo_top_add(&top, -1e30f, 2);
    assert_int_equal(top.count, 1);
}

/* ---- Full ranking ---------------------------------------------------------------------------------------- */

enum { DIM = 3 };

/* Whole numbers from -2 to 2. */
static float *whole_numbers(size_t count, uint64_t stream)
{
    float *made = inmo_alloc(count, sizeof *made);
    assert_non_null(made);
    for (size_t n = 0; n < count; n++)
        made[n] = (float)below(stream, n, 5) - 2;
    return made;
}

/* User 2 has every item masked, user 5 none, the others about one of `one_in`. */
static struct inmo_csr make_mask(int32_t users, int32_t items, uint64_t stream, uint32_t one_in)
{
    int64_t *offset = inmo_alloc((size_t)users + 1, sizeof *offset), count = 0;
    int32_t *column = inmo_alloc((size_t)users * (size_t)items, sizeof *column);
    for (int32_t u = 0; u < users; u++) {
        offset[u] = count;
        for (int32_t i = 0; i < items && u != 5; i++)
            if (u == 2 || below(stream, (uint64_t)u << 32 | (uint64_t)i, one_in) == 0)
                column[count++] = i;
    }
    offset[users] = count;
    return (struct inmo_csr){users, items, offset, column, NULL};
}

/* The same scores by a function; it counts in its scratch that it is its own, and must never see more users than it
 * asked for. */
enum { AT_ONCE = 7 };
static void fill_products(const void *context, const int32_t *who, int32_t count, void *scratch, float *score)
{
    const struct inmo_rank *job = context;
    int64_t *calls = scratch;
    assert_true(count >= 1 && count <= AT_ONCE && *calls >= 0);
    ++*calls;
    for (int32_t n = 0; n < count; n++)
        for (int32_t i = 0; i < job->items; i++) {
            float dot = 0;
            for (int j = 0; j < job->dim; j++)
                dot += job->user[who[n] * job->dim + j] * job->item[i * job->dim + j];
            score[n * job->items + i] = dot;
        }
}

/* Lists are those of the twin, at one and two threads, by products and by a function that fills; the scores are
 * those of the items in them. */
static void check_rank(struct inmo_rank job)
{
    struct inmo_error error = {0};
    size_t size = (size_t)job.count * (size_t)job.k;
    int32_t *expected = inmo_alloc(size, sizeof *expected), *found = inmo_alloc(size, sizeof *found);
    float *score = inmo_alloc(size, sizeof *score);
    struct inmo_rank filled = job;
    struct inmo_fill fill = {fill_products, &job, sizeof(int64_t), AT_ONCE};
    job.top_item = expected;
    job.top_score = NULL;
    must(inmo_rank_reference(&job, &error));
    job.top_item = found;
    for (int threads = 1; threads <= 2; threads++) {
        inmo_set_threads(threads);
        job.top_score = threads == 1 ? NULL : score; /* both ways of calling it */
        memset(found, 0x7f, size * sizeof *found);
        must(inmo_rank(&job, NULL, &error));
        assert_memory_equal(found, expected, size * sizeof *found);
        memset(found, 0x7f, size * sizeof *found);
        filled.fill = &fill;
        filled.top_item = found;
        must(inmo_rank(&filled, NULL, &error));
        assert_memory_equal(found, expected, size * sizeof *found);
    }
    for (size_t n = 0; n < size; n++)
        if (found[n] >= 0) {
            const float *user = job.user + job.who[n / (size_t)job.k] * job.dim,
                        *item = job.item + found[n] * job.dim;
            float dot = 0;
            for (int j = 0; j < job.dim; j++)
                dot += user[j] * item[j];
            assert_true(score[n] == dot);
            if (n % (size_t)job.k > 0) /* best first, equals by number: said again without the twin */
                assert_true(score[n - 1] > dot || (score[n - 1] == dot && found[n - 1] < found[n]));
        }
    inmo_free(score);
    inmo_free(found);
    inmo_free(expected);
}

/* 400 users are three blocks, 2100 items three tiles. */
static void test_blocks_and_tiles(void **state)
{
    enum { USERS = 400, ITEMS = 2100 };
    float *user = whole_numbers(USERS * DIM, 2), *item = whole_numbers(ITEMS * DIM, 3);
    struct inmo_csr mask = make_mask(USERS, ITEMS, 4, 3), other = make_mask(USERS, ITEMS, 5, 20);
    struct inmo_csr empty = {USERS, ITEMS, NULL, NULL, NULL};
    int32_t who[USERS];
    struct inmo_rank job = {.dim = DIM, .user = user, .item = item, .items = ITEMS, .who = who, .k = 10};
    (void)state;
    for (int32_t n = 0; n < USERS; n++)
        who[n] = n;
    job.count = USERS;
    check_rank(job);
    job.mask[0] = &mask;
    check_rank(job);
    job.mask[1] = &empty; /* a part that has no interactions at all */
    job.mask[2] = &other;
    job.k = 1;
    check_rank(job);
    inmo_csr_free(&other);
    inmo_csr_free(&mask);
    inmo_free(item);
    inmo_free(user);
}

static void test_candidates(void **state)
{
    enum { USERS = 30, ITEMS = 2100 };
    float *user = whole_numbers(USERS * DIM, 6), *item = whole_numbers(ITEMS * DIM, 7);
    struct inmo_csr mask = make_mask(USERS, ITEMS, 8, 2);
    int32_t who[3] = {17, 2, 5}, candidate[ITEMS], candidates = 0; /* in any order, and not everybody */
    struct inmo_rank job = {
        .dim = DIM, .user = user, .item = item, .items = ITEMS, .who = who, .count = 3, .k = 12};
    (void)state;
    for (int32_t i = 0; i < ITEMS; i++)
        if (i % 3 != 1)
            candidate[candidates++] = i;
    assert_true(candidates > 1024); /* more than a tile of them */
    job.candidate = candidate;
    job.candidates = candidates;
    check_rank(job);
    job.mask[0] = &mask;
    check_rank(job);
    job.candidates = 5; /* fewer than k */
    check_rank(job);
    job.candidates = 0;
    check_rank(job);
    inmo_csr_free(&mask);
    inmo_free(item);
    inmo_free(user);
}

/* A list longer than there are items ends with -1, also for the user who has none left. */
static void test_short_lists(void **state)
{
    enum { USERS = 8, ITEMS = 70, K = 100 };
    struct inmo_error error = {0};
    float *user = whole_numbers(USERS * DIM, 9), *item = whole_numbers(ITEMS * DIM, 10);
    struct inmo_csr mask = make_mask(USERS, ITEMS, 11, 4);
    int32_t who[USERS] = {0, 1, 2, 3, 4, 5, 6, 7}, top[USERS * K];
    struct inmo_rank job = {.dim = DIM,
                            .user = user,
                            .item = item,
                            .items = ITEMS,
                            .who = who,
                            .count = USERS,
                            .mask = {&mask},
                            .k = K,
                            .top_item = top};
    (void)state;
    check_rank(job);
    must(inmo_rank(&job, NULL, &error));
    assert_int_equal(top[2 * K], -1);         /* user 2: everything masked */
    assert_true(top[5 * K + ITEMS - 1] >= 0); /* user 5: nothing masked */
    assert_int_equal(top[5 * K + ITEMS], -1);
    inmo_csr_free(&mask);
    inmo_free(item);
    inmo_free(user);
}

/* All scores equal: the list is the items in order, the masked ones left out. */
static void test_all_tied(void **state)
{
    enum { ITEMS = 1500 };
    struct inmo_error error = {0};
    float user[1] = {1}, item[ITEMS];
    int64_t offset[2] = {0, 3};
    int32_t column[3] = {0, 2, 3}, who[1] = {0}, top[4];
    struct inmo_csr mask = {1, ITEMS, offset, column, NULL};
    struct inmo_rank job = {.dim = 1,
                            .user = user,
                            .item = item,
                            .items = ITEMS,
                            .who = who,
                            .count = 1,
                            .mask = {&mask},
                            .k = 4,
                            .top_item = top};
    const int32_t expected[4] = {1, 4, 5, 6};
    (void)state;
    for (int i = 0; i < ITEMS; i++)
        item[i] = 3;
    must(inmo_rank(&job, NULL, &error));
    assert_memory_equal(top, expected, sizeof top);
    item[1400] = 4; /* one that is better, in the second tile, pushes the last out */
    must(inmo_rank(&job, NULL, &error));
    assert_int_equal(top[0], 1400);
    assert_int_equal(top[3], 5);
}

static void test_out_of_memory(void **state)
{
    struct inmo_error error = {0};
    float one[1] = {1};
    int32_t who[1] = {0}, candidate[1] = {0}, top[1];
    struct inmo_rank job = {.dim = 1,
                            .user = one,
                            .item = one,
                            .items = 1,
                            .who = who,
                            .count = 1,
                            .candidate = candidate,
                            .candidates = 1,
                            .k = 1,
                            .top_item = top};
    enum inmo_status status = INMO_MEMORY;
    long allowed = 0;
    (void)state;
    inmo_set_threads(1);
    for (; status == INMO_MEMORY; allowed++) {
        inmo_alloc_fail_after(allowed);
        status = inmo_rank(&job, NULL, &error);
        inmo_alloc_fail_after(-1);
    }
    assert_int_equal(status, INMO_OK);
    assert_true(allowed > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_top_refuses),
        cmocka_unit_test(test_blocks_and_tiles),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_short_lists),
        cmocka_unit_test(test_all_tied),
        cmocka_unit_test(test_out_of_memory),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
