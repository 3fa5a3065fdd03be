/* progress.c - the hooks of long calls: a bar on a terminal, plain lines elsewhere, notes, and Ctrl-C.
 *
 *   training  [########............]  12/1000 epochs  1.21/s  loss 0.3456  ndcg@20 0.1234 (best 0.1250)  4:12 left
 */
#include "common.h"
#include "ranks/ranks.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_BETWEEN_LINES 5.0
#define SECONDS_OF_ONE_SIGNAL 0.3

static volatile sig_atomic_t stop_asked;

static struct {
    int quiet, terminal, bar_shown, times;
    volatile sig_atomic_t may_end;
    char stage[64], unit[16];         /* a run of `reproduce` gives all its stages one name */
    double first_done, first_seconds; /* where the stage began: a resumed training does not start at 0 */
    double last_line;                 /* when the last plain line was written */
} state;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The first signal asks the call to stop; a later one ends the program. Two signals at the same moment count as
 * one: a terminal or timeout(1) sends them to the process and to its group. */
static void on_signal(int number)
{
    static const char at_once[] = "inmo: stopped on request\n";
    static const char sentence[] = "\ninmo: stopping; Ctrl-C again stops at once\n";
    static struct timespec first;
    struct timespec time;

    if (state.may_end) {
        (void)!write(STDERR_FILENO, at_once, sizeof at_once - 1);
        _exit(INMO_INTERRUPTED);
    }
    clock_gettime(CLOCK_MONOTONIC, &time);
    if (stop_asked) {
        double since = (double)(time.tv_sec - first.tv_sec) + 1e-9 * (double)(time.tv_nsec - first.tv_nsec);
        if (since > SECONDS_OF_ONE_SIGNAL) {
            signal(number, SIG_DFL);
            raise(number);
        }
        return;
    }
    first = time;
    stop_asked = 1;
    if (state.terminal && write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0)
        return; /* failing to print the message does not matter */
}

void cli_may_end(int may)
{
    state.may_end = may;
    /* Asked for before: now there is nothing to wait for. */
    if (may && stop_asked) {
        fputs("inmo: stopped on request\n", stderr);
        _exit(INMO_INTERRUPTED);
    }
}

int cli_interrupted(void)
{
    return stop_asked;
}

void cli_duration(double seconds, char *text, size_t size)
{
    long whole = seconds < 0 || !(seconds < 1e9) ? 0 : (long)(seconds + 0.5);
    if (whole >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, size, "%ld:%02ld", whole / 60, whole % 60);
}

/* Appends to a text of limited size; truncates. */
__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* Common to both forms: amount, rate, loss, score, time left. */
static void describe(const struct inmo_progress *progress, char *text, size_t size)
{
    int bytes = progress->unit && !strcmp(progress->unit, "bytes");
    const char *unit = bytes ? "MB" : progress->unit ? progress->unit : "";
    int decimals = bytes || !strcmp(unit, "epochs");
    double scale = bytes ? 1e-6 : 1, seconds = progress->seconds - state.first_seconds;
    double rate = seconds > 0 ? (progress->done - state.first_done) / seconds : 0;

    text[0] = 0;
    if (progress->total > 0)
        add(text, size, "%.*f/%.*f %s", decimals, scale * progress->done, bytes, scale * progress->total, unit);
    else
        add(text, size, "%.*f %s", decimals, scale * progress->done, unit);
    if (rate > 0)
        add(text, size, "  %.3g/s", scale * rate);
    if (isfinite(progress->loss))
        add(text, size, "  loss %.4f", progress->loss);
    if (isfinite(progress->score))
        add(text, size, "  ndcg@20 %.4f", progress->score);
    if (isfinite(progress->best_score))
        add(text, size, " (best %.4f)", progress->best_score);
    if (rate > 0 && progress->total > 0 && progress->done <= progress->total) {
        char left[32];
        cli_duration((progress->total - progress->done) / rate, left, sizeof left);
        /* Early stopping may end training sooner. */
        add(text, size, isfinite(progress->best_score) ? "  at most %s left" : "  %s left", left);
    }
}

