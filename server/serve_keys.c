/* serve_keys.c - inmo serve --new-key: a key for somebody, and its line in the key file. */
#include "server/keys.h"
#include "server/serve.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_LIMIT = 64 };

static enum inmo_status check_name(const char *name, struct inmo_error *error)
{
    size_t length = strlen(name);
    if (!length || length > NAME_LIMIT ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != length)
        return inmo_fail(error, INMO_USAGE,
                         "`new-key`: found \"%.100s\", expected a name of up to %d letters, digits, dots, dashes",
                         name, NAME_LIMIT);
    return INMO_OK;
}

/* Appends the line in one write; the file is for its owner alone. */
static enum inmo_status append(const char *path, const char *line, struct inmo_error *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    size_t length = strlen(line);
    enum inmo_status status = INMO_OK;
    if (file < 0)
        return inmo_fail_errno(error, "write", path);
    if (write(file, line, length) != (ssize_t)length || fsync(file))
        status = inmo_fail_errno(error, "write", path);
    close(file);
    return status;
}

enum inmo_status serve_new_key(const char *path, const char *name, const char *right,
                               void (*print)(const char *text), struct inmo_error *error)
{
    char key[KEYS_SIZE], hash[KEYS_HASH_SIZE], line[256];
    enum inmo_status status = check_name(name, error);

    if (!status)
        status = keys_generate(key, hash, error);
    if (!status) {
        snprintf(line, sizeof line, "%s %s %s\n", name, right, hash);
        if (path)
            status = append(path, line, error);
    }
    if (!status) {
        print(key);
        if (!path) {
            line[strlen(line) - 1] = 0;
            print(line);
        }
    }
    return status;
}
