/* test_live_threads.c - eight threads ask while one observes, forgets and refreshes. No answer may be torn: each
 * list is, number by number, one that a single thread gets at some moment of the same story. Also run under
 * ThreadSanitizer.
 *
 * The story is told again and again for INMO_LIVE_SECONDS (1 by default). */
#include "live_world.h"

#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>

enum { READERS = 8, MOMENTS = 10, ASKED = 6 };

/* One step of the story; afterwards the view is at the next moment. */
static void go_on(struct inmo_view *view, int moment)
{
    struct inmo_error error = {0};
    switch (moment) {
    case 0: observe(view, "zoe item-1, zoe new-1, user-3 new-1, user-5 item-9"); break;
    case 1:
    case 3:
    case 6:
    case 8: must(inmo_view_refresh(view, NULL, &error)); break;
    case 2: observe(view, "yan item-30, yan new-2, user-3 new-2, zoe item-2"); break;
    case 4: must(inmo_view_forget(view, NULL, "new-1", &error)); break;
    case 5: must(inmo_view_forget(view, "user-7", NULL, &error)); break;
    default: observe(view, "xia item-4, user-3 item-60"); break;
    }
}

/* Somebody to whom nothing happens, somebody to whom much does, unseen people, and several at once. */
static void ask(const struct inmo_view *view, struct inmo_work *work, int number, uint64_t *answer)
{
    static const char *const history[] = {"item-1", "item-30", "new-1", "item-61"};
    static const char *const user[ASKED] = {"user-20", "user-3", NULL, "user-11", "zoe", NULL};
    const struct inmo_list *lists = NULL;
    struct inmo_query query;
    uint64_t hash = 0xcbf29ce484222325u;
    inmo_query_init(&query);
    query.user = user[number];
    query.items = user[number] ? NULL : history + number % 2;
    query.item_count = user[number] ? 0 : 3;
    query.k = 12;
    if (inmo_recommend_many(view, work, &query, 1, &lists, NULL))
        hash = 0;
    for (size_t n = 0; hash && n < lists->count; n++) {
        const unsigned char *bytes = (const unsigned char *)&lists->entry[n].score;
        for (const char *c = lists->entry[n].id; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
        for (size_t b = 0; b < sizeof lists->entry[n].score; b++)
            hash = (hash ^ bytes[b]) * 0x100000001b3u;
    }
    *answer = hash ? hash ^ (uint64_t)lists->status : 0;
}

struct story {
    struct inmo_view *view;
    uint64_t expected[MOMENTS][ASKED];
    atomic_int over, torn;
    atomic_long answers;
};

static void *read_along(void *context)
{
    struct story *story = context;
    struct inmo_work *work = NULL;
    if (inmo_work_create(&work, NULL))
        return NULL;
    while (!atomic_load(&story->over))
        for (int n = 0; n < ASKED; n++) {
            uint64_t answer;
            int known = 0;
            ask(story->view, work, n, &answer);
            for (int m = 0; m < MOMENTS; m++)
                known |= story->expected[m][n] == answer;
            atomic_fetch_add(&story->answers, 1);
            if (!known)
                atomic_fetch_add(&story->torn, 1);
        }
    inmo_work_free(work);
    return NULL;
}

static void tell(const char *name, double seconds)
{
    struct inmo_model *model = live_model(name);
    struct inmo_error error = {0};
    struct story story = {.view = live_view(model, NULL)};
    struct inmo_work *work = NULL;
    double start = inmo_now();
    int times = 0;
    must(inmo_work_create(&work, &error));
    for (int m = 0; m < MOMENTS; m++) {
        for (int n = 0; n < ASKED; n++)
            ask(story.view, work, n, &story.expected[m][n]);
        if (m + 1 < MOMENTS)
            go_on(story.view, m);
    }
    inmo_work_free(work);
    inmo_view_free(story.view);
    do {
        pthread_t thread[READERS];
        story.view = live_view(model, NULL);
        atomic_store(&story.over, 0);
        for (int n = 0; n < READERS; n++)
            assert_int_equal(pthread_create(thread + n, NULL, read_along, &story), 0);
        for (int m = 0; m + 1 < MOMENTS; m++) {
            long before = atomic_load(&story.answers);
            while (atomic_load(&story.answers) < before + READERS) /* some are given at each moment */
                sched_yield();
            if (m + 2 < MOMENTS)
                go_on(story.view, m);
            else /* the last step is a refresh */
                must(inmo_view_refresh_in_background(story.view, &error));
        }
        atomic_store(&story.over, 1);
        for (int n = 0; n < READERS; n++)
            pthread_join(thread[n], NULL);
        inmo_view_free(story.view);
        times++;
    } while (inmo_now() - start < seconds);
    print_message("%s: told %d times, %ld answers\n", name, times, atomic_load(&story.answers));
    assert_int_equal(atomic_load(&story.torn), 0);
}

static void test_story(void **state)
{
    const char *text = getenv("INMO_LIVE_SECONDS");
    double seconds = text ? atof(text) : 1;
    (void)state;
    inmo_set_threads(1);
    for (size_t m = 0; m < COUNT(serving); m++)
        tell(serving[m], seconds / (double)COUNT(serving));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_story)};
    return cmocka_run_group_tests(tests, NULL, free_models);
}
