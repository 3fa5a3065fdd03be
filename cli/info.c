/* info.c - inmo info: shows a model file or a prepared directory. */
#include "common.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct info_settings {
    struct cli_common common;
};

static void declare(struct cli_options *options, void *structure)
{
    struct info_settings *settings = structure;
    cli_add_common(options, &settings->common, CLI_JSON);
}

/* Prints an object as one "name value" line per member. */
static void print_members(const char *heading, const char *text)
{
    json_t *object = cli_json_parsed(text), *value;
    const char *name;

    if (json_object_size(object))
        printf("%s\n", heading);
    json_object_foreach(object, name, value) {
        printf("  %-20s ", name);
        if (json_is_string(value))
            fputs(json_string_value(value), stdout);
        else
            json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
        putchar('\n');
    }
    json_decref(object);
}

/* Prints what training chose by itself, and the scores it compared. */
static void print_choice(const json_t *entry)
{
    const json_t *tried = json_object_get(entry, "tried"), *trial;
    const json_t *chosen = json_object_get(entry, "chosen");
    const json_t *weighed = json_object_get(chosen, json_object_get(chosen, "walks") ? "walks" : "links");
    size_t n;
    printf("chosen by %s\n  ", json_array_size(tried) || weighed ? "validation" : "the log's size");
    json_dumpf(chosen, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_array_foreach(tried, n, trial) {
        printf("  tried      ");
        json_dumpf(trial, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
        putchar('\n');
    }
}

/* Prints what was done with the part that settings were chosen by. */
static void print_refit(const json_t *refit)
{
    char number[32];
    json_int_t held_out = json_integer_value(json_object_get(refit, "held-out"));
    const char *how = json_string_value(json_object_get(refit, "how"));
    const json_t *epochs = json_object_get(refit, "epochs");
    if (!how)
        return;
    printf("refit\n  ");
    if (held_out > 0)
        printf("chosen on %s interactions held out, ", cli_thousands(held_out, number));
    else
        printf("chosen on the validation part, ");
    printf("ndcg@20 %.4f; then %s\n", json_number_value(json_object_get(refit, "ndcg@20")),
           strcmp(how, "graph") == 0 ? "the same parameters on the graph of everything"
           : epochs                  ? "trained again on everything, for as many epochs"
                                     : "solved again on everything");
}

/* Prints the training record: what was chosen; the number of epochs, the first and the last. */
static void print_record(const char *text)
{
    json_t *record = cli_json_parsed(text);
    size_t count;

    if (json_object_get(json_array_get(record, 0), "chosen")) {
        if (json_object_size(json_object_get(json_array_get(record, 0), "chosen")))
            print_choice(json_array_get(record, 0));
        print_refit(json_object_get(json_array_get(record, 0), "refit"));
        json_array_remove(record, 0);
    }
    count = json_array_size(record);
    if (count) {
        size_t shown[2] = {0, count - 1};
        printf("training record: %zu epochs\n", count);
        for (size_t n = count > 1 ? 0 : 1; n < 2; n++) {
            json_t *epoch = json_array_get(record, shown[n]);
            printf("  epoch %-6zu ", shown[n] + 1); /* people count from 1, the record from 0 */
            json_object_del(epoch, "epoch");
            json_dumpf(epoch, stdout,
                       JSON_ENCODE_ANY | JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
            putchar('\n');
        }
    }
    json_decref(record);
}

/* A system's tensors: names and shapes. */
static json_t *tensors_of(const struct inmo_model *model)
{
    json_t *list = json_array();
    struct inmo_tensor_info tensor;
    for (size_t n = 0; inmo_model_tensor(model, n, &tensor); n++) {
        json_t *shape = json_pack("[I]", (json_int_t)tensor.rows);
        if (tensor.columns)
            json_array_append_new(shape, json_integer(tensor.columns));
        json_array_append_new(list,
                              json_pack("{ss ss so}", "name", tensor.name, "type", tensor.type, "shape", shape));
    }
    return list;
}

static void print_tensors(const struct inmo_model *model)
{
    struct inmo_tensor_info tensor;
    char a[32], b[32];
    for (size_t n = 0; inmo_model_tensor(model, n, &tensor); n++)
        printf("  %-20s %s, %s%s%s\n", tensor.name, tensor.type, cli_thousands(tensor.rows, a),
               tensor.columns ? " x " : "", tensor.columns ? cli_thousands(tensor.columns, b) : "");
}

static enum inmo_status show_model(const char *path, int json, double bytes, struct inmo_error *error)
{
    struct inmo_model *model = NULL;
    struct inmo_model_info info;
    enum inmo_status status = inmo_model_load(path, &model, error);

    if (!status) {
        inmo_model_info(model, &info);
        if (json) {
            cli_json_put(stdout,
                         json_pack("{ss so sI ss si si si si si si sI sI so so so so}", "kind", "model", "path",
                                   cli_json_text(path), "bytes", (json_int_t)bytes, "model", info.name, "dim",
                                   info.dim, "layers", info.layers, "users", (int)info.users, "items",
                                   (int)info.items, "user_templates", (int)info.user_templates, "item_templates",
                                   (int)info.item_templates, "parameters", (json_int_t)info.parameters,
                                   "interactions", (json_int_t)info.interactions, "settings",
                                   cli_json_parsed(info.configuration), "record", cli_json_parsed(info.record),
                                   "tensors", tensors_of(model), "origin",
                                   cli_json_parsed(*inmo_model_origin(model) ? inmo_model_origin(model) : "{}")),
                         1);
        } else {
            char a[32], b[32];
            printf("%s: a model, %.3g MB\n", path, bytes / 1e6);
            printf("  model                %s\n", info.name);
            if (info.dim)
                printf("  dimensions           %d\n  layers               %d\n", info.dim, info.layers);
            printf("  users, items         %s, %s\n", cli_thousands(info.users, a), cli_thousands(info.items, b));
            if (info.dim)
                printf("  templates            %s, %s\n", cli_thousands(info.user_templates, a),
                       cli_thousands(info.item_templates, b));
            printf("  parameters           %s\n", cli_thousands(info.parameters, a));
            printf("  interactions         %s\n", cli_thousands(info.interactions, a));
            print_tensors(model);
            print_members("settings", info.configuration);
            print_members("origin", inmo_model_origin(model));
            print_record(info.record);
        }
    }
    inmo_model_free(model);
    return status;
}

static enum inmo_status show_data(const char *path, int json, struct inmo_error *error)
{
    struct inmo_dataset *dataset = NULL;
    struct inmo_dataset_info info;
    enum inmo_status status = inmo_dataset_open(path, &dataset, error);

    if (!status) {
        inmo_dataset_info(dataset, &info);
        if (json) {
            cli_json_put(stdout,
                         json_pack("{ss so si si si si s{sI sI sI sI sI} ss so}", "kind", "dataset", "path",
                                   cli_json_text(path), "users", (int)info.users, "items", (int)info.items,
                                   "new_users", (int)info.new_users, "new_items", (int)info.new_items,
                                   "interactions", "train", (json_int_t)info.train, "valid", (json_int_t)info.valid,
                                   "test", (json_int_t)info.test, "later", (json_int_t)info.later, "aside",
                                   (json_int_t)info.aside, "scenario", info.scenario, "description",
                                   cli_json_parsed(info.description)),
                         1);
        } else {
            char a[32], b[32];
            printf("%s: a prepared data set\n", path);
            printf("  scenario             %s\n", info.scenario);
            printf("  users, items         %s, %s\n", cli_thousands(info.users, a), cli_thousands(info.items, b));
            printf("  new users, items     %s, %s\n", cli_thousands(info.new_users, a),
                   cli_thousands(info.new_items, b));
            printf("  training             %s\n", cli_thousands(info.train, a));
            printf("  validation           %s\n", cli_thousands(info.valid, a));
            printf("  test                 %s\n", cli_thousands(info.test, a));
            printf("  later                %s\n", cli_thousands(info.later, a));
            printf("  aside                %s\n", cli_thousands(info.aside, a));
            print_members("made from", info.description);
        }
    }
    inmo_dataset_free(dataset);
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct info_settings *settings = structure;
    const char *path = options->argument.value[0];
    struct stat found;
    enum inmo_status status;

    if (stat(path, &found))
        status = cli_fail(error, INMO_IO, "cannot open %s: %s", path, strerror(errno));
    else if (S_ISDIR(found.st_mode))
        status = show_data(path, settings->common.json, error);
    else
        status = show_model(path, settings->common.json, (double)found.st_size, error);
    return status;
}

const struct cli_command cli_info = {
    .name = "info",
    .arguments = "FILE",
    .summary = "show what is in a model file or data set",
    .description = "Prints sizes, settings and the training record of a model file, or sizes and sources of a "
                   "prepared directory.",
    .examples = "  inmo info model.inmo\n"
                "  inmo info data --json\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .settings_size = sizeof(struct info_settings),
    .declare = declare,
    .run = run,
};
