/* titles.c - ids of items, what people call them, and further columns, as one block of text (titles.h), so that a
 * model file can keep it as it is. titles_read.c makes the block from a file. */
#include "data/titles.h"

#include "base/idmap.h"
#include "base/memory.h"
#include "data/columns.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct inmo_titles {
    char *block;  // see titles.h
    size_t size;
    int columns, id, title;
    const char **column;  // (columns)
    int64_t rows;
    int64_t *cell;  // (rows, columns) where each begins in the block
    struct inmo_idtable *row_of_id;
};

void inmo_titles_free(struct inmo_titles *titles)
{
    if (!titles)
        return;
    inmo_idtable_free(titles->row_of_id);
    inmo_free(titles->cell);
    inmo_free(titles->column);
    inmo_free(titles->block);
    inmo_free(titles);
}

/* ---- The block, and what is found in it ---------------------------------------------------------------------- */

enum inmo_status inmo_titles_make(const char *name, char *block, size_t size, struct inmo_titles **out,
                                  struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_titles *titles = inmo_alloc_zero(1, sizeof *titles);
    size_t cells = 0, at, seen = 0;
    if (!titles) {
        inmo_free(block);
        return inmo_fail_memory(error, "the titles");
    }
    titles->block = block;
    titles->size = size;
    for (size_t n = 0; n < size; n++)
        cells += block[n] == 0;
    if (size == 0 || block[size - 1] != 0 ||
        sscanf(block, "%d %d %d", &titles->columns, &titles->id, &titles->title) != 3 || titles->columns < 2 ||
        titles->columns > INMO_COLUMNS_MOST || titles->id < 0 || titles->id >= titles->columns ||
        titles->title < 0 || titles->title >= titles->columns || cells < 1 + (size_t)titles->columns ||
        (cells - 1) % (size_t)titles->columns != 0) {
        status = inmo_fail(error, INMO_FORMAT, "%s: its titles are inconsistent", name);
        goto done;
    }
    titles->rows = (int64_t)((cells - 1) / (size_t)titles->columns) - 1;
    titles->column = inmo_alloc((size_t)titles->columns, sizeof *titles->column);
    titles->cell = inmo_alloc((size_t)titles->rows * (size_t)titles->columns, sizeof *titles->cell);
    titles->row_of_id = inmo_idtable_new();
    if (!titles->column || !titles->cell || !titles->row_of_id) {
        status = inmo_fail_memory(error, "the titles");
        goto done;
    }
    for (at = strlen(block) + 1; at < size; at += strlen(block + at) + 1, seen++) {
        if (seen < (size_t)titles->columns)
            titles->column[seen] = block + at;
        else
            titles->cell[seen - (size_t)titles->columns] = (int64_t)at;
    }
    for (int64_t row = 0; row < titles->rows && !status; row++) {
        const char *id = inmo_titles_cell(titles, row, titles->id);
        int32_t number = inmo_idtable_intern(titles->row_of_id, id, strlen(id));
        if (number < 0)
            status = inmo_fail_memory(error, "the titles");
        else if (number != row)
            status = inmo_fail(error, INMO_FORMAT, "%s: its titles have the item '%s' twice", name, id);
    }
done:
    if (status)
        inmo_titles_free(titles);
    else
        *out = titles;
    return status;
}

const char *inmo_titles_block(const struct inmo_titles *titles, size_t *size)
{
    *size = titles->size;
    return titles->block;
}

enum inmo_status inmo_titles_from_block(const char *name, const char *block, size_t size,
                                        struct inmo_titles **titles, struct inmo_error *error)
{
    char *copy = inmo_alloc(size + 1, 1);
    if (!copy)
        return inmo_fail_memory(error, "the titles");
    memcpy(copy, block, size);
    copy[size] = 0;
    return inmo_titles_make(name, copy, size, titles, error);
}

void inmo_titles_info(const struct inmo_titles *titles, struct inmo_titles_info *info)
{
    *info = (struct inmo_titles_info){titles->rows, titles->columns, titles->id, titles->title, titles->column};
}

int64_t inmo_titles_row(const struct inmo_titles *titles, const char *id)
{
    return inmo_idtable_find(titles->row_of_id, id, strlen(id));
}

const char *inmo_titles_cell(const struct inmo_titles *titles, int64_t row, int column)
{
    return titles->block + titles->cell[row * titles->columns + column];
}

const char *inmo_titles_of(const struct inmo_titles *titles, const char *id)
{
    int64_t row = titles ? inmo_titles_row(titles, id) : -1;
    const char *title = row >= 0 ? inmo_titles_cell(titles, row, titles->title) : NULL;
    return title && *title ? title : NULL;
}

/* ---- Columns and values by name ------------------------------------------------------------------------------ */

int inmo_same_word(const char *a, size_t a_length, const char *b, size_t b_length)
{
    if (a_length != b_length)
        return 0;
    for (size_t n = 0; n < a_length; n++)
        if (tolower((unsigned char)a[n]) != tolower((unsigned char)b[n]))
            return 0;
    return 1;
}

int inmo_titles_has_value(const char *cell, const char *value, size_t length)
{
    for (;;) {
        size_t piece = strcspn(cell, "|");
        if (inmo_same_word(cell, piece, value, length))
            return 1;
        if (!cell[piece])
            return 0;
        cell += piece + 1;
    }
}

int inmo_titles_find_column(const struct inmo_titles *titles, const char *name, size_t length)
{
    for (int plural = 0; plural < 2; plural++)
        for (int c = 0; c < titles->columns; c++) {
            size_t found = strlen(titles->column[c]), wanted = length;
            if (plural) {
                found -= found > 1 && tolower((unsigned char)titles->column[c][found - 1]) == 's';
                wanted -= wanted > 1 && tolower((unsigned char)name[wanted - 1]) == 's';
            }
            if (inmo_same_word(titles->column[c], found, name, wanted))
                return c;
        }
    return -1;
}
