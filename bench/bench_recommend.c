/* bench_recommend.c - how long one recommendation takes for a new user: a history of 50 items is folded in and all
 * items are ranked, exactly, on one core.
 *
 *     bench_recommend MODEL [REQUESTS]
 *
 * Prints one JSON line: the median and the 99th percentile of inmo_recommend on a warm view, each request with
 * another history, one after the other; the same with a plain scan of all items after each request, which leaves
 * nothing of the view in the caches; that scan; how many items had to be scored in float; and how long the model
 * took to load and its view to make (all threads). */
#include "base/random.h"
#include "base/threads.h"
#include "score/quantised.h"
#include "view/person.h"

#include <stdio.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    enum { HISTORY = 50, MOST = 100000 };
    static double warm[MOST], cold[MOST], plain[MOST];
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct inmo_view *view = NULL;
    int requests = argc > 2 ? atoi(argv[2]) : 2000;
    double scored_sum = 0, begun = inmo_now(), loaded = 0, viewed = 0;
    if (argc >= 2 && requests >= 1 && requests <= MOST && !inmo_model_load(argv[1], &model, &error)) {
        loaded = inmo_now();
        if (!inmo_view_create(model, NULL, &view, &error))
            viewed = inmo_now();
    }
    inmo_set_threads(1);
    if (!view) {
        fprintf(stderr, "usage: bench_recommend MODEL [REQUESTS]\n%s\n", error.message);
        return 2;
    }
    const struct inmo_snapshot *snapshot = view->snapshot;
    int32_t items = snapshot->graph->items;
    struct inmo_work *work = NULL;
    struct inmo_person person;
    if (inmo_work_create(&work, &error) || inmo_view_warm(view, NULL, &error))
        return 1;
    for (int m = 0; m < 2 * requests; m++) { /* all of them, then all with a scan after each */
        int n = m % requests, with_scan = m >= requests;
        const char *history[HISTORY];
        struct inmo_query query;
        struct inmo_list *list = NULL;
        float best[32];
        int32_t item[32];
        struct inmo_top top = {20, 0, best, item};
        int64_t scored = 0;
        for (int h = 0; h < HISTORY; h++) {
            uint64_t bits = inmo_random(inmo_key(1, 98), (uint64_t)(n * HISTORY + h));
            history[h] = inmo_view_item_name(view, (int32_t)inmo_random_below(bits, (uint32_t)items));
        }
        inmo_query_init(&query);
        query.items = history;
        query.item_count = HISTORY;
        double begin = inmo_now();
        if (inmo_recommend(view, &query, &list, &error))
            return 1;
        (with_scan ? cold : warm)[n] = 1e3 * (inmo_now() - begin);
        inmo_list_free(list);
        if (!with_scan || !snapshot->scorer.by_dot) /* nothing to compare with */
            continue;
        inmo_work_empty(work);
        if (inmo_person_make(view, snapshot, work, &query, &person, &error) ||
            inmo_quantised_top(snapshot->quantised, person.r, NULL, &top, &scored, &error))
            return 1;
        scored_sum += (double)scored;
        begin = inmo_now();
        inmo_scan_top(inmo_snapshot_item_row(snapshot, 0), items, snapshot->scorer.dim, person.r, NULL, &top);
        plain[n] = 1e3 * (inmo_now() - begin);
    }
    qsort(warm, (size_t)requests, sizeof *warm, by_size);
    qsort(cold, (size_t)requests, sizeof *cold, by_size);
    qsort(plain, (size_t)requests, sizeof *plain, by_size);
    printf("{\"items\": %d, \"dim\": %d, \"requests\": %d, \"recommend_p50_ms\": %.3f, \"recommend_p99_ms\": %.3f, "
           "\"after_scan_p50_ms\": %.3f, \"plain_scan_p50_ms\": %.3f, \"items_scored_in_float\": %.0f, "
           "\"load_ms\": %.1f, \"view_ms\": %.1f}\n",
           items, snapshot->scorer.dim, requests, warm[requests / 2], warm[requests * 99 / 100], cold[requests / 2],
           plain[requests / 2], scored_sum / requests, 1e3 * (loaded - begun), 1e3 * (viewed - loaded));
    inmo_work_free(work);
    inmo_view_free(view);
    inmo_model_free(model);
    return 0;
}
