/* store_postgres_put.c - feedback, items and users into the tables of PostgreSQL: consecutive changes of one kind
 * are one statement over arrays. */
#include "server/store_postgres.h"

#include "base/text.h"

/* ---- Arrays -------------------------------------------------------------------------------------------------- */

/* One more element of "{...}"; NULL is none. */
static void add_element(struct inmo_text *array, const char *text)
{
    inmo_text_add(array, array->length ? "," : "{", 1);
    if (!text) {
        inmo_text_add(array, "NULL", 4);
        return;
    }
    inmo_text_add(array, "\"", 1);
    while (*text) {
        size_t plain = strcspn(text, "\"\\");
        inmo_text_add(array, text, plain);
        text += plain;
        if (*text) {
            inmo_text_add(array, "\\", 1);
            inmo_text_add(array, text++, 1);
        }
    }
    inmo_text_add(array, "\"", 1);
}

static void add_number(struct inmo_text *array, int64_t number, int is_null)
{
    inmo_text_add(array, array->length ? "," : "{", 1);
    if (is_null)
        inmo_text_add(array, "NULL", 4);
    else
        inmo_text_format(array, "%lld", (long long)number);
}

static const char *filled(const char *text)
{
    return text && *text ? text : NULL;
}

enum { MOST_ARRAYS = 7 };

/* Runs a statement over the arrays, which it ends, and the last number given out as the last parameter. */
static enum inmo_status run_arrays(struct postgres_writing *w, const char *sql, struct inmo_text *array, int count,
                                   PGresult **result, struct inmo_error *error)
{
    const char *parameter[MOST_ARRAYS + 1];
    char seq[32];
    enum inmo_status status = INMO_OK;

    for (int n = 0; n < count; n++) {
        if (array[n].data && array[n].data[array[n].length - 1] != '}')
            inmo_text_add(&array[n], "}", 1);
        if (array[n].failed)
            status = inmo_fail_memory(error, "a transaction");
        parameter[n] = array[n].data;
    }
    snprintf(seq, sizeof seq, "%lld", (long long)w->seq);
    parameter[count] = seq;
    if (!status)
        status = store_postgres_run(w->store, w->connection, sql, count + 1, parameter, result, error);
    return status;
}

/* ---- Runs of changes ----------------------------------------------------------------------------------------- */

#define DISTINCT_IDS                                                                                               \
    "WITH x AS (SELECT id, min(ord) AS ord FROM unnest($1::text[]) WITH ORDINALITY AS e(id, ord) GROUP BY id) "

static const char make_types[] =
    DISTINCT_IDS "INSERT INTO inmo.types(id) SELECT id FROM x WHERE $2::bigint >= 0 AND NOT EXISTS("
                 "SELECT FROM inmo.types t WHERE " POSTGRES_SAME("t.id", "x.id") ")";
static const char make_users[] =
    DISTINCT_IDS "INSERT INTO inmo.users(id, seq) SELECT id, $2::bigint + row_number() OVER (ORDER BY ord) FROM x "
                 "WHERE NOT EXISTS(SELECT FROM inmo.users u WHERE " POSTGRES_SAME("u.id", "x.id") ")";
static const char make_items[] =
    DISTINCT_IDS "INSERT INTO inmo.items(id, hidden, seq) "
                 "SELECT id, false, $2::bigint + row_number() OVER (ORDER BY ord) FROM x "
                 "WHERE NOT EXISTS(SELECT FROM inmo.items i WHERE " POSTGRES_SAME("i.id", "x.id") ")";

#define EVENTS                                                                                                     \
    "WITH x AS (SELECT e.ord, u.num AS u, i.num AS i, t.num AS t, e.time, e.comment "                              \
    "FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[]) WITH ORDINALITY "                   \
    "AS e(type, u, i, time, comment, ord) "                                                                        \
    "JOIN inmo.types t ON " POSTGRES_SAME("t.id", "e.type") " JOIN inmo.users u ON " POSTGRES_SAME(                \
        "u.id", "e.u") " JOIN inmo.items i ON " POSTGRES_SAME("i.id", "e.i") "), "
