/* json.c - results as JSON. jansson says little about memory that was short, and an item without its score or an
 * empty line would be taken for a result. So its allocations are watched: once one has failed, no JSON is printed,
 * no output takes its place (output.c), and the program ends with MEMORY (main.c). */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int memory_was_short;

static void *watched_allocation(size_t size)
{
    void *block = malloc(size);
    if (!block)
        memory_was_short = 1;
    return block;
}

void cli_watch_memory(void)
{
    json_set_alloc_funcs(watched_allocation, free);
}

enum inmo_status cli_check_memory(struct inmo_error *error)
{
    return memory_was_short ? cli_fail(error, INMO_MEMORY, "not enough memory for JSON") : INMO_OK;
}

json_t *cli_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (!string) {
        /* Longest replacement is 3 bytes for 1. */
        char *clean = cli_allocate(3 * strlen(text) + 1, 1), *out = clean;
        while (*text) {
            size_t length = 1;
            json_t *piece = NULL;
            for (; length <= 4 && strnlen(text, length) == length; length++) {
                piece = json_stringn(text, length);
                if (piece)
                    break;
            }
            if (piece) {
                memcpy(out, text, length);
                out += length;
                text += length;
            } else {
                memcpy(out, "\xef\xbf\xbd", 3);
                out += 3;
                text++;
            }
            json_decref(piece);
        }
        string = json_string(clean);
        free(clean);
    }
    return string;
}

json_t *cli_json_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *cli_json_error(enum inmo_status code, const char *message)
{
    return json_pack("{si ss so}", "code", (int)code, "name", inmo_status_name(code), "message",
                     cli_json_text(message));
}

json_t *cli_json_parsed(const char *text)
{
    json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    return value ? value : json_null();
}

void cli_json_put(FILE *stream, json_t *value, int pretty)
{
    size_t flags = JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10) | (pretty ? JSON_INDENT(2) : JSON_COMPACT);
    /* As a text first: half of an object is worse than none. */
    char *text = value && !memory_was_short ? json_dumps(value, flags) : NULL;
    if (text && !memory_was_short) {
        fputs(text, stream);
        fputc('\n', stream);
    } else {
        memory_was_short = 1;
    }
    free(text);
    json_decref(value);
}
