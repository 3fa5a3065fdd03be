/* models.c - see models.h. */
#include "server/models.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HISTORY_MOST = 100, LARGEST_RECORD = 16 << 20 };

struct models {
    char *folder;
    pthread_mutex_t lock;
};

char *models_file(const struct models *models, const char *name)
{
    struct inmo_text text = {0};
    inmo_text_add(&text, models->folder, strlen(models->folder));
    inmo_text_add(&text, "/", 1);
    inmo_text_add(&text, name, strlen(name));
    return inmo_text_take(&text);
}

char *models_path(const struct models *models, int number, const char *ending)
{
    char name[64];
    snprintf(name, sizeof name, "%06d%s", number, ending);
    return models_file(models, name);
}

enum inmo_status models_open(const char *folder, struct models **models, struct inmo_error *error)
{
    struct models *made;
    struct stat about;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return inmo_fail_errno(error, "make", folder);
    if (stat(folder, &about) || !S_ISDIR(about.st_mode))
        return inmo_fail(error, INMO_IO, "%s: found a file, expected a folder for models", folder);
    made = inmo_alloc_zero(1, sizeof *made);
    if (!made || !(made->folder = inmo_copy_string(folder))) {
        inmo_free(made);
        return inmo_fail_memory(error, "the models");
    }
    pthread_mutex_init(&made->lock, NULL);
    *models = made;
    return INMO_OK;
}

void models_close(struct models *models)
{
    if (!models)
        return;
    pthread_mutex_destroy(&models->lock);
    inmo_free(models->folder);
    inmo_free(models);
}

/* ---- JSON files ---------------------------------------------------------------------------------------------- */

json_t *models_read_json(const char *path)
{
    FILE *stream = path ? fopen(path, "rb") : NULL;
    json_t *value = NULL;
    struct stat about;
    if (stream && !fstat(fileno(stream), &about) && about.st_size < LARGEST_RECORD)
        value = json_loadf(stream, 0, NULL);
    if (stream)
        fclose(stream);
    return value;
}

static enum inmo_status write_json(const char *path, const json_t *value, struct inmo_error *error)
{
    struct inmo_new_file file = {0};
    char *text = json_dumps(value, JSON_INDENT(1) | JSON_SORT_KEYS);
    enum inmo_status status = path && text ? INMO_OK : inmo_fail_memory(error, "a record");
    if (!status)
        status = inmo_new_file_open(&file, path, 1, error);
    if (!status)
        status = inmo_new_file_write(&file, text, strlen(text), error);
    if (!status)
        status = inmo_new_file_commit(&file, error);
    inmo_new_file_abandon(&file);
    free(text);
    return status;
}

static json_t *read_history(const struct models *models)
{
    char *path = models_file(models, "history.json");
    json_t *history = models_read_json(path);
    inmo_free(path);
    if (!json_is_array(history)) {
        json_decref(history);
        history = json_array();
    }
    return history;
}

static enum inmo_status write_history(const struct models *models, const json_t *history, struct inmo_error *error)
{
    char *path = models_file(models, "history.json");
    enum inmo_status status = write_json(path, history, error);
    inmo_free(path);
    return status;
}

json_t *models_about(struct models *models, int number)
{
    char *path = models_path(models, number, ".json");
    json_t *about = models_read_json(path);
    inmo_free(path);
    return about;
}

enum inmo_status models_finish(struct models *models, int number, const json_t *about, struct inmo_error *error)
{
    char *path = models_path(models, number, ".json");
    enum inmo_status status = write_json(path, about, error);
    inmo_free(path);
    return status;
}

/* ---- Which there are ----------------------------------------------------------------------------------------- */

/* The number of "000017.inmo" with this ending; 0: another file. */
static int number_of(const char *name, const char *ending)
{
    char *end;
    long number = strtol(name, &end, 10);
    return end != name && !strcmp(end, ending) && number > 0 && number < 1000000000 ? (int)number : 0;
}

int models_next(struct models *models)
{
    DIR *folder = opendir(models->folder);
    json_t *history = read_history(models), *value;
    int largest = 0;
    size_t n;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int inmo = number_of(entry->d_name, ".inmo"), json = number_of(entry->d_name, ".json");
        int number = inmo > json ? inmo : json;
        largest = number > largest ? number : largest;
    }
    json_array_foreach(history, n, value)
        if (json_integer_value(value) > largest)
            largest = (int)json_integer_value(value);
    if (folder)
        closedir(folder);
    json_decref(history);
    return largest + 1;
}

