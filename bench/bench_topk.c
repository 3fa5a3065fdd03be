/* bench_topk.c - the k best of many rows for one query at a time, exactly, on one core: the quantised first pass
 * beside a plain scan in float. Started by compare_topk.py, which puts faiss beside both.
 *
 *     bench_topk ROWS QUERIES DIM K
 *
 * ROWS and QUERIES are files of floats, DIM to a row. For every line on standard input all queries are run once
 * in each way, and one JSON line comes back: milliseconds a query, how many rows had to be scored in float, and
 * whether both ways found the same rows. A line that starts with "r" also prints the rows found, a line of K
 * numbers a query, before it. */
#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "score/quantised.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_K = 1000 };

static float *read_rows(const char *path, int dim, int64_t *count)
{
    FILE *stream = fopen(path, "rb");
    float *rows = NULL;
    long bytes = 0;
    if (stream && fseek(stream, 0, SEEK_END) == 0 && (bytes = ftell(stream)) > 0) {
        rewind(stream);
        *count = bytes / (long)sizeof(float) / dim;
        rows = inmo_alloc((size_t)*count * (size_t)dim, sizeof *rows);
        if (rows && fread(rows, sizeof(float) * (size_t)dim, (size_t)*count, stream) != (size_t)*count)
            rows = NULL;
    }
    if (stream)
        fclose(stream);
    return rows;
}

int main(int argc, char **argv)
{
    int dim = argc == 5 ? atoi(argv[3]) : 0, k = argc == 5 ? atoi(argv[4]) : 0;
    int64_t count = 0, queries = 0;
    float *rows = dim > 0 ? read_rows(argv[1], dim, &count) : NULL;
    float *query = dim > 0 ? read_rows(argv[2], dim, &queries) : NULL;
    struct inmo_quantised *quantised = NULL;
    struct inmo_error error = {0};
    char line[16];
    float score[2][MOST_K];
    int32_t item[2][MOST_K];
    if (!rows || !query || k < 1 || k > MOST_K || inmo_quantised_make(rows, count, dim, &quantised, &error)) {
        fprintf(stderr, "usage: bench_topk ROWS QUERIES DIM K\n%s\n", error.message);
        return 2;
    }
    inmo_set_threads(1);
    while (fgets(line, sizeof line, stdin)) {
        double begin, fast = 0, plain = 0, scored = 0;
        int same = 1;
        for (int64_t n = 0; n < queries; n++) {
            struct inmo_top top = {k, 0, score[0], item[0]}, plain_top = {k, 0, score[1], item[1]};
            int64_t exact = 0;
            begin = inmo_now();
            if (inmo_quantised_top(quantised, query + n * dim, NULL, &top, &exact, &error))
                return 1;
            fast += inmo_now() - begin;
            scored += (double)exact;
            begin = inmo_now();
            inmo_scan_top(rows, count, dim, query + n * dim, NULL, &plain_top);
            plain += inmo_now() - begin;
            same = same && top.count == plain_top.count &&
                   memcmp(item[0], item[1], (size_t)top.count * sizeof **item) == 0;
            for (int j = 0; line[0] == 'r' && j < k; j++)
                printf("%d%c", j < top.count ? item[0][j] : -1, j + 1 < k ? ' ' : '\n');
        }
        printf("{\"rows\": %lld, \"dim\": %d, \"kernel\": \"%s\", \"quantised_ms\": %.4f, \"scan_ms\": %.4f, "
               "\"scored\": %.0f, \"same\": %s}\n",
               (long long)count, dim, inmo_kernels()->name, 1e3 * fast / (double)queries,
               1e3 * plain / (double)queries, scored / (double)queries, same ? "true" : "false");
        fflush(stdout);
    }
    inmo_quantised_free(quantised);
    inmo_free(query);
    inmo_free(rows);
    return 0;
}
