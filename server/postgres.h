/* postgres.h - what every user of a PostgreSQL database shares: the store (store_postgres.c) and queries
 * (feed_postgres.c). */
#ifndef INMO_SERVER_POSTGRES_H
#define INMO_SERVER_POSTGRES_H

#include "inmo.h"

#include <libpq-fe.h>

/* The first line of libpq's sentence, without its "ERROR:  " and full stop. */
void postgres_first_line(const char *text, char *line, size_t size);
/* An address stands in the list of processes, in logs and in messages: a password has no place there. what: "the
 * store", "the database". Errors: USAGE. */
enum inmo_status postgres_check_address(const char *url, const char *what, struct inmo_error *error);
/* Connects, with limits that make a dead server noticed within seconds unless the address says otherwise. The
 * connection is to be finished, and may have failed. */
PGconn *postgres_connect(const char *url);

#endif