#define PRESENT "EXISTS(SELECT FROM inmo.feedback f WHERE f.\"user\" = d.u AND f.item = d.i AND f.type = d.t)"

/* The first of equal events in the batch counts, unless it is there already. */
static const char add_events[] =
    EVENTS "d AS (SELECT DISTINCT ON (u, i, t) * FROM x ORDER BY u, i, t, ord), "
           "n AS MATERIALIZED (SELECT d.*, $6::bigint + row_number() OVER (ORDER BY ord) AS seq FROM d "
           "WHERE NOT " PRESENT "), p AS (INSERT INTO inmo.feedback(seq, \"user\", item, type, time, comment) "
           "SELECT seq, u, i, t, time, comment FROM n) SELECT ord, seq, false FROM n";
/* The last of equal events counts, and replaces what is there. */
static const char put_events[] =
    EVENTS "d AS (SELECT DISTINCT ON (u, i, t) * FROM x ORDER BY u, i, t, ord DESC), "
           "n AS MATERIALIZED (SELECT d.*, $6::bigint + row_number() OVER (ORDER BY ord) AS seq, " PRESENT
           " AS was FROM d), p AS (INSERT INTO inmo.feedback(seq, \"user\", item, type, time, comment) "
           "SELECT seq, u, i, t, time, comment FROM n ON CONFLICT(\"user\", item, type) "
           "DO UPDATE SET seq = excluded.seq, time = excluded.time, comment = excluded.comment) "
           "SELECT ord, seq, was FROM n";
static const char put_items[] =
    "WITH d AS (SELECT DISTINCT ON (id) * FROM unnest($1::text[], $2::boolean[], $3::bigint[], $4::text[], "
    "$5::text[], $6::text[], $7::bigint[]) WITH ORDINALITY "
    "AS e(id, hidden, time, categories, labels, comment, replaces, ord) ORDER BY id, ord DESC), "
    "n AS MATERIALIZED (SELECT d.*, $8::bigint + row_number() OVER (ORDER BY ord) AS seq, i.num AS num "
    "FROM d LEFT JOIN inmo.items i ON " POSTGRES_SAME(
        "i.id", "d.id") " WHERE d.replaces = 0 OR d.replaces = i.seq), "
                        "p AS (UPDATE inmo.items i SET seq = n.seq, hidden = n.hidden, time = n.time, categories = "
                        "n.categories, "
                        "labels = n.labels, comment = n.comment FROM n WHERE i.num = n.num), "
                        "q AS (INSERT INTO inmo.items(id, seq, hidden, time, categories, labels, comment) "
                        "SELECT id, seq, hidden, time, categories, labels, comment FROM n WHERE num IS NULL) "
                        "SELECT ord, seq, num IS NOT NULL FROM n";
static const char put_users[] =
    "WITH d AS (SELECT DISTINCT ON (id) * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], "
    "$5::bigint[]) WITH ORDINALITY AS e(id, labels, subscribe, comment, replaces, ord) ORDER BY id, ord DESC), "
    "n AS MATERIALIZED (SELECT d.*, $6::bigint + row_number() OVER (ORDER BY ord) AS seq, u.num AS num "
    "FROM d LEFT JOIN inmo.users u ON " POSTGRES_SAME(
        "u.id", "d.id") " WHERE d.replaces = 0 OR d.replaces = u.seq), "
                        "p AS (UPDATE inmo.users u SET seq = n.seq, labels = n.labels, subscribe = n.subscribe, "
                        "comment = n.comment "
                        "FROM n WHERE u.num = n.num), "
                        "q AS (INSERT INTO inmo.users(id, seq, labels, subscribe, comment) "
                        "SELECT id, seq, labels, subscribe, comment FROM n WHERE num IS NULL) "
                        "SELECT ord, seq, num IS NOT NULL FROM n";

