/* bench_read.c - how fast a log is read, on one core, and how much memory an interaction takes.
 *
 *     bench_read           makes a tab-separated log of about 300 MB in $TMPDIR, reads it, removes it
 *     bench_read FILE...   reads the files
 *
 * Prints a line a reading; the first is cold in the caches of the processor, the best counts. Synthetic logs are
 * sorted by user, as most are; a shuffled one costs a second table lookup a line. */
#include "inmo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { READINGS = 3, INTERACTIONS = 16000000 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)usage.ru_stime.tv_usec;
}

static double peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

static int make_log(char *path, size_t room)
{
    const char *folder = getenv("TMPDIR");
    struct inmo_synth_options options;
    struct inmo_error error;
    double began = now();
    inmo_synth_options_init(&options);
    options.interactions = INTERACTIONS;
    snprintf(path, room, "%s/inmo-bench-read-%ld.tsv", folder ? folder : "/tmp", (long)getpid());
    if (inmo_synth(&options, path, 1, NULL, &error) != INMO_OK) {
        fprintf(stderr, "bench_read: %s\n", error.message);
        return -1;
    }
    printf("synth: %d interactions in %.2f s, %.1f M/s\n", INTERACTIONS, now() - began,
           INTERACTIONS / (now() - began) / 1e6);
    return 0;
}

int main(int argument_count, char **argument)
{
    char made[512];
    const char *path[1] = {made};
    const char *const *paths = path;
    size_t path_count = 1;
    double bytes = 0, best = 0, before;
    int result = EXIT_SUCCESS;
    if (argument_count > 1) {
        paths = (const char *const *)(argument + 1);
        path_count = (size_t)argument_count - 1;
    } else if (make_log(made, sizeof made) != 0) {
        return EXIT_FAILURE;
    }
    for (size_t n = 0; n < path_count; n++) {
        struct stat about;
        bytes += stat(paths[n], &about) == 0 ? (double)about.st_size : 0;
    }
    before = peak_bytes();
    for (int reading = 0; reading < READINGS && result == EXIT_SUCCESS; reading++) {
        struct inmo_log *log = NULL;
        struct inmo_error error;
        double began = now(), worked = processor_seconds(), rate;
        if (inmo_log_read(paths, path_count, NULL, NULL, &log, &error) != INMO_OK) {
            fprintf(stderr, "bench_read: %s\n", error.message);
            result = EXIT_FAILURE;
            break;
        }
        began = now() - began;
        worked = processor_seconds() - worked;
        rate = bytes / worked / 1e6;
        best = rate > best ? rate : best;
        printf("read: %.0f MB, %lld interactions, %.2f s, %.0f MB/s (%.0f MB a processor second)", bytes / 1e6,
               (long long)inmo_log_count(log), began, bytes / began / 1e6, rate);
        if (reading == 0 && inmo_log_count(log) > 0)
            printf(", peak %.2f bytes an interaction", (peak_bytes() - before) / (double)inmo_log_count(log));
        printf("\n");
        inmo_log_free(log);
    }
    if (result == EXIT_SUCCESS)
        printf("best: %.0f MB a processor second\n", best);
    if (paths == path)
        unlink(made);
    return result;
}
