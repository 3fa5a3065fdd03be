/* keys.c - reading the key file, checking keys in constant time, and the allowance of each.
 *
 * The allowance is a token bucket, kept as one number (the "generic cell rate algorithm"): `due`, the time at which
 * the bucket is full again. A request moves it on by 1 / rate; it is refused when that would be more than burst /
 * rate ahead of now. One number is one compare-and-swap, so no request waits for another. */
#include "server/keys.h"

#include "base/memory.h"
#include "base/status.h"
#include "server/stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH = 32, NAME = 64, FILE_MOST = 1 << 20, PRESENTED_MOST = 4096, ENVIRONMENT_LEAST = 16 };

struct bucket {
    _Atomic int64_t due; /* nanoseconds of the caller's clock */
    char apart[56];      /* a cache line each: keys in use by different threads do not slow each other down */
};

struct key {
    char name[NAME + 1];
    enum keys_right right;
    int64_t expiry; /* milliseconds since 1970; INT64_MAX: never */
    unsigned char hash[HASH];
};

struct keys {
    struct key *key;        // (count)
    struct bucket *bucket;  // (count + 1) the last is that of requests without a key
    size_t count, capacity;
    double rate, burst, anonymous_rate, anonymous_burst;
};

static const char *const right_names[] = {"none", "read", "write", "admin"};

const char *keys_right_name(enum keys_right right)
{
    return right_names[right];
}

size_t keys_count(const struct keys *keys)
{
    return keys->count;
}

const char *keys_name(const struct keys *keys, int which)
{
    return which >= 0 && (size_t)which < keys->count ? keys->key[which].name : "anonymous";
}

/* ---- Hashes and new keys ------------------------------------------------------------------------------------ */

static int sha256(const void *bytes, size_t length, unsigned char hash[HASH])
{
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes, length, hash) == 0;
}

enum inmo_status keys_hash(const char *key, size_t length, char hash[KEYS_HASH_SIZE], struct inmo_error *error)
{
    unsigned char bytes[HASH];
    if (!sha256(key, length, bytes))
        return inmo_fail(error, INMO_INTERNAL, "GnuTLS cannot compute a SHA-256");
    for (int n = 0; n < HASH; n++)
        snprintf(hash + 2 * n, 3, "%02x", bytes[n]);
    return INMO_OK;
}

enum inmo_status keys_generate(char key[KEYS_SIZE], char hash[KEYS_HASH_SIZE], struct inmo_error *error)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char random[33] = {0}; /* 32 bytes are 42 digits and 4 bits: the last byte stays 0 */
    char made[KEYS_SIZE] = "inmo_";
    char *at = made + 5;
    enum inmo_status status;
    /* Up to 256 bytes come whole or not at all; it waits until the system has gathered enough. */
    if (getrandom(random, 32, 0) != 32)
        return inmo_fail_errno(error, "read", "random numbers of the system");
    for (int n = 0; n < 33; n += 3) {
        uint32_t three = (uint32_t)random[n] << 16 | (uint32_t)random[n + 1] << 8 | random[n + 2];
        for (int shift = 18; shift >= 0 && at < made + KEYS_SIZE - 1; shift -= 6)
            *at++ = digits[three >> shift & 63];
    }
    *at = '\0';
    status = keys_hash(made, KEYS_SIZE - 1, hash, error);
    if (status == INMO_OK)
        memcpy(key, made, KEYS_SIZE);
    gnutls_memset(random, 0, sizeof random);
    gnutls_memset(made, 0, sizeof made);
    return status;
}

/* ---- Reading ------------------------------------------------------------------------------------------------ */

static enum inmo_status add_key(struct keys *keys, const struct key *key, struct inmo_error *error)
{
    if (keys->count == keys->capacity) {
        size_t capacity = 2 * keys->capacity + 8;
        struct key *grown = inmo_resize(keys->key, keys->count, capacity, sizeof *grown);
        if (!grown)
            return inmo_fail_memory(error, "API keys");
        keys->key = grown;
        keys->capacity = capacity;
    }
    keys->key[keys->count++] = *key;
    return INMO_OK;
}

/* The next word of a line, NUL-terminated; NULL at its end. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t\r"), *end = word + strcspn(word, " \t\r");
    *line = *end ? end + 1 : end;
    *end = '\0';
    return *word ? word : NULL;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int read_hash(const char *hex, unsigned char hash[HASH])
{
    if (strlen(hex) != 2 * HASH)
        return 0;
    for (int n = 0; n < HASH; n++) {
        int high = hex_digit(hex[2 * n]), low = hex_digit(hex[2 * n + 1]);
        if (high < 0 || low < 0)
            return 0;
        hash[n] = (unsigned char)(high << 4 | low);
    }
    return 1;
}

static int is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return length > 0 && length <= NAME && !name[length];
}

/* What is wrong with a word never goes into the message whole when it may be a key that somebody pasted in
 * clear. */
