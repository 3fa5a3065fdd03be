/* import.h - a log of any length through POST /api/import: read as it arrives (events.h has its lines), written in
 * transactions of a few thousand events, so memory does not grow with it. Events are idempotent, so an import that
 * broke off is simply sent again; ?skip=LINES saves the time for what was acknowledged. A bad line stops it: the
 * answer names the line, and how many lines are stored. */
#ifndef INMO_SERVER_IMPORT_H
#define INMO_SERVER_IMPORT_H

#include "server/request.h"

/* Takes size bytes of the body. Returns how many were used: fewer when a transaction was handed to the writer (the
 * state is REQUEST_WAITS) and the rest has to wait. */
size_t import_feed(struct request *request, const char *data, size_t size);
void import_free(struct request *request);

/* export.c: the next piece of GET /api/export into text; 0 at the end, negative on failure. */
int export_more(struct request *request, struct inmo_text *text);
void export_free(struct request *request);

#endif
