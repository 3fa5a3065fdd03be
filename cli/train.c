/* train.c - inmo train: a data set -> a model file.
 *
 * Problems with the output, its folder or an old checkpoint are found before training starts. The checkpoint is
 * kept until the model is saved, so at every moment at least one of them exists. */
#include "common.h"
#include "ranks/ranks.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct train_settings {
    struct cli_common common;
    struct cli_data_options data;
    struct cli_training training;
    const char *output, *titles;
    int no_checkpoint, keep_checkpoint;
};

#define AT(member) offsetof(struct train_settings, member)
static const struct inmo_setting rows[] = {
    {"output", 's', AT(output), 0, 0, NULL, "Output", "MODEL", "File for the trained model."},
    {"titles", 's', AT(titles), 0, 0, NULL, "Output", "FILE",
     "Keep this file of ids, titles and further columns of items (movies.csv) in the model."},
};
/* Listed after the library's checkpoint options, under the same heading. */
static const struct inmo_setting run_rows[] = {
    {"no-checkpoint", 'b', AT(no_checkpoint), 0, 0, NULL, "Run", NULL,
     "Keep no checkpoint; without this and --checkpoint it is MODEL.checkpoint until the model is saved, and none "
     "when MODEL is a pipe or a device."},
    {"keep-checkpoint", 'b', AT(keep_checkpoint), 0, 0, NULL, "Run", NULL,
     "Keep the checkpoint after the model is saved; with --schedule constant --resume goes on from it to more "
     "--epochs."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct train_settings *settings = structure;
    size_t count;

    inmo_train_settings(&count);
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_training(options, &settings->training, count, NULL);
    cli_add_table(options, run_rows, sizeof run_rows / sizeof *run_rows, settings);
    /* A raw log needs no test part, and training holds out by itself what it chooses by. */
    cli_add_data(options, &settings->data, "100/0/0");
    cli_add_common(options, &settings->common, CLI_JSON | CLI_FORCE);
}

static enum inmo_status begin(struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct train_settings *settings = structure;
    const char *from = cli_given(options, "from");
    struct inmo_model *model = NULL;
    enum inmo_status status = cli_begin_training(options, &settings->training, cli_given(options, "model"), error);
    if (!status && from)
        status = inmo_model_load(from, &model, error);
    if (!status && from)
        cli_follow_training(model, &settings->training.train);
    inmo_model_free(model);
    return status;
}

/* ---- Before and after training ------------------------------------------------------------------------------- */

static enum inmo_status check_outputs(const struct cli_options *options, struct train_settings *settings,
                                      struct inmo_error *error)
{
    const char *checkpoint = settings->training.train.checkpoint;
    enum inmo_status status = cli_check_apart(options, settings->output, error);

    if (!status)
        status = cli_check_output(settings->output, settings->common.force, error);
    if (!status && checkpoint)
        status = cli_check_output(checkpoint, 1, error);
    if (!status && checkpoint && !settings->training.train.resume && !access(checkpoint, F_OK)) {
        if (settings->common.force)
            /* A crash before the first new checkpoint must not leave the old one behind. */
            inmo_checkpoint_remove(checkpoint);
        else
            status = cli_fail(error, INMO_EXISTS,
                              "a checkpoint of an unfinished run exists: %s; --resume goes on from it, --force "
                              "starts again without it",
                              checkpoint);
    }
    if (!status && !checkpoint && settings->training.train.resume)
        status = cli_fail(error, INMO_USAGE, "--resume: found --no-checkpoint beside it, expected a checkpoint");
    return status;
}

/* Options of other models are taken, so that one configuration serves several, but not without a word. */
static void say_idle(const struct cli_options *options, const struct train_settings *settings)
{
    size_t count;
    const struct inmo_setting *row = inmo_train_settings(&count);
    const char *model = settings->training.train.model;
    for (size_t n = 0; n < count; n++)
        if (cli_given(options, row[n].name) && !inmo_train_setting_applies(row[n].name, model))
            cli_note(INMO_NOTE, "%s does not look at --%s (inmo help train --model %s)", model, row[n].name, model);
}

static double peak_rss_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* What a rank has to say at the end. */
struct rank_report {
    double peak_rss_mb;
    struct inmo_traffic traffic;
};

/* The reports of all ranks, which the caller frees; NULL with one rank. */
static struct rank_report *gather_reports(void)
{
    size_t ranks = (size_t)inmo_ranks();
    struct rank_report *report = inmo_ranks() > 1 ? calloc(ranks, sizeof *report) : NULL;
    int64_t *begin = report ? calloc(2 * ranks, sizeof *begin) : NULL;
    if (!begin) {
        free(report);
        return NULL;
    }
    for (size_t n = 0; n < ranks; n++) {
        begin[n] = (int64_t)(n * sizeof *report);
        begin[ranks + n] = sizeof *report;
    }
    report[inmo_own_rank()] = (struct rank_report){peak_rss_mb(), inmo_ranks_traffic()};
    inmo_ranks_gather(report, (struct inmo_parts){begin, begin + ranks}, INMO_TRAFFIC_OTHER);
    free(begin);
    return report;
}

/* Bytes that a rank sends after each layer, on average: rows of halves and of floats. */
static double layer_bytes(const struct inmo_traffic *traffic)
{
    int64_t exchanges = traffic->exchanges[INMO_TRAFFIC_LAYERS];
    return exchanges > 0 ? (double)traffic->bytes[INMO_TRAFFIC_LAYERS] / (double)exchanges : 0;
}

static double waited(const struct inmo_traffic *traffic)
{
    return traffic->waited[INMO_TRAFFIC_LAYERS] + traffic->waited[INMO_TRAFFIC_LOSS] +
           traffic->waited[INMO_TRAFFIC_OTHER];
}

static json_t *ranks_json(const struct rank_report *report, int64_t steps)
{
    json_t *list = json_array();
    for (int n = 0; report && n < inmo_ranks(); n++) {
        const struct inmo_traffic *traffic = &report[n].traffic;
        json_array_append_new(
            list, json_pack("{si so sI sI sI sI sI sI sI sI so so so so}", "rank", n, "peak_rss_mb",
                            cli_json_number(report[n].peak_rss_mb), "own_rows", (json_int_t)traffic->own_rows,
                            "sent_rows", (json_int_t)traffic->sent_rows, "received_rows",
                            (json_int_t)traffic->received_rows, "layer_exchanges",
                            (json_int_t)traffic->exchanges[INMO_TRAFFIC_LAYERS], "layer_bytes",
                            (json_int_t)traffic->bytes[INMO_TRAFFIC_LAYERS], "loss_exchanges",
                            (json_int_t)traffic->exchanges[INMO_TRAFFIC_LOSS], "loss_bytes",
                            (json_int_t)traffic->bytes[INMO_TRAFFIC_LOSS], "other_bytes",
                            (json_int_t)traffic->bytes[INMO_TRAFFIC_OTHER], "bytes_per_layer",
                            cli_json_number(layer_bytes(traffic)), "layer_waited_per_step",
                            cli_json_number(steps > 0 ? traffic->waited[INMO_TRAFFIC_LAYERS] / (double)steps : 0),
                            "loss_waited_per_step",
                            cli_json_number(steps > 0 ? traffic->waited[INMO_TRAFFIC_LOSS] / (double)steps : 0),
                            "waited", cli_json_number(waited(traffic))));
    }
    return list;
}

static void print_ranks(const struct rank_report *report, int64_t steps)
{
    printf("  rank   own rows   halo rows   MB a layer   ms waited a step   s waited   MB memory\n");
    for (int n = 0; n < inmo_ranks(); n++) {
        const struct inmo_traffic *traffic = &report[n].traffic;
        double in_steps = traffic->waited[INMO_TRAFFIC_LAYERS] + traffic->waited[INMO_TRAFFIC_LOSS];
        printf("  %4d %10lld  %10lld   %10.3f   %16.2f   %8.2f   %9.0f\n", n, (long long)traffic->own_rows,
               (long long)traffic->received_rows, 1e-6 * layer_bytes(traffic),
               steps > 0 ? 1e3 * in_steps / (double)steps : 0, waited(traffic), report[n].peak_rss_mb);
    }
}

static void print_json(const struct train_settings *settings, const struct inmo_dataset *dataset,
                       const struct inmo_model_info *info, const struct inmo_train_report *report,
                       const struct rank_report *ranks)
{
    json_t *whole =
        json_pack("{ss so si si sI so so so so so sI so ss si so}", "model", info->name, "settings",
                  cli_json_parsed(info->configuration), "epochs", report->epochs, "best_epoch", report->best_epoch,
                  "steps", (json_int_t)report->steps, "seconds", cli_json_number(report->seconds),
                  "seconds_per_epoch", cli_json_number(report->seconds_per_epoch), "best_valid",
                  cli_json_number(report->best_score), "final_loss", cli_json_number(report->final_loss),
                  "peak_rss_mb", cli_json_number(peak_rss_mb()), "parameters", (json_int_t)info->parameters,
                  "output", cli_json_text(settings->output), "stopped", report->stopped ? report->stopped : "",
                  "threads", settings->common.threads, "kept", cli_kept_json(dataset));
    if (ranks)
        json_object_set_new(whole, "ranks", ranks_json(ranks, report->steps));
    cli_json_put(stdout, whole, 1);
}

static void print_text(const struct train_settings *settings, const struct inmo_model_info *info,
                       const struct inmo_train_report *report, const struct rank_report *ranks)
{
    char number[32];
    printf("%s: %s, %s parameters\n", settings->output, info->name, cli_thousands(info->parameters, number));
    printf("  epochs      %d", report->epochs);
    if (report->best_epoch >= 0)
        printf(" (the model has the parameters of epoch %d)", report->best_epoch + 1);
    printf(", stopped by %s\n", report->stopped ? report->stopped : "?");
    if (isfinite(report->best_score))
        printf("  validation  ndcg@20 %.4f\n", report->best_score);
    if (isfinite(report->final_loss))
        printf("  loss        %.4f\n", report->final_loss);
    printf("  time        %.1f s, %.3g s an epoch, %d threads\n", report->seconds, report->seconds_per_epoch,
           settings->common.threads);
    printf("  memory      %.0f MB at most\n", peak_rss_mb());
    if (ranks)
        print_ranks(ranks, report->steps);
}

/* A new log is read and split as that of the earlier model. */
static enum inmo_status follow_from(const struct cli_options *options, struct train_settings *settings,
                                    struct inmo_error *error)
{
    const char *path = settings->training.train.from;
    struct inmo_model *model = NULL;
    struct stat found;
    enum inmo_status status = inmo_model_load(path, &model, error);
    if (!status && (stat(options->argument.value[0], &found) || !S_ISDIR(found.st_mode)))
        cli_follow_log(options, path, model, &settings->data.read, &settings->data.prepare);
    inmo_model_free(model);
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct train_settings *settings = structure;
    struct inmo_dataset *dataset = NULL;
    struct inmo_model *model = NULL;
    struct inmo_titles *titles = NULL;
    struct inmo_train_report report = {0};
    struct inmo_model_info info;
    struct inmo_lock lock = {-1, NULL};
    struct rank_report *ranks = NULL;
    char *checkpoint = NULL;
    int damaged, writes = inmo_own_rank() == 0;
    enum inmo_status status = INMO_OK;

    if (settings->no_checkpoint ||
        (!settings->training.train.checkpoint && inmo_is_written_into(settings->output))) {
        settings->training.train.checkpoint = NULL; /* none beside /dev/null */
    } else if (!settings->training.train.checkpoint) {
        checkpoint = cli_format("%s.checkpoint", settings->output);
        settings->training.train.checkpoint = checkpoint;
    }
    settings->data.prepare.hold_out = 0; /* training's option of this name does it, whatever the data */
    status = inmo_train_check(&settings->training.train, error);
    if (!status && writes)
        say_idle(options, settings);
    if (!status && writes)
        status = cli_check_output(settings->output, 1, error);
    if (!status && writes && !inmo_is_written_into(settings->output))
        status = inmo_lock_output(settings->output, &lock, error);
    if (!status && writes)
        status = check_outputs(options, settings, error);
    if (!status && writes && settings->titles)
        status = inmo_titles_read(settings->titles, settings->data.read.encoding, &titles, error);
    if (!status && settings->training.train.from)
        status = follow_from(options, settings, error);
    if (!status)
        status = cli_open_all_data(options, &options->argument, &settings->data, &dataset, NULL, error);
    if (!status)
        cli_say_kept(dataset);
    if (!status)
        cli_take_like(options, &settings->training, dataset);
    if (!status)
        status = inmo_train(dataset, &settings->training.train, cli_hooks(), &model, &report, error);
    if (inmo_ranks() > 1 && (status == INMO_INTERRUPTED || status == INMO_NUMERIC)) {
        cli_ended_together = 1;
        if (!writes)
            error->message[0] = 0; /* rank 0 says it for all */
    }
    damaged = dataset && status == INMO_FORMAT && settings->training.train.resume;
    cli_hooks_end();
    if (!status && writes && titles)
        status = inmo_model_keep_titles(model, titles, error);
    if (!status && writes)
        status = inmo_model_save(model, settings->output, settings->common.force, error);
    if (!status)
        ranks = gather_reports();
    if (!status && writes && settings->training.train.checkpoint && !settings->keep_checkpoint)
        inmo_checkpoint_remove(settings->training.train.checkpoint);
    if (!writes) {
        ; /* rank 0 has the model and says how it went */
    } else if (!status) {
        inmo_model_info(model, &info);
        if (settings->common.json)
            print_json(settings, dataset, &info, &report, ranks);
        else
            print_text(settings, &info, &report, ranks);
    } else if (damaged) {
        cli_add_hint(error, "; --force without --resume starts again");
    } else if (status == INMO_NUMERIC && settings->training.train.checkpoint &&
               !access(settings->training.train.checkpoint, F_OK)) {
        inmo_checkpoint_remove(settings->training.train.checkpoint);
        cli_add_hint(error, "; the checkpoint is removed, as going on from it would end the same way");
    } else if (dataset && settings->training.train.checkpoint &&
               !access(settings->training.train.checkpoint, F_OK)) {
        cli_print_error(error);
        fprintf(stderr, "inmo: the checkpoint is %s\n", settings->training.train.checkpoint);
        cli_print_go_on(options, "--resume");
    }
    free(ranks);
    inmo_titles_free(titles);
    inmo_model_free(model);
    inmo_dataset_free(dataset);
    inmo_unlock_output(&lock);
    free(checkpoint);
    return status;
}

const struct cli_command cli_train = {
    .name = "train",
    .arguments = "DATA...",
    .summary = "train a model on a data set or raw logs",
    .description =
        "Trains on DATA, a prepared directory or one or more raw logs (then the options for logs apply, and "
        "everything is for training), keeps the epoch with the best validation NDCG@20 and writes the "
        "model. Data without a validation part have one held out meanwhile (--hold-out); the model has all "
        "interactions in the end (--refit).\n\nCtrl-C writes a checkpoint and prints the command that continues. "
        "The defaults shown "
        "are those of inmo-lightgcn unless a model is named: inmo help train --model ease."
        "\n\nWith --from, an "
        "earlier model's parameters are the start, matched by id, its settings and the way its log was "
        "read are the defaults, and only the last epochs of the schedule are trained. While a model is "
        "made, MODEL.lock says by whom, and a second run ends with exit code 12.\n\nWhere the program was built "
        "with "
        "MPI, `mpirun -n 4 inmo train ...` trains inmo-lightgcn, inmo-mf, lightgcn or mf on four ranks, which may "
        "be "
        "on several machines, to the same model file (docs/cluster.md).",
    .examples = "  inmo train data -o model.inmo\n"
                "  inmo train data -o mf.inmo --model inmo-mf --dim 128 --threads 8\n"
                "  inmo train log.csv -o model.inmo --epochs 50 --max-seconds 600\n"
                "  inmo train data -o model.inmo --resume\n"
                "  inmo train monday.csv tuesday.csv -o tuesday.inmo --from monday.inmo\n",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .required = "output",
    .on_ranks = 1,
    .settings_size = sizeof(struct train_settings),
    .declare = declare,
    .begin = begin,
    .run = run,
};
