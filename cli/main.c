/* main.c - the program: finds the command, parses its options, runs it, and turns its status into the exit code. */
#include "common.h"
#include "ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>

const struct cli_command *const cli_commands[] = {
    &cli_synth,   &cli_prepare, &cli_train, &cli_tune,      &cli_evaluate,   &cli_compare, &cli_recommend,
    &cli_similar, &cli_explain,
#ifdef INMO_SERVER
    &cli_serve,
#endif
    &cli_info,    &cli_export,  &cli_bench, &cli_reproduce, &cli_completion, &cli_man,     NULL,
};

int cli_ended_together;

const struct cli_command *cli_find_command(const char *name)
{
    for (size_t n = 0; cli_commands[n]; n++)
        if (!strcmp(cli_commands[n]->name, name))
            return cli_commands[n];
    return NULL;
}

static enum inmo_status unknown_command(const char *name, struct inmo_error *error)
{
    struct cli_strings names = {0};
    const char *nearest;
    enum inmo_status status;

    for (size_t n = 0; cli_commands[n]; n++)
        cli_strings_add(&names, cli_commands[n]->name);
    cli_strings_add(&names, "help");
    nearest = cli_nearest(name, names.value, names.count);
    if (nearest)
        status = cli_fail(error, INMO_USAGE, "%s is not a command; did you mean inmo %s?", name, nearest);
    else
        status = cli_fail(error, INMO_USAGE, "%s is not a command; inmo --help lists them", name);
    cli_strings_free(&names, 0);
    return status;
}

static enum inmo_status run_command(const struct cli_command *command, int argc, char **argv,
                                    struct inmo_error *error)
{
    struct cli_options options;
    enum inmo_status status;

    cli_options_start(&options, command);
    options.argc = argc;
    options.argv = argv;
    for (int n = 2; n < argc && strcmp(argv[n], "--"); n++)
        if (!strcmp(argv[n], "--json") && cli_find(&options, "json"))
            cli_errors_as_json(); /* also for what is wrong in the command line itself */
    status = cli_parse(&options, argc - 2, argv + 2, error);
    if (!status && options.help) {
        cli_print_command_help(stdout, &options);
    } else {
        if (!status && command->begin)
            status = command->begin(&options, options.settings, error);
        if (!status)
            status = cli_apply(&options, error);
        /* An error in the command line: say where it is explained. */
        if (status == INMO_USAGE)
            cli_add_hint(error, " (inmo help %s)", command->name);
        if (!status) {
            cli_common_start(options.settings);
            status = command->run(&options, options.settings, error);
        }
    }
    cli_options_free(&options);
    cli_follow_end();
    return status;
}

/* inmo help [COMMAND [OPTIONS]]: with the defaults that these options imply, as the recipe of a model does. */
static enum inmo_status help(int count, char **arguments, struct inmo_error *error)
{
    const struct cli_command *command = NULL;
    struct cli_options options;
    int json = count > 1 && !strcmp(arguments[count - 1], "--json");
    enum inmo_status status = INMO_OK;

    if (!count) {
        cli_print_program_help(stdout);
    } else if (!(command = cli_find_command(arguments[0]))) {
        status = unknown_command(arguments[0], error);
    } else {
        cli_options_start(&options, command);
        options.help = 1; /* arguments and a required output are not asked for */
        status = cli_parse(&options, count - 1 - json, arguments + 1, error);
        if (!status && options.argument.count)
            status = cli_fail(error, INMO_USAGE, "unexpected argument \"%s\": inmo help takes COMMAND and options",
                              options.argument.value[0]);
        if (!status && options.assignment_count && command->begin)
            status = command->begin(&options, options.settings, error);
        if (!status)
            status = cli_apply(&options, error);
        if (!status)
            (json ? cli_print_command_json : cli_print_command_help)(stdout, &options);
        cli_options_free(&options);
    }
    return status;
}

/* Two libraries read the environment while they are loaded, before main: OpenBLAS selects its kernels
 * (inmo_blas_advice), and OpenMP decides how long idle threads spin. By default they spin for milliseconds, which
 * on a busy machine takes the processor from the threads they wait for (measured: 8 times slower with five other
 * processes on two cores). A short spin costs nothing on an idle machine. So the program sets what the user has not
 * set and re-executes itself, once. */