/* Rows (ord, seq, whether it was there) into the changes; returns how many were not there. */
static int64_t take_rows(struct postgres_writing *w, const PGresult *result, struct store_change *changes)
{
    int rows = PQntuples(result);
    int64_t made = 0;

    for (int n = 0; n < rows; n++) {
        struct store_change *change = &changes[store_postgres_number(result, n, 0) - 1];
        change->affected = 1;
        change->seq = store_postgres_number(result, n, 1);
        made += PQgetvalue(result, n, 2)[0] == 'f';
    }
    w->seq += rows;
    return made;
}

static enum inmo_status make_missing(struct postgres_writing *w, const char *sql, struct inmo_text *ids,
                                     int64_t *total, struct inmo_error *error)
{
    PGresult *result = NULL;
    enum inmo_status status = run_arrays(w, sql, ids, 1, &result, error);

    if (!status && total) {
        int64_t made = strtoll(PQcmdTuples(result), NULL, 10);
        w->seq += made;
        *total += made;
    }
    PQclear(result);
    return status;
}

enum inmo_status store_postgres_put_feedback(struct postgres_writing *w, struct store_change *changes, size_t count,
                                             struct inmo_error *error)
{
    int add = changes->deed == STORE_ADD_FEEDBACK;
    struct inmo_text array[5] = {{0}};
    PGresult *result = NULL;
    enum inmo_status status;

    for (size_t n = 0; n < count; n++) {
        const struct store_feedback *feedback = &changes[n].feedback;
        add_element(&array[0], feedback->type);
        add_element(&array[1], feedback->user);
        add_element(&array[2], feedback->item);
        add_number(&array[3], feedback->time, feedback->time == STORE_NO_TIME);
        add_element(&array[4], filled(feedback->comment));
    }
    status = make_missing(w, make_types, &array[0], NULL, error);
    if (!status)
        status = make_missing(w, make_users, &array[1], &w->users, error);
    if (!status)
        status = make_missing(w, make_items, &array[2], &w->items, error);
    if (!status)
        status = run_arrays(w, add ? add_events : put_events, array, 5, &result, error);
    if (!status)
        w->feedback += take_rows(w, result, changes);
    PQclear(result);
    for (int n = 0; n < 5; n++)
        inmo_text_free(&array[n]);
    return status;
}

enum inmo_status store_postgres_put_items(struct postgres_writing *w, struct store_change *changes, size_t count,
                                          struct inmo_error *error)
{
    struct inmo_text array[7] = {{0}};
    PGresult *result = NULL;
    enum inmo_status status;

    for (size_t n = 0; n < count; n++) {
        const struct store_item *item = &changes[n].item;
        add_element(&array[0], item->id);
        add_element(&array[1], item->hidden ? "t" : "f");
        add_number(&array[2], item->time, item->time == STORE_NO_TIME);
        add_element(&array[3], filled(item->categories));
        add_element(&array[4], filled(item->labels));
        add_element(&array[5], filled(item->comment));
        add_number(&array[6], item->seq, 0);
    }
    status = run_arrays(w, put_items, array, 7, &result, error);
    if (!status)
        w->items += take_rows(w, result, changes);
    PQclear(result);
    for (int n = 0; n < 7; n++)
        inmo_text_free(&array[n]);
    return status;
}

enum inmo_status store_postgres_put_users(struct postgres_writing *w, struct store_change *changes, size_t count,
                                          struct inmo_error *error)
{
    struct inmo_text array[5] = {{0}};
    PGresult *result = NULL;
    enum inmo_status status;

    for (size_t n = 0; n < count; n++) {
        const struct store_user *user = &changes[n].user;
        add_element(&array[0], user->id);
        add_element(&array[1], filled(user->labels));
        add_element(&array[2], filled(user->subscribe));
        add_element(&array[3], filled(user->comment));
        add_number(&array[4], user->seq, 0);
    }
    status = run_arrays(w, put_users, array, 5, &result, error);
    if (!status)
        w->users += take_rows(w, result, changes);
    PQclear(result);
    for (int n = 0; n < 5; n++)
        inmo_text_free(&array[n]);
    return status;
}
