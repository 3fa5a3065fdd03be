/* store_rows.c - rows of a piece, see store_kind.h. Texts are kept in blocks that never move. */
#include "server/store_kind.h"

#include "base/memory.h"

#include <string.h>

enum { BLOCK = 1 << 16 };

struct store_rows_block {
    struct store_rows_block *next;
    size_t used, size;
    char text[];
};

struct store_change *store_rows_add(struct store_rows *rows)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 256;
        struct store_change *row = inmo_resize(rows->row, rows->count, capacity, sizeof *row);
        if (!row) {
            rows->failed = 1;
            return NULL;
        }
        rows->row = row;
        rows->capacity = capacity;
    }
    rows->bytes += sizeof *rows->row;
    memset(rows->row + rows->count, 0, sizeof *rows->row);
    return rows->row + rows->count++;
}

const char *store_rows_text(struct store_rows *rows, const char *text, size_t length, const char *instead)
{
    struct store_rows_block *block = rows->block;
    char *copy;

    if (!text)
        return instead;
    if (!length)
        return "";
    if (!block || block->size - block->used < length + 1) {
        size_t size = length + 1 > BLOCK ? length + 1 : BLOCK;
        block = inmo_alloc(1, sizeof *block + size);
        if (!block) {
            rows->failed = 1;
            return "";
        }
        *block = (struct store_rows_block){.next = rows->block, .size = size};
        rows->block = block;
    }
    copy = block->text + block->used;
    memcpy(copy, text, length);
    copy[length] = 0;
    block->used += length + 1;
    rows->bytes += length + 1;
    return copy;
}

int store_rows_full(const struct store_rows *rows)
{
    return rows->count >= STORE_PIECE_ROWS || rows->bytes >= STORE_PIECE_BYTES || rows->failed;
}

void store_rows_clear(struct store_rows *rows)
{
    while (rows->block && rows->block->next) {
        struct store_rows_block *next = rows->block->next;
        inmo_free(rows->block);
        rows->block = next;
    }
    if (rows->block)
        rows->block->used = 0;
    rows->count = 0;
    rows->bytes = 0;
    rows->failed = 0;
}

void store_rows_free(struct store_rows *rows)
{
    store_rows_clear(rows);
    inmo_free(rows->block);
    inmo_free(rows->row);
    *rows = (struct store_rows){0};
}
