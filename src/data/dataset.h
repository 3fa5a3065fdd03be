/* dataset.h - a prepared data set: ids, five lists of interactions, and what was only seen.
 *
 *     train   training interactions, the graph of training
 *     valid   held out of train for early stopping; masked in the test
 *     test    to be predicted
 *     later   training interactions that are observed only after training (inductive scenarios), else empty
 *     aside   validation interactions of new users and items: nobody looks at them, and they are masked in the
 *             test like the rest of valid, so that the test is the same whoever is new; else empty
 *
 * Each list is a CSR: a row per user, columns are items. All arrays are either owned (prepared in memory) or
 * borrowed from the memory map of a prepared directory. */
#ifndef INMO_DATA_DATASET_H
#define INMO_DATA_DATASET_H

#include "base/csr.h"
#include "base/idmap.h"
#include "base/status.h"

enum inmo_scenario { INMO_TRANSDUCTIVE, INMO_NEW_INTERACTIONS, INMO_NEW_USERS_ITEMS };

struct inmo_tensorfile;

struct inmo_dataset {
    enum inmo_scenario scenario;
    struct inmo_idmap users, items;
    struct inmo_csr train, valid, test, later, aside;
    struct inmo_idmap extra_users,
        extra_items;               // known by name only: no interaction of theirs is in any list above
    struct inmo_csr seen;          // (users and extras, items and extras) seen but not chosen; offset NULL: nothing
    const uint8_t *new_user;       // (users) 1: not in train and valid; all zero outside that scenario
    const uint8_t *new_item;       // (items)
    char *description;             // JSON object
    struct inmo_tensorfile *file;  // NULL when owned
};

enum { INMO_DATASET_VERSION = 2 };
#define INMO_DATASET_KIND "dataset"

/* Writes data.safetensors of a prepared directory. */
typedef enum inmo_status inmo_write_data(const void *context, const char *path, struct inmo_error *error);
/* inmo_dataset_save with the arrays written by somebody else. */
enum inmo_status inmo_dataset_save_by(const struct inmo_dataset_info *info, inmo_write_data *write_it,
                                      const void *context, const char *directory, int force,
                                      struct inmo_error *error);

const char *inmo_scenario_name(enum inmo_scenario scenario);

#endif
