/* titles.h - what a titles file says of items, as one block of text, for model files. */
#ifndef INMO_DATA_TITLES_H
#define INMO_DATA_TITLES_H

#include "base/status.h"

/* The whole as one block: "columns id title", the names of the columns, then the cells row by row, each with a
 * NUL. */
const char *inmo_titles_block(const struct inmo_titles *titles, size_t *size);
/* Titles from such a block, which is taken over, even on failure. Errors: FORMAT (name is the file's), MEMORY. */
enum inmo_status inmo_titles_make(const char *name, char *block, size_t size, struct inmo_titles **titles,
                                  struct inmo_error *error);
/* The same from a copy of the block. */
enum inmo_status inmo_titles_from_block(const char *name, const char *block, size_t size,
                                        struct inmo_titles **titles, struct inmo_error *error);

/* Whether two words are the same; case does not matter. */
int inmo_same_word(const char *a, size_t a_length, const char *b, size_t b_length);
/* Whether one of the values in a cell ("Action|Comedy" has two) is this one; case does not matter. */
int inmo_titles_has_value(const char *cell, const char *value, size_t length);
/* Column of that name, or -1. Case does not matter, nor does a plural s: genre finds genres. */
int inmo_titles_find_column(const struct inmo_titles *titles, const char *name, size_t length);

#endif