static int newest_first(const void *left, const void *right)
{
    const struct models_entry *a = left, *b = right;
    return (a->number < b->number) - (a->number > b->number);
}

enum inmo_status models_list(struct models *models, size_t *count, struct models_entry **entry,
                             struct inmo_error *error)
{
    DIR *folder = opendir(models->folder);
    struct models_entry *entries = NULL;
    size_t found = 0, capacity = 0;
    enum inmo_status status = folder ? INMO_OK : inmo_fail_errno(error, "read", models->folder);

    for (struct dirent *file; !status && (file = readdir(folder));) {
        int number = number_of(file->d_name, ".inmo");
        json_t *about = number ? models_about(models, number) : NULL;
        if (!about)
            continue;
        if (found == capacity) {
            size_t larger = capacity ? 2 * capacity : 16;
            struct models_entry *grown = inmo_resize(entries, found, larger, sizeof *grown);
            if (!grown) {
                status = inmo_fail_memory(error, "the models");
                json_decref(about);
                break;
            }
            entries = grown;
            capacity = larger;
        }
        entries[found++] =
            (struct models_entry){number, (int64_t)json_integer_value(json_object_get(about, "seq")), about};
    }
    if (folder)
        closedir(folder);
    if (status) {
        models_entries_free(entries, found);
    } else {
        if (found)
            qsort(entries, found, sizeof *entries, newest_first);
        *count = found;
        *entry = entries;
    }
    return status;
}

void models_entries_free(struct models_entry *entry, size_t count)
{
    for (size_t n = 0; n < count; n++)
        json_decref(entry[n].about);
    inmo_free(entry);
}

/* ---- In use -------------------------------------------------------------------------------------------------- */

/* The n-th number from the end of the history. */
static int from_end(struct models *models, size_t n)
{
    json_t *history;
    size_t count;
    int number = 0;
    pthread_mutex_lock(&models->lock);
    history = read_history(models);
    count = json_array_size(history);
    if (n < count)
        number = (int)json_integer_value(json_array_get(history, count - 1 - n));
    json_decref(history);
    pthread_mutex_unlock(&models->lock);
    return number;
}

int models_active(struct models *models)
{
    return from_end(models, 0);
}

int models_previous(struct models *models)
{
    return from_end(models, 1);
}

enum inmo_status models_activate(struct models *models, int number, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    json_t *history;
    pthread_mutex_lock(&models->lock);
    history = read_history(models);
    if (json_array_append_new(history, json_integer(number)))
        status = inmo_fail_memory(error, "the history of models");
    while (json_array_size(history) > HISTORY_MOST)
        json_array_remove(history, 0);
    if (!status)
        status = write_history(models, history, error);
    json_decref(history);
    pthread_mutex_unlock(&models->lock);
    return status;
}

enum inmo_status models_roll_back(struct models *models, struct inmo_error *error)
{
    enum inmo_status status;
    json_t *history;
    pthread_mutex_lock(&models->lock);
    history = read_history(models);
    if (json_array_size(history) < 2)
        status = inmo_fail(error, INMO_USAGE, "there is no model before the one in use");
    else {
        json_array_remove(history, json_array_size(history) - 1);
        status = write_history(models, history, error);
    }
    json_decref(history);
    pthread_mutex_unlock(&models->lock);
    return status;
}

enum inmo_status models_prune(struct models *models, int keep, int64_t *oldest, struct inmo_error *error)
{
    int active = models_active(models), previous = models_previous(models);
    struct models_entry *entry = NULL;
    size_t count = 0;
    enum inmo_status status = models_list(models, &count, &entry, error);

    *oldest = INT64_MAX;
    for (size_t n = 0; n < count; n++) {
        if ((int)n < keep || entry[n].number == active || entry[n].number == previous) {
            *oldest = entry[n].seq < *oldest ? entry[n].seq : *oldest;
        } else {
            /* The record first: a model without one does not count. */
            char *record = models_path(models, entry[n].number, ".json");
            char *file = models_path(models, entry[n].number, ".inmo");
            if (record && file && !unlink(record))
                unlink(file);
            inmo_free(file);
            inmo_free(record);
        }
    }
    models_entries_free(entry, count);
    return status;
}