static enum inmo_status read_line(struct keys *keys, const char *path, int number, char *line,
                                  struct inmo_error *error)
{
    struct key key = {.expiry = INT64_MAX};
    char *name, *right, *hash, *expiry;
    line[strcspn(line, "#")] = '\0';
    name = next_word(&line);
    if (!name)
        return INMO_OK;
    right = next_word(&line);
    hash = next_word(&line);
    expiry = next_word(&line);
    if (!is_name(name))
        return inmo_fail(error, INMO_INPUT,
                         "%s:%d: the name of a key has 1 to %d letters, digits, '.', '_' and '-'", path, number,
                         NAME);
    for (int n = KEYS_READ; right && n <= KEYS_ADMIN; n++)
        if (strcmp(right, right_names[n]) == 0)
            key.right = (enum keys_right)n;
    if (key.right == KEYS_NONE)
        return inmo_fail(error, INMO_INPUT, "%s:%d: expected read, write or admin after the name \"%s\"", path,
                         number, name);
    if (!hash || !read_hash(hash, key.hash))
        return inmo_fail(
            error, INMO_INPUT, "%s:%d: expected the SHA-256 of the key \"%s\" as 64 hexadecimal digits%s", path,
            number, name,
            hash && strncmp(hash, "inmo_", 5) == 0 ? ", found the key itself, which must not be kept here" : "");
    if (expiry && !stamp_parse(expiry, strlen(expiry), &key.expiry))
        return inmo_fail(error, INMO_INPUT, "%s:%d: found \"%.40s\" as expiry, expected " STAMP_EXPECTED, path,
                         number, expiry);
    if (next_word(&line))
        return inmo_fail(error, INMO_INPUT, "%s:%d: more than name, rights, hash and expiry", path, number);
    for (size_t n = 0; n < keys->count; n++) {
        if (strcmp(keys->key[n].name, name) == 0)
            return inmo_fail(error, INMO_INPUT, "%s:%d: a second key named \"%s\"", path, number, name);
        if (memcmp(keys->key[n].hash, key.hash, HASH) == 0)
            return inmo_fail(error, INMO_INPUT, "%s:%d: \"%s\" is the same key as \"%s\"", path, number, name,
                             keys->key[n].name);
    }
    strcpy(key.name, name);
    return add_key(keys, &key, error);
}

/* The whole file as text; the permissions are those of what was opened, not of what the name means a moment
 * later. */
static enum inmo_status read_text(const char *path, char **text, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    char *made = NULL;
    size_t length = 0;
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not make it wait */
    if (file < 0 || fstat(file, &about) != 0) {
        status = inmo_fail_errno(error, "open", path);
        goto done;
    }
    if (!S_ISREG(about.st_mode)) {
        status = inmo_fail(error, INMO_IO, "%s is not an ordinary file", path);
        goto done;
    }
    if (about.st_mode & S_IRWXO) {
        status =
            inmo_fail(error, INMO_IO, "%s has keys, but others may read or write it (mode %03o); chmod o= helps",
                      path, (unsigned)about.st_mode & 0777);
        goto done;
    }
    if (about.st_size > FILE_MOST) {
        status =
            inmo_fail(error, INMO_INPUT, "%s has more than %d bytes, too many for a key file", path, FILE_MOST);
        goto done;
    }
    made = inmo_alloc(FILE_MOST + 1, 1);
    if (!made) {
        status = inmo_fail_memory(error, "API keys");
        goto done;
    }
    for (ssize_t got = 1; got > 0 && length < FILE_MOST; length += (size_t)got) {
        got = read(file, made + length, FILE_MOST - length);
        if (got < 0) {
            status = inmo_fail_errno(error, "read", path);
            goto done;
        }
    }
    made[length] = '\0';
    if (strlen(made) != length) {
        status = inmo_fail(error, INMO_INPUT, "%s has a NUL byte, so it is not a key file", path);
        goto done;
    }
    *text = made;
    made = NULL;
done:
    inmo_free(made);
    if (file >= 0)
        close(file);
    return status;
}

static enum inmo_status read_file(struct keys *keys, const char *path, struct inmo_error *error)
{
    char *text = NULL;
    enum inmo_status status = read_text(path, &text, error);
    int number = 0;
    for (char *line = text, *next = NULL; status == INMO_OK && line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        status = read_line(keys, path, ++number, line, error);
    }
    inmo_free(text);
    return status;
}

