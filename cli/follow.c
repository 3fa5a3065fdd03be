/* follow.c - a model file says how its log was read (inmo_model_origin), how its data was split
 * (inmo_model_preparation) and how it was trained (the configuration), and what is read along with it or trained
 * from it follows that, unless the command line says otherwise. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

/* Options point to their texts. */
static struct cli_strings kept;

void cli_follow_end(void)
{
    cli_strings_free(&kept, 1);
}

/* A value of the file as it is typed; NULL: it was not set. The caller frees it. */
static char *text_of(const json_t *value)
{
    if (json_is_string(value))
        return cli_copy(json_string_value(value));
    if (json_is_boolean(value))
        return cli_copy(json_is_true(value) ? "yes" : "no");
    return json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
}

/* Sets a field and keeps the text; 0 if this version does not take it. */
static int set(const struct inmo_setting *row, void *structure, char *text)
{
    cli_strings_add(&kept, text);
    return inmo_setting_set(row, structure, text);
}

static void follow_table(const struct cli_options *options, const char *path, const json_t *said,
                         const struct inmo_setting *row, size_t count, void *structure, size_t size, FILE *taken)
{
    void *copy = cli_allocate(1, size);
    for (size_t n = 0; n < count; n++) {
        char *text = text_of(json_object_get(said, row[n].name));
        char was[512], is[512];
        if (!text)
            continue;
        inmo_setting_text(&row[n], structure, was, sizeof was);
        if (cli_given(options, row[n].name)) {
            /* compared as the library writes them: 4 and 4.0 are the same */
            memcpy(copy, structure, size);
            if (inmo_setting_set(&row[n], copy, text)) {
                inmo_setting_text(&row[n], copy, is, sizeof is);
                if (strcmp(was, is))
                    cli_note(INMO_WARNING, "--%s is %s, but the log of %s was read with %s", row[n].name, was, path,
                             is);
            }
            free(text);
            continue;
        }
        if (!set(&row[n], structure, text)) {
            cli_note(INMO_WARNING, "the log of %s was read with --%s %s, which this version does not know", path,
                     row[n].name, text);
            continue;
        }
        inmo_setting_text(&row[n], structure, is, sizeof is);
        if (!*was && !strcmp(is, "random")) /* --by: what an unset one mostly is */
            continue;
        if (strcmp(was, is) && row[n].type == 'b')
            fprintf(taken, " --%s%s", strcmp(is, "yes") ? "no-" : "", row[n].name);
        else if (strcmp(was, is)) {
            fprintf(taken, " --%s ", row[n].name);
            cli_put_quoted(taken, is);
        }
    }
    free(copy);
}

void cli_follow_log(const struct cli_options *options, const char *path, const struct inmo_model *model,
                    struct inmo_read_options *read, struct inmo_prepare_options *prepare)
{
    json_t *origin = cli_json_parsed(inmo_model_origin(model));
    const char *split = inmo_model_preparation(model);
    json_t *preparation = split ? cli_json_parsed(split) : NULL;
    const struct inmo_setting *row;
    char *text = NULL;
    size_t count, size;
    FILE *taken = open_memstream(&text, &size);

    if (!taken)
        cli_end_for_memory();
    row = inmo_read_settings(&count);
    follow_table(options, path, json_object_get(origin, "reading"), row, count, read, sizeof *read, taken);
    row = inmo_prepare_settings(&count);
    if (prepare)
        follow_table(options, path, preparation ? preparation : json_object_get(origin, "options"), row, count,
                     prepare, sizeof *prepare, taken);
    if (fclose(taken) || !text)
        cli_end_for_memory();
    if (*text)
        cli_note(INMO_NOTE, "as for the log of %s:%s", path, text);
    free(text);
    json_decref(preparation);
    json_decref(origin);
}

void cli_follow_training(const struct inmo_model *model, struct inmo_train_options *train)
{
    struct inmo_model_info info;
    const struct inmo_setting *row;
    json_t *settings, *record;
    size_t count;

    inmo_model_info(model, &info);
    settings = cli_json_parsed(info.configuration);
    record = cli_json_parsed(info.record);
    row = inmo_train_settings(&count);
    count = inmo_train_settings_of_model();
    for (size_t n = 0; n < count; n++) {
        /* what was weighed beside the vectors is weighed again */
        const json_t *chosen = json_object_get(json_array_get(record, 0), "chosen");
        int open =
            json_object_get(chosen, row[n].name) &&
            (!strcmp(row[n].name, "walks") || !strcmp(row[n].name, "links") || !strcmp(row[n].name, "link-ridge") ||
             !strcmp(row[n].name, "link-popularity") || !strcmp(row[n].name, "prior"));
        char *text = open ? cli_copy("auto") : text_of(json_object_get(settings, row[n].name));
        if (text)
            set(&row[n], train, text);
    }
    json_decref(record);
    json_decref(settings);
}