static void re_exec_with_environment(char **argv)
{
    const char *core = inmo_blas_advice();
    int spins = !getenv("OMP_WAIT_POLICY") && !getenv("GOMP_SPINCOUNT");
    if ((!core && !spins) || getenv("INMO_SETTLED"))
        return;
    if (core)
        setenv("OPENBLAS_CORETYPE", core, 1);
    if (spins)
        setenv("GOMP_SPINCOUNT", "10000", 1);
    setenv("INMO_SETTLED", "1", 1);
    execv("/proc/self/exe", argv); /* on failure: slower, but correct */
}

/* A rank that has waited too long says for whom, before it ends the job. */
static void say_stalled(const int *rank, int count, double seconds)
{
    struct inmo_error error = {0};
    char list[512] = "the other ranks";
    size_t at = 0;
    for (int n = 0; n < count && at < sizeof list - 16; n++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%d", n ? ", " : "rank ", rank[n]);
    cli_fail(&error, INMO_IO, "no message for %.0f s (INMO_RANK_TIMEOUT) while waiting for %s", seconds, list);
    cli_print_error(&error);
}

static void say_no_memory(void)
{
    struct inmo_error error = {0};
    cli_fail(&error, INMO_MEMORY, "not enough memory for messages between ranks");
    cli_print_error(&error);
}

/* Joins the other ranks. INMO_RANK_TIMEOUT is no option: it says nothing about the model, and mpirun -x passes it
 * on. */
static enum inmo_status join_ranks(struct inmo_error *error)
{
    const char *text = getenv("INMO_RANK_TIMEOUT");
    char *end = NULL;
    long seconds = text && *text ? strtol(text, &end, 10) : 0;
    inmo_ranks_begin((struct inmo_ranks_watch){(double)seconds, say_stalled, say_no_memory});
    if (seconds < 0 || (end && *end))
        return cli_fail(error, INMO_USAGE, "INMO_RANK_TIMEOUT: found '%s', expected whole seconds, 0 for none",
                        text);
    return INMO_OK;
}

int main(int argc, char **argv)
{
    struct inmo_error error = {0};
    enum inmo_status status = INMO_OK;
    const char *name = argc > 1 ? argv[1] : NULL;
    const struct cli_command *command = name ? cli_find_command(name) : NULL;

    cli_watch_memory();
    if (command) {
        re_exec_with_environment(argv);
        status = join_ranks(&error);
        if (!status && inmo_own_rank() > 0 && !freopen("/dev/null", "w", stdout)) /* rank 0 prints for all */
            status = cli_fail(&error, INMO_IO, "cannot open /dev/null: %s", strerror(errno));
        if (!status && inmo_ranks() > 1 && !command->on_ranks)
            status = cli_fail(&error, INMO_USAGE, "inmo %s runs on one rank; start it without mpirun", name);
        else if (!status)
            status = run_command(command, argc, argv, &error);
    } else if (!name) {
        cli_print_program_help(stderr);
        status = INMO_USAGE;
    } else if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
        cli_print_program_help(stdout);
    } else if (!strcmp(name, "help")) {
        status = help(argc - 2, argv + 2, &error);
    } else if (!strcmp(name, "--version")) {
        puts("inmo " INMO_VERSION);
    } else {
        status = unknown_command(name, &error);
    }
    /* Whatever came of memory that was short: text that seemed wrong, a result that is not whole. */
    if (status != INMO_INTERRUPTED && cli_check_memory(&error))
        status = INMO_MEMORY;
    if ((fflush(stdout) || ferror(stdout)) && !status)
        status = cli_fail(&error, INMO_IO, "cannot write standard output: %s", strerror(errno ? errno : EIO));
    if (status)
        cli_print_error(&error);
    if (status && inmo_ranks() > 1 && !cli_ended_together)
        inmo_ranks_abort((int)status); /* the others may be waiting for this one */
    if (status == INMO_INTERRUPTED && inmo_ranks() > 1) {
        inmo_ranks_agree(0); /* rank 0 has said how to go on */
        _exit((int)status);  /* mpirun, which was stopped, too, no longer helps them to part */
    }
    inmo_ranks_end();
    return (int)status;
}
