/* feed.h - the rows of a database as a log: `--query`. The query is run once, in a transaction that cannot write,
 * and its rows are passed on as comma-separated text (struct inmo_source) while they arrive: none is kept.
 *
 *     postgresql://...            COPY (QUERY) TO STDOUT
 *     FILE, sqlite:FILE           a database file of SQLite, opened for reading
 *
 * Errors: USAGE (an address with a password, a query that the database refuses or that is not one that reads), IO
 * (the database cannot be reached, or is lost on the way), INPUT (no rows, a value that is no text), INTERRUPTED,
 * MEMORY. */
#ifndef INMO_SERVER_FEED_H
#define INMO_SERVER_FEED_H

#include "inmo.h"

struct feed;

/* Whether a query can be put to this: an address, or a file that begins as SQLite's do. */
int feed_is_database(const char *address);
/* Opens the database and begins the query. source belongs to the feed. */
enum inmo_status feed_open(const char *address, const char *query, const struct inmo_hooks *hooks,
                           struct feed **feed, const struct inmo_source **source, struct inmo_error *error);
void feed_close(struct feed *feed);

#endif
