/* store_postgres.c - not there yet. */
#include "server/store_kind.h"

enum inmo_status store_postgres_open(const char *url, int read_only, struct store **store, struct inmo_error *error)
{
    (void)url, (void)read_only, (void)store;
    return inmo_fail(error, INMO_UNSUPPORTED, "PostgreSQL is not supported yet");
}
