/* prepare.c - inmo prepare: logs -> a filtered, split data set in a directory. */
#include "common.h"

#include <stddef.h>
#include <stdint.h>

struct prepare_settings {
    struct cli_common common;
    struct cli_data_options data;
    const char *output;
};

static const struct inmo_setting rows[] = {
    {"output", 's', offsetof(struct prepare_settings, output), 0, 0, NULL, "Output", "DIR",
     "Directory for the prepared data set."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct prepare_settings *settings = structure;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_data(options, &settings->data, NULL);
    cli_add_common(options, &settings->common, CLI_JSON | CLI_FORCE);
}

static void print_json(const struct prepare_settings *settings, const struct inmo_dataset *dataset,
                       const struct inmo_dataset_info *info, double density)
{
    json_t *interactions =
        json_pack("{sI sI sI sI sI}", "train", (json_int_t)info->train, "valid", (json_int_t)info->valid, "test",
                  (json_int_t)info->test, "later", (json_int_t)info->later, "aside", (json_int_t)info->aside);
    cli_json_put(stdout,
                 json_pack("{so si si si si so so ss so so}", "output", cli_json_text(settings->output), "users",
                           (int)info->users, "items", (int)info->items, "new_users", (int)info->new_users,
                           "new_items", (int)info->new_items, "interactions", interactions, "density",
                           cli_json_number(density), "scenario", info->scenario, "description",
                           cli_json_parsed(info->description), "kept", cli_kept_json(dataset)),
                 1);
}

static void print_text(const struct prepare_settings *settings, const struct inmo_dataset_info *info,
                       double density)
{
    char a[32], b[32];
    printf("%s: %s users, %s items, scenario %s\n", settings->output, cli_thousands(info->users, a),
           cli_thousands(info->items, b), info->scenario);
    if (info->new_users || info->new_items)
        printf("  new users   %12s\n  new items   %12s\n", cli_thousands(info->new_users, a),
               cli_thousands(info->new_items, b));
    printf("  training    %12s\n", cli_thousands(info->train, a));
    printf("  validation  %12s\n", cli_thousands(info->valid, a));
    printf("  test        %12s\n", cli_thousands(info->test, a));
    if (info->later)
        printf("  later       %12s  (observed only after training)\n", cli_thousands(info->later, a));
    if (info->aside)
        printf("  aside       %12s  (validation of new users and items, only masked)\n",
               cli_thousands(info->aside, a));
    printf("  density     %12.4g %%\n", 100 * density);
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct prepare_settings *settings = structure;
    struct inmo_log *log = NULL;
    struct inmo_dataset *dataset = NULL;
    struct inmo_dataset_info info;
    enum inmo_status status = cli_check_directory(settings->output, settings->common.force, error);

    if (!status)
        status = cli_check_data(&settings->data, error);
    if (!status)
        status = cli_read_data(&settings->data, options->argument.value, options->argument.count, &log, error);
    if (!status)
        status = inmo_dataset_prepare(log, &settings->data.prepare, &dataset, error);
    if (!status)
        status = inmo_dataset_save(dataset, settings->output, settings->common.force, error);
    cli_hooks_end();
    if (!status) {
        double pairs, all;
        cli_say_kept(dataset);
        inmo_dataset_info(dataset, &info);
        pairs = (double)info.users * (double)info.items;
        all = (double)info.train + (double)info.valid + (double)info.test + (double)info.later + (double)info.aside;
        if (settings->common.json)
            print_json(settings, dataset, &info, all / pairs);
        else
            print_text(settings, &info, all / pairs);
    }
    inmo_dataset_free(dataset);
    inmo_log_free(log);
    return status;
}

const struct cli_command cli_prepare = {
    .name = "prepare",
    .arguments = "LOG...",
    .summary = "read logs, filter and split them into a data set",
    .description =
        "Reads one or more logs (the format is detected; .gz and .zst are unpacked; - is standard input), merges "
        "duplicates, filters, splits into training, validation and test, and writes a directory that the other "
        "commands open instantly.\n\nBy default, ratings above 3 are positive (if there are ratings) and lower "
        "ones only seen: never trained on, never recommended to that user. The split is random, 70/10/20 percent "
        "for training, validation and test; everybody keeps at least one interaction for training. What is left "
        "out is said in numbers.\n\nInstead of logs, one event store of inmo serve can be given: its file, or "
        "postgresql://...; it may be in use.",
    .examples = "  inmo prepare ratings.csv -o data --k-core 10\n"
                "  inmo prepare checkins.txt.gz -o data --by time --split 80/10/10\n"
                "  inmo prepare log.tsv -o new --scenario new-users-items --new-share 0.2\n"
                "  inmo prepare shop.db -o data --positive buy,like\n",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .required = "output",
    .settings_size = sizeof(struct prepare_settings),
    .declare = declare,
    .run = run,
};
