/* prepare.c - inmo prepare: logs -> a filtered, split data set in a directory. */
#include "common.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct prepare_settings {
    struct cli_common common;
    struct cli_data_options data;
    const char *output, *memory;
};

static const struct inmo_setting rows[] = {
    {"output", 's', offsetof(struct prepare_settings, output), 0, 0, NULL, "Output", "DIR",
     "Directory for the prepared data set."},
    {"memory", 's', offsetof(struct prepare_settings, memory), 0, 0, NULL, "Output", "SIZE",
     "Take at most this much memory, such as 1G or 512M: what does not fit is sorted in temporary files beside the "
     "directory, two or three times the size of the interactions. The result is the same. Default: all of the log "
     "in "
     "memory."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct prepare_settings *settings = structure;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_data(options, &settings->data, NULL);
    cli_add_common(options, &settings->common, CLI_JSON | CLI_FORCE);
}

static void print_json(const struct prepare_settings *settings, const struct cli_kept *kept, double density)
{
    const struct inmo_dataset_info *info = &kept->info;
    json_t *interactions =
        json_pack("{sI sI sI sI sI}", "train", (json_int_t)info->train, "valid", (json_int_t)info->valid, "test",
                  (json_int_t)info->test, "later", (json_int_t)info->later, "aside", (json_int_t)info->aside);
    cli_json_put(stdout,
                 json_pack("{so si si si si so so ss so so}", "output", cli_json_text(settings->output), "users",
                           (int)info->users, "items", (int)info->items, "new_users", (int)info->new_users,
                           "new_items", (int)info->new_items, "interactions", interactions, "density",
                           cli_json_number(density), "scenario", info->scenario, "description",
                           cli_json_parsed(info->description), "kept", cli_kept_json_of(kept)),
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

static void print(const struct prepare_settings *settings, const struct cli_kept *kept)
{
    const struct inmo_dataset_info *info = &kept->info;
    double pairs = (double)info->users * (double)info->items;
    double all =
        (double)info->train + (double)info->valid + (double)info->test + (double)info->later + (double)info->aside;

    cli_say_kept_of(kept);
    if (settings->common.json)
        print_json(settings, kept, all / pairs);
    else
        print_text(settings, info, all / pairs);
}

/* "1G", "512M", "1.5GB", "100000000". */
static enum inmo_status parse_size(const char *text, uint64_t *size, struct inmo_error *error)
{
    static const char units[] = "KMGT";
    uint64_t whole = 0, tenths = 0, unit = 1;
    const char *at = text, *found;

    for (; *at >= '0' && *at <= '9' && whole < UINT64_MAX / 100; at++)
        whole = 10 * whole + (uint64_t)(*at - '0');
    if (at != text && *at == '.' && at[1] >= '0' && at[1] <= '9') {
        tenths = (uint64_t)(at[1] - '0');
        at += 2;
    }
    found = *at ? strchr(units, *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at) : NULL;
    if (found && at != text) {
        for (const char *u = units; u <= found; u++)
            unit *= 1024;
        at++;
        at += *at == 'i';
        at += *at == 'B' || *at == 'b';
    }
    if (at == text || *at || (tenths && unit == 1) || whole > (UINT64_MAX >> 1) / unit)
        return cli_fail(error, INMO_USAGE, "--memory: found %s, expected a size such as 1G or 512M", text);
    *size = whole * unit + tenths * unit / 10;
    return INMO_OK;
}

static enum inmo_status prepare_in_memory(const struct cli_options *options,
                                          const struct prepare_settings *settings, struct inmo_error *error)
{
    struct inmo_log *log = NULL;
    struct inmo_dataset *dataset = NULL;
    enum inmo_status status =
        cli_read_data(&settings->data, options->argument.value, options->argument.count, &log, error);

    if (!status)
        status = inmo_dataset_prepare(log, &settings->data.prepare, &dataset, error);
    if (!status)
        status = inmo_dataset_save(dataset, settings->output, settings->common.force, error);
    cli_hooks_end();
    if (!status) {
        struct cli_kept kept;
        cli_kept_of(dataset, &kept);
        print(settings, &kept);
    }
    inmo_dataset_free(dataset);
    inmo_log_free(log);
    return status;
}

static enum inmo_status prepare_bounded(const struct cli_options *options, const struct prepare_settings *settings,
                                        uint64_t memory, struct inmo_error *error)
{
    struct inmo_prepared *prepared = NULL;
    enum inmo_status status =
        cli_prepare_bounded(&settings->data, options->argument.value, options->argument.count, memory,
                            settings->output, settings->common.force, &prepared, error);

    cli_hooks_end();
    if (!status) {
        struct cli_kept kept;
        inmo_prepared_info(prepared, &kept.info, &kept.users, &kept.items);
        print(settings, &kept);
    }
    inmo_prepared_free(prepared);
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct prepare_settings *settings = structure;
    uint64_t memory = 0;
    enum inmo_status status = inmo_dataset_check_place(settings->output, settings->common.force, error);

    if (!status)
        status = cli_check_data(&settings->data, error);
    if (!status && settings->memory)
        status = parse_size(settings->memory, &memory, error);
    if (!status)
        status = settings->memory ? prepare_bounded(options, settings, memory, error)
                                  : prepare_in_memory(options, settings, error);
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
        "postgresql://...; it may be in use. With --query, the rows of any other database.\n\nA log that does not "
        "fit "
        "into memory is prepared with --memory, to the same bytes.",
    .examples =
        "  inmo prepare ratings.csv -o data --k-core 10\n"
        "  inmo prepare checkins.txt.gz -o data --by time --split 80/10/10\n"
        "  inmo prepare plays.csv -o data --weight plays --half-life 90d --by cut --split 80/10/10\n"
        "  inmo prepare log.tsv -o new --scenario new-users-items --new-share 0.2\n"
        "  inmo prepare shop.db -o data --positive buy,like\n"
        "  inmo prepare day1.csv.zst day2.csv.zst -o data --memory 2G\n"
        "  inmo prepare postgresql://db/shop -o data --query 'select user_id, item_id, created_at from orders'\n",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .required = "output",
    .settings_size = sizeof(struct prepare_settings),
    .declare = declare,
    .run = run,
};