static enum inmo_status add_environment(struct keys *keys, const char *given, struct inmo_error *error)
{
    struct key key = {.name = "environment", .right = KEYS_ADMIN, .expiry = INT64_MAX};
    size_t length = strlen(given);
    if (length < ENVIRONMENT_LEAST || length > PRESENTED_MOST)
        return inmo_fail(error, INMO_USAGE,
                         "INMO_API_KEY has %zu bytes, expected %d to %d, so that it cannot be guessed", length,
                         ENVIRONMENT_LEAST, PRESENTED_MOST);
    if (!sha256(given, length, key.hash))
        return inmo_fail(error, INMO_INTERNAL, "GnuTLS cannot compute a SHA-256");
    for (size_t n = 0; n < keys->count; n++)
        if (strcmp(keys->key[n].name, key.name) == 0 || memcmp(keys->key[n].hash, key.hash, HASH) == 0)
            return inmo_fail(error, INMO_USAGE,
                             "the key \"%s\" of the key file is that of INMO_API_KEY, or named like it",
                             keys->key[n].name);
    return add_key(keys, &key, error);
}

enum inmo_status keys_open(const struct keys_options *options, const struct keys *before, struct keys **keys,
                           struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct keys *made = inmo_alloc_zero(1, sizeof *made);
    if (!made) {
        status = inmo_fail_memory(error, "API keys");
        goto done;
    }
    made->rate = options->rate, made->burst = options->burst;
    made->anonymous_rate = options->anonymous_rate, made->anonymous_burst = options->anonymous_burst;
    if (options->path && (status = read_file(made, options->path, error)) != INMO_OK)
        goto done;
    if (options->environment && (status = add_environment(made, options->environment, error)) != INMO_OK)
        goto done;
    made->bucket = inmo_alloc(made->count + 1, sizeof *made->bucket);
    if (!made->bucket) {
        status = inmo_fail_memory(error, "API keys");
        goto done;
    }
    for (size_t n = 0; n <= made->count; n++)
        atomic_init(&made->bucket[n].due, INT64_MIN);
    for (size_t b = 0; before && b <= before->count; b++) {
        int64_t due = atomic_load_explicit(&before->bucket[b].due, memory_order_relaxed);
        if (b == before->count)
            atomic_init(&made->bucket[made->count].due, due);
        for (size_t n = 0; b < before->count && n < made->count; n++)
            if (memcmp(before->key[b].hash, made->key[n].hash, HASH) == 0)
                atomic_init(&made->bucket[n].due, due);
    }
    *keys = made;
    made = NULL;
done:
    keys_close(made);
    return status;
}

void keys_close(struct keys *keys)
{
    if (keys) {
        inmo_free(keys->bucket);
        inmo_free(keys->key);
        inmo_free(keys);
    }
}

/* ---- Requests ----------------------------------------------------------------------------------------------- */

/* Hashes are compared, all of them and each to its end: neither the place of the key nor a common beginning shows
 * in the time. */
enum keys_right keys_check(const struct keys *keys, const char *presented, size_t length, int *which)
{
    unsigned char hash[HASH];
    int found = KEYS_ANONYMOUS;
    if (presented && length > 0 && length <= PRESENTED_MOST && sha256(presented, length, hash))
        for (size_t n = 0; n < keys->count; n++) {
            int same = gnutls_memcmp(keys->key[n].hash, hash, HASH) == 0;
            found = same ? (int)n : found;
        }
    if (found != KEYS_ANONYMOUS && stamp_now() >= keys->key[found].expiry)
        found = KEYS_ANONYMOUS;
    if (which)
        *which = found;
    return found == KEYS_ANONYMOUS ? KEYS_NONE : keys->key[found].right;
}

int keys_take(struct keys *keys, int which, double now, double *retry_after)
{
    int known = which >= 0 && (size_t)which < keys->count;
    double rate = known ? keys->rate : keys->anonymous_rate, burst = known ? keys->burst : keys->anonymous_burst;
    _Atomic int64_t *due = &keys->bucket[known ? (size_t)which : keys->count].due;
    int64_t at = (int64_t)(now * 1e9), interval, ahead, old;
    if (!(rate > 0))
        return 1;
    interval = (int64_t)fmin(1e9 / rate, 1e18); /* 30 years */
    ahead = (int64_t)fmin(fmax(burst, 1) * 1e9 / rate, 1e18);
    old = atomic_load_explicit(due, memory_order_relaxed);
    for (;;) {
        int64_t base = old < at           ? at
                       : old > at + ahead ? at + ahead
                                          : old; /* further ahead only if the clock fell */
        int64_t next = base + interval;
        if (next - at > ahead) {
            *retry_after = (double)(next - at - ahead) / 1e9;
            return 0;
        }
        if (atomic_compare_exchange_weak_explicit(due, &old, next, memory_order_relaxed, memory_order_relaxed))
            return 1;
    }
}
