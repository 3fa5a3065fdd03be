/* keys.h - API keys: who may read, write and administrate, and how often.
 *
 * The key file has a line for each key; empty lines and what follows a # are ignored:
 *     name rights sha256-of-the-key-in-hex [expiry]
 *     site write  9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 2030-01-01
 * name is for logs: letters, digits, '.', '_' and '-'. rights is read, write or admin; each includes those before
 * it. From the expiry on (stamp.h; a date begins at midnight UTC) the key is as good as none. The file must be an
 * ordinary one that others may neither read nor write (chmod o=).
 *
 * Stored hashed: who reads the file cannot use the keys. A plain SHA-256 is right for that, since a generated key
 * has 256 bits from the system's random numbers and cannot be guessed. It would be wrong for passwords, which
 * people choose and which need a slow hash.
 *
 * Threads: keys_check and keys_take may be called from any thread and take no lock. To read the file again, open a
 * new structure and swap the pointer; close the old one when no request uses it. */
#ifndef INMO_SERVER_KEYS_H
#define INMO_SERVER_KEYS_H

#include "inmo.h"

enum keys_right { KEYS_NONE, KEYS_READ, KEYS_WRITE, KEYS_ADMIN };

enum {
    KEYS_SIZE = 49,      /* of a generated key: "inmo_" and 32 bytes in base64url, with its NUL */
    KEYS_HASH_SIZE = 65, /* of a hash in hex, with its NUL */
    KEYS_ANONYMOUS = -1, /* `which` of a request without a valid key */
};

struct keys_options {
    const char *path;        /* key file; NULL for none */
    const char *environment; /* one admin key more, from INMO_API_KEY; NULL for none. At least 16 bytes. */
    double rate, burst;      /* requests a second of one key, and how many may come at once; rate 0: no limit */
    double anonymous_rate, anonymous_burst; /* the same for all requests without a key together */
};

struct keys;

/* Rates that were used up in `before` (may be NULL) stay used up for the same keys: rereading the file gives nobody
 * a fresh allowance. IO: the file cannot be read, or others can read it; INPUT: a line is wrong, it is named. */
enum inmo_status keys_open(const struct keys_options *options, const struct keys *before, struct keys **keys,
                           struct inmo_error *error);
void keys_close(struct keys *keys);

/* 0: there are no keys, and nobody can have rights. */
size_t keys_count(const struct keys *keys);
/* Name of a key for logs; "environment" for that of INMO_API_KEY, "anonymous" for KEYS_ANONYMOUS. */
const char *keys_name(const struct keys *keys, int which);
const char *keys_right_name(enum keys_right right);

/* The rights of whoever presents this key; KEYS_NONE when it is no key, or an expired one. *which (may be NULL)
 * gets its place, or KEYS_ANONYMOUS. The time it takes does not depend on which key it is or how near to one. */
enum keys_right keys_check(const struct keys *keys, const char *presented, size_t length, int *which);

/* Takes one request from the allowance of a key. 1: go on; 0: too many, the next is allowed in *retry_after
 * seconds. now: seconds of a clock that does not go back (CLOCK_MONOTONIC). */
int keys_take(struct keys *keys, int which, double now, double *retry_after);

/* A new key, as a person gets it, and the hash that belongs into the file. */
enum inmo_status keys_generate(char key[KEYS_SIZE], char hash[KEYS_HASH_SIZE], struct inmo_error *error);
enum inmo_status keys_hash(const char *key, size_t length, char hash[KEYS_HASH_SIZE], struct inmo_error *error);

#endif
