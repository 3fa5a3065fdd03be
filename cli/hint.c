/* hint.c - what was probably meant by an id nobody knows: users and items swapped when the log was read, or an id
 * that is spelt a little differently. */
#include "common.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_SIZE = 64 };

/* What is left of an id when spelling does not count: "Jazz 4" and "jazz-004" are both "jazz4". Bytes beyond ASCII
 * stay. */
static size_t plain(const char *id, char text[PLAIN_SIZE])
{
    size_t length = 0;
    for (const unsigned char *at = (const unsigned char *)id; *at && length + 1 < PLAIN_SIZE; at++) {
        int in_number = length > 0 && isdigit((unsigned char)text[length - 1]);
        int pads = *at == '0' && !in_number && isdigit(at[1]);
        if ((isalnum(*at) && !pads) || *at >= 128)
            text[length++] = (char)tolower(*at);
    }
    text[length] = 0;
    return length;
}

/* Whether one letter was left out, added or changed, or two were swapped. Another digit makes another id. */
static int is_one_slip(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t same = 0;
    if (a_length > b_length + 1 || b_length > a_length + 1)
        return 0;
    while (a[same] && a[same] == b[same])
        same++;
    if (isdigit((unsigned char)a[same]) || isdigit((unsigned char)b[same]))
        return 0;
    if (a_length == b_length)
        return !strcmp(a + same + 1, b + same + 1) ||
               (a[same] == b[same + 1] && a[same + 1] == b[same] && !strcmp(a + same + 2, b + same + 2));
    return a_length > b_length ? !strcmp(a + same + 1, b + same) : !strcmp(a + same, b + same + 1);
}

const char *cli_near_id(const struct inmo_view *view, int is_item, const char *id)
{
    const char *(*id_of)(const struct inmo_view *, int64_t) = is_item ? inmo_view_item_id : inmo_view_user_id;
    char asked[PLAIN_SIZE], known[PLAIN_SIZE];
    size_t length = plain(id, asked);
    const char *near = NULL, *other;

    for (int64_t row = 0; length >= 2 && (other = id_of(view, row)); row++) {
        size_t other_length = plain(other, known);
        if (other_length == length && !memcmp(asked, known, length))
            return other;
        if (!near && length >= 4 && is_one_slip(asked, length, known, other_length))
            near = other;
    }
    return near;
}

static void hint_one(const struct inmo_view *view, int is_item, const char *id, struct inmo_error *error)
{
    int64_t (*row_of)(const struct inmo_view *, const char *) = is_item ? inmo_view_item_row : inmo_view_user_row;
    int64_t (*other_row)(const struct inmo_view *, const char *) =
        is_item ? inmo_view_user_row : inmo_view_item_row;
    const char *near;

    if (!id || row_of(view, id) >= 0)
        return;
    if (other_row(view, id) >= 0)
        cli_add_hint(error, "; there is %s '%s': were users and items swapped (--columns) when the log was read?",
                     is_item ? "a user" : "an item", id);
    else if ((near = cli_near_id(view, is_item, id)))
        cli_add_hint(error, "; did you mean '%s'?", near);
}

void cli_hint_unknown(const struct inmo_view *view, const char *user, const char *item, struct inmo_error *error)
{
    if (error->code == INMO_UNKNOWN) {
        hint_one(view, 0, user, error);
        hint_one(view, 1, item, error);
    }
}

void cli_note_unknown_items(const struct inmo_view *view, const char *const *item, size_t count)
{
    int said = 0;
    for (size_t n = 0; n < count && said < 3; n++) {
        const char *near = inmo_view_item_row(view, item[n]) < 0 ? cli_near_id(view, 1, item[n]) : NULL;
        if (near) {
            cli_note(INMO_NOTE, "item '%s' is unknown; did you mean '%s'?", item[n], near);
            said++;
        }
    }
}

int cli_count_unknown(const struct inmo_view *view, const char *const *item, size_t count)
{
    int unknown = 0;
    for (size_t n = 0; n < count; n++)
        unknown += inmo_view_item_row(view, item[n]) < 0;
    return unknown;
}