/* "2026-11-17T03:00:01Z " where lines have times, else "". */
static const char *stamp(void)
{
    static char text[32];
    time_t seconds = time(NULL);
    struct tm utc;
    if (!state.times || !gmtime_r(&seconds, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ ", &utc))
        return "";
    return text;
}

static void draw_bar(const struct inmo_progress *progress, const char *details)
{
    enum { BAR = 20 };
    struct winsize window;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) || !window.ws_col ? 80 : window.ws_col;
    char line[512] = "";

    add(line, sizeof line, "%s", progress->stage);
    if (progress->total > 0 && width >= 80) {
        double share = progress->done / progress->total;
        int filled = share < 0 ? 0 : share > 1 ? BAR : (int)(share * BAR);
        add(line, sizeof line, "  [%.*s%.*s]", filled, "####################", BAR - filled,
            "....................");
    }
    add(line, sizeof line, "  %s", details);
    fprintf(stderr, "\r%.*s\033[K", width - 1, line);
    fflush(stderr);
    state.bar_shown = 1;
}

static void on_progress(void *context, const struct inmo_progress *progress)
{
    const char *stage = progress->stage ? progress->stage : "working", *unit = progress->unit ? progress->unit : "";
    char details[256];
    double time = now();

    (void)context;
    if (strncmp(stage, state.stage, sizeof state.stage - 1) || strncmp(unit, state.unit, sizeof state.unit - 1)) {
        snprintf(state.stage, sizeof state.stage, "%s", stage);
        snprintf(state.unit, sizeof state.unit, "%s", unit);
        state.first_done = progress->done;
        state.first_seconds = progress->seconds;
    }
    if (!state.quiet && (state.terminal || time - state.last_line >= SECONDS_BETWEEN_LINES)) {
        describe(progress, details, sizeof details);
        if (state.terminal)
            draw_bar(progress, details);
        else
            fprintf(stderr, "%sinmo: %s  %s\n", stamp(), stage, details);
        state.last_line = time;
    }
}

static void on_log(void *context, enum inmo_level level, const char *sentence)
{
    char text[CLI_SENTENCE];
    (void)context;
    cli_note(level, "%s", cli_flags(sentence, text));
}

static int on_interrupted(void *context)
{
    (void)context;
    return stop_asked;
}

void cli_note(enum inmo_level level, const char *format, ...)
{
    va_list arguments;
    if ((level == INMO_NOTE && state.quiet) || inmo_own_rank() > 0)
        return;
    cli_hooks_end();
    fprintf(stderr, "%sinmo: %s", stamp(), level == INMO_NOTE ? "" : "warning: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static int errors_as_json;

void cli_errors_as_json(void)
{
    errors_as_json = 1;
}

void cli_print_error(struct inmo_error *error)
{
    char text[CLI_SENTENCE];
    cli_hooks_end();
    if (error->message[0] && errors_as_json && !cli_check_memory(NULL))
        cli_json_put(stderr,
                     json_pack("{so}", "error", cli_json_error(error->code, cli_flags(error->message, text))), 0);
    else if (error->message[0] && inmo_ranks() > 1)
        fprintf(stderr, "%sinmo: rank %d: %s\n", stamp(), inmo_own_rank(), cli_flags(error->message, text));
    else if (error->message[0])
        fprintf(stderr, "%sinmo: %s\n", stamp(), cli_flags(error->message, text));
    error->message[0] = 0;
}

const struct inmo_hooks *cli_hooks(void)
{
    static const struct inmo_hooks hooks = {NULL, on_log, on_progress, on_interrupted};
    return &hooks;
}

void cli_hooks_start(int quiet, int times)
{
    struct sigaction action = {.sa_handler = on_signal};
    const char *kind = getenv("TERM");

    state.quiet = quiet;
    state.times = times;
    state.terminal = isatty(STDERR_FILENO) && (!kind || strcmp(kind, "dumb"));
    state.last_line = now();
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void cli_hooks_end(void)
{
    if (state.bar_shown)
        fputs("\r\033[K", stderr);
    state.bar_shown = 0;
}
