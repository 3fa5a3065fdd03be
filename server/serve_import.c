/* serve_import.c - `inmo serve --import LOG` and `--log LOG`: files into the store, with the types of their
 * events. */
#include "server/serve.h"
#include "server/store.h"

#include <string.h>

/* A log with types or ratings is read line by line; of any other it is known only after reading it whole which of
 * its columns are what. Standard input cannot be looked at and read again. */
static enum inmo_status import_one(struct store *store, const struct serve_options *options, const char *path,
                                   const struct inmo_read_options *read, const struct serve_lines *by,
                                   const struct inmo_hooks *hooks, int64_t *added, struct inmo_error *error)
{
    struct store_lines lines = {.name = path};
    int typed = 0;
    enum inmo_status status = INMO_OK;

    if (strcmp(path, "-")) {
        status = by->open(path, read, &lines, error);
        if (!status)
            status = store_import_lines(store, &lines, read, options->import_type, options->seen, hooks, &typed,
                                        added, error);
        by->close(&lines);
    }
    if (!status && !typed)
        status = store_import_log(store, &path, 1, read, options->import_type, hooks, added, error);
    return status;
}

enum inmo_status serve_import(const struct serve_options *options, const char *const *paths, size_t count,
                              const struct inmo_read_options *read, const struct serve_lines *by,
                              const struct inmo_hooks *hooks, int64_t *added, struct inmo_error *error)
{
    struct store *store = NULL;
    int64_t sum = 0, here = 0;
    enum inmo_status status = store_open(options->store, 0, 0, &store, error);
    for (size_t n = 0; n < count && !status; n++) {
        status = import_one(store, options, paths[n], read, by, hooks, &here, error);
        sum += status ? 0 : here;
    }
    if (!status)
        *added = sum;
    store_close(store);
    return status;
}
