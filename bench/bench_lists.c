/* bench_lists.c - lists a second for random users of a model, without a server around it: what server/ask.c asks of
 * the library, on so many threads.
 *
 *     bench_lists MODEL THREADS SECONDS [K]
 *
 * Prints one JSON line: lists a second, the median microseconds of one, the mean bytes of its ids as JSON, and the
 * process's memory. */
#include "base/random.h"
#include "base/threads.h"
#include "view/person.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 64, MOST_TIMES = 1 << 20 };

struct runner {
    pthread_t thread;
    struct inmo_view *view;
    const char *const *user;
    int32_t users;
    int number, k;
    double until;
    long lists, bytes;
    float *time;
};

static void *run(void *context)
{
    struct runner *runner = context;
    struct inmo_work *work = NULL;
    struct inmo_error error = {0};
    if (inmo_work_create(&work, &error))
        return NULL;
    for (double now = inmo_now(); now < runner->until;) {
        const struct inmo_list *list = NULL;
        struct inmo_query query;
        uint64_t bits = inmo_random(inmo_key(1, 97), (uint64_t)(runner->lists * MOST_THREADS + runner->number));
        double begun = now;
        inmo_query_init(&query);
        query.user = runner->user[inmo_random_below(bits, (uint32_t)runner->users)];
        query.k = runner->k;
        if (inmo_recommend_many(runner->view, work, &query, 1, &list, &error) || list->status)
            break;
        now = inmo_now();
        for (size_t n = 0; n < list->count; n++)
            runner->bytes += (long)strlen(list->entry[n].id) + 3;
        runner->bytes++;
        runner->time[runner->lists++ % MOST_TIMES] = (float)(now - begun);
    }
    inmo_work_free(work);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static long memory(void)
{
    FILE *stream = fopen("/proc/self/status", "r");
    char line[256];
    long kilobytes = 0;
    while (stream && fgets(line, sizeof line, stream))
        if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1)
            break;
    if (stream)
        fclose(stream);
    return kilobytes * 1024;
}

int main(int argc, char **argv)
{
    static struct runner runner[MOST_THREADS];
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct inmo_view *view = NULL;
    int threads = argc > 2 ? atoi(argv[2]) : 0, k = argc > 4 ? atoi(argv[4]) : 20;
    double seconds = argc > 3 ? atof(argv[3]) : 0, begun;
    long lists = 0, bytes = 0, rss;

    if (threads < 1 || threads > MOST_THREADS || seconds <= 0 || inmo_model_load(argv[1], &model, &error) ||
        inmo_view_create(model, NULL, &view, &error) || inmo_view_warm(view, NULL, &error)) {
        fprintf(stderr, "usage: bench_lists MODEL THREADS SECONDS [K]\n%s\n", error.message);
        return 2;
    }
    int32_t users = view->snapshot->graph->users;
    const char **user = malloc((size_t)users * sizeof *user);
    if (!user)
        return 1;
    for (int32_t n = 0; n < users; n++)
        user[n] = inmo_view_user_name(view, n);
    rss = memory();
    begun = inmo_now();
    for (int n = 0; n < threads; n++) {
        runner[n] = (struct runner){
            .view = view, .user = user, .users = users, .number = n, .k = k, .until = begun + seconds};
        runner[n].time = malloc(MOST_TIMES * sizeof(float));
        if (!runner[n].time || pthread_create(&runner[n].thread, NULL, run, &runner[n]))
            return 1;
    }
    for (int n = 0; n < threads; n++) {
        pthread_join(runner[n].thread, NULL);
        lists += runner[n].lists;
        bytes += runner[n].bytes;
    }
    seconds = inmo_now() - begun;
    qsort(runner[0].time, (size_t)(runner[0].lists < MOST_TIMES ? runner[0].lists : MOST_TIMES), sizeof(float),
          by_size);
    printf("{\"threads\": %d, \"k\": %d, \"lists\": %ld, \"lists_per_second\": %.1f, \"p50_us\": %.1f, \"bytes\": "
           "%.0f, "
           "\"memory\": %ld}\n",
           threads, k, lists, (double)lists / seconds, 1e6 * (double)runner[0].time[runner[0].lists / 2],
           (double)bytes / (double)(lists ? lists : 1), rss);
    for (int n = 0; n < threads; n++)
        free(runner[n].time);
    free(user);
    inmo_view_free(view);
    inmo_model_free(model);
    return 0;
}
