/* bench_open.c - how long it takes from a model file to the first answer, and what a live view costs.
 *
 *     bench_open MODEL [ROUNDS]
 *
 * Prints one JSON line with medians: milliseconds to load the model, to make its view, and of the first
 * recommendation for somebody unseen with 50 items (wall time; and processor time of all three together);
 * microseconds to observe one event; milliseconds of a refresh; and of 16 queries in one call beside 16 calls,
 * warm. */
#include "base/random.h"
#include "base/threads.h"
#include "inmo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HISTORY = 50, MANY = 16, MOST = 1000, EVENTS = 1000 };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *time, int count)
{
    qsort(time, (size_t)count, sizeof *time, by_size);
    return time[count / 2];
}

static double processor(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(enum inmo_status status, const struct inmo_error *error)
{
    if (status) {
        fprintf(stderr, "bench_open: %s\n", error->message);
        exit(1);
    }
}

static const char *some_item(const struct inmo_view *view, int64_t items, uint64_t n)
{
    uint64_t bits = inmo_random(inmo_key(1, 98), n);
    return inmo_view_item_id(view, (int64_t)inmo_random_below(bits, (uint32_t)items));
}

int main(int argc, char **argv)
{
    static double load[MOST], make[MOST], first[MOST], whole[MOST], cpu[MOST], refresh[MOST], one[MOST], many[MOST];
    static double observe[MOST * EVENTS];
    struct inmo_error error = {0};
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (argc < 2 || rounds < 1 || rounds > MOST) {
        fprintf(stderr, "usage: bench_open MODEL [ROUNDS]\n");
        return 2;
    }
    for (int n = 0; n < rounds; n++) {
        static const char *history[MANY][HISTORY];
        struct inmo_model *model = NULL;
        struct inmo_view *view = NULL;
        struct inmo_work *work = NULL;
        struct inmo_list *list = NULL;
        const struct inmo_list *lists = NULL;
        struct inmo_query query[MANY];
        struct inmo_model_info info;
        double begun = inmo_now(), used = processor(), loaded, made;
        must(inmo_model_load(argv[1], &model, &error), &error);
        loaded = inmo_now();
        must(inmo_view_create(model, NULL, &view, &error), &error);
        made = inmo_now();
        inmo_model_info(model, &info);
        for (int q = 0; q < MANY; q++) {
            inmo_query_init(query + q);
            for (int h = 0; h < HISTORY; h++)
                history[q][h] = some_item(view, info.items, (uint64_t)(q * HISTORY + h));
            query[q].items = history[q];
            query[q].item_count = HISTORY;
        }
        must(inmo_recommend(view, query, &list, &error), &error);
        first[n] = 1e3 * (inmo_now() - made);
        whole[n] = 1e3 * (inmo_now() - begun);
        cpu[n] = 1e3 * (processor() - used);
        make[n] = 1e3 * (made - loaded);
        load[n] = 1e3 * (loaded - begun);
        inmo_list_free(list);
        must(inmo_work_create(&work, &error), &error);
        for (int warm = 0; warm < 3; warm++) {
            double begin = inmo_now();
            must(inmo_recommend_many(view, work, query, MANY, &lists, &error), &error);
            many[n] = 1e3 * (inmo_now() - begin);
            begin = inmo_now();
            for (int q = 0; q < MANY; q++)
                must(inmo_recommend_many(view, work, query + q, 1, &lists, &error), &error);
            one[n] = 1e3 * (inmo_now() - begin);
        }
        for (int e = 0; e < EVENTS; e++) {
            char user[32];
            struct inmo_event event = {user, some_item(view, info.items, (uint64_t)(5000 + e)), 0};
            double begin;
            snprintf(user, sizeof user, "newcomer-%d", e % 100);
            begin = inmo_now();
            must(inmo_view_observe(view, &event, 1, &error), &error);
            observe[n * EVENTS + e] = 1e6 * (inmo_now() - begin);
        }
        begun = inmo_now();
        must(inmo_view_refresh(view, NULL, &error), &error);
        refresh[n] = 1e3 * (inmo_now() - begun);
        inmo_work_free(work);
        inmo_view_free(view);
        inmo_model_free(model);
    }
    printf("{\"load_ms\": %.1f, \"view_ms\": %.1f, \"first_ms\": %.1f, \"whole_ms\": %.1f, \"whole_cpu_ms\": %.1f, "
           "\"refresh_ms\": %.1f, \"observe_us\": %.2f, \"one_by_one_ms\": %.3f, \"together_ms\": %.3f}\n",
           median(load, rounds), median(make, rounds), median(first, rounds), median(whole, rounds),
           median(cpu, rounds), median(refresh, rounds), median(observe, rounds * EVENTS), median(one, rounds),
           median(many, rounds));
    return 0;
}
