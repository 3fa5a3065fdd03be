/* models.h - the folder of model files that a server has trained:
 *
 *     000001.inmo  000001.json     a model, and what is known of it: the seq it was trained up to, when, its scores
 *     history.json                 the numbers that were put in use, in order; the last one is
 *     work/                        of a retraining that is running; emptied at the next
 *
 * Every file is written aside and renamed, so kill -9 leaves the folder as it was before or after a step. A number
 * without its .json is not finished and does not count. */
#ifndef INMO_SERVER_MODELS_H
#define INMO_SERVER_MODELS_H

#include "inmo.h"

#include <jansson.h>

struct models;

struct models_entry {
    int number;
    int64_t seq; /* changes of the store up to this one were there when it was trained */
    json_t *about;
};

/* Makes the folder if it is not there. */
enum inmo_status models_open(const char *folder, struct models **models, struct inmo_error *error);
void models_close(struct models *models);
/* "FOLDER/name"; the caller's to free with inmo_free, NULL when memory is short. */
char *models_file(const struct models *models, const char *name);
/* What a file of JSON holds, or NULL: not there, too long, not JSON. The caller's to json_decref. */
json_t *models_read_json(const char *path);

/* The finished models, newest first; *entry and each about are the caller's (models_entries_free). */
enum inmo_status models_list(struct models *models, size_t *count, struct models_entry **entry,
                             struct inmo_error *error);
void models_entries_free(struct models_entry *entry, size_t count);
/* What is known of one; NULL: no such model. The caller's to json_decref. */
json_t *models_about(struct models *models, int number);

/* A number that no model has or had. */
int models_next(struct models *models);
/* "FOLDER/000001" + ending; the caller's to free with inmo_free, NULL when memory is short. */
char *models_path(const struct models *models, int number, const char *ending);
/* A finished model: writes its .json. */
enum inmo_status models_finish(struct models *models, int number, const json_t *about, struct inmo_error *error);

/* The model in use and the one before it; 0: none. */
int models_active(struct models *models);
int models_previous(struct models *models);
/* Puts it at the end of the history; rollback: takes the last one off instead. */
enum inmo_status models_activate(struct models *models, int number, struct inmo_error *error);
enum inmo_status models_roll_back(struct models *models, struct inmo_error *error);
/* Deletes the oldest but for keep and those at the end of the history. *oldest: the smallest seq of those left. */
enum inmo_status models_prune(struct models *models, int keep, int64_t *oldest, struct inmo_error *error);

#endif
