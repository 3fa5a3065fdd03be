/* store_postgres_write.c - changes into the tables of PostgreSQL: one transaction, all or nothing.
 *
 * Consecutive changes of one kind are one statement over arrays; deletions are statements of their own. Every
 * server holds the lock of the writers meanwhile (store_postgres.h), so what is looked up is still true when it is
 * inserted. */
#include "server/store_postgres.h"

#include "base/text.h"

#include <stdlib.h>
#include <time.h>

/* All statements touch few rows by their keys, whatever the statistics of a table that was just made say. */
static const char settings[] = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; "
                               "SET enable_bitmapscan = off;";

struct writing {
    struct store_postgres *store;
    PGconn *connection;
    int64_t seq, feedback, users, items; /* the last number given out; what was added to the totals */
    char transaction[32];
};

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
static enum inmo_status run_arrays(struct writing *w, const char *sql, struct inmo_text *array, int count,
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

static int64_t number_at(const PGresult *result, int row, int column)
{
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
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
static int64_t take_rows(struct writing *w, const PGresult *result, struct store_change *changes)
{
    int rows = PQntuples(result);
    int64_t made = 0;

    for (int n = 0; n < rows; n++) {
        struct store_change *change = &changes[number_at(result, n, 0) - 1];
        change->affected = 1;
        change->seq = number_at(result, n, 1);
        made += PQgetvalue(result, n, 2)[0] == 'f';
    }
    w->seq += rows;
    return made;
}

static enum inmo_status make_missing(struct writing *w, const char *sql, struct inmo_text *ids, int64_t *total,
                                     struct inmo_error *error)
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

static enum inmo_status write_feedback(struct writing *w, struct store_change *changes, size_t count,
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

static enum inmo_status write_items(struct writing *w, struct store_change *changes, size_t count,
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

static enum inmo_status write_users(struct writing *w, struct store_change *changes, size_t count,
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

/* ---- Deletions ----------------------------------------------------------------------------------------------- */

static enum inmo_status delete_rows(struct writing *w, const char *sql, const char *const *parameter, int count,
                                    int64_t *deleted, struct inmo_error *error)
{
    PGresult *result = NULL;
    enum inmo_status status = store_postgres_run(w->store, w->connection, sql, count, parameter, &result, error);

    if (!status && deleted)
        *deleted = strtoll(PQcmdTuples(result), NULL, 10);
    PQclear(result);
    return status;
}

/* The tombstone, also when nothing was there: a model may know what the store does not. */
static enum inmo_status bury_later(struct writing *w, struct store_change *change, const char *type,
                                   const char *user, const char *item, struct inmo_error *error)
{
    char deed[16], seq[32];
    const char *parameter[5] = {deed, type ? type : "", user ? user : "", item ? item : "", seq};
    enum inmo_status status;

    change->seq = ++w->seq;
    snprintf(deed, sizeof deed, "%d", (int)change->deed);
    snprintf(seq, sizeof seq, "%lld", (long long)change->seq);
    status =
        delete_rows(w,
                    "DELETE FROM inmo.gone WHERE deed = $1::integer AND type = $2::text AND \"user\" = $3::text "
                    "AND item = $4::text AND substr(\"user\", 1, 200) = substr($3::text, 1, 200) "
                    "AND substr(item, 1, 200) = substr($4::text, 1, 200)",
                    parameter, 4, NULL, error);
    if (!status)
        status = delete_rows(w,
                             "INSERT INTO inmo.gone(deed, type, \"user\", item, seq) "
                             "VALUES($1::integer, $2::text, $3::text, $4::text, $5::bigint)",
                             parameter, 5, NULL, error);
    return status;
}

static enum inmo_status delete_feedback(struct writing *w, struct store_change *change, struct inmo_error *error)
{
    const struct store_feedback *feedback = &change->feedback;
    const char *parameter[3] = {feedback->user, feedback->item, feedback->type};
    int64_t deleted = 0;
    enum inmo_status status = delete_rows(
        w,
        "DELETE FROM inmo.feedback f USING inmo.users u, inmo.items i, inmo.types t WHERE f.\"user\" = u.num "
        "AND f.item = i.num AND f.type = t.num AND " POSTGRES_SAME("u.id", "$1::text") " AND " POSTGRES_SAME(
            "i.id", "$2::text") " AND ($3::text IS NULL OR t.id = $3::text)",
        parameter, 3, &deleted, error);

    change->affected = (int)deleted;
    w->feedback -= deleted;
    if (!status)
        status = bury_later(w, change, feedback->type, feedback->user, feedback->item, error);
    return status;
}

/* A user or an item with all feedback. affected counts both. */
static enum inmo_status delete_side(struct writing *w, struct store_change *change, int of_user, const char *id,
                                    struct inmo_error *error)
{
    int64_t feedback = 0, side = 0;
    enum inmo_status status =
        delete_rows(w,
                    of_user ? "DELETE FROM inmo.feedback WHERE \"user\" = (SELECT num FROM inmo.users u "
                              "WHERE " POSTGRES_SAME("u.id", "$1::text") ")"
                            : "DELETE FROM inmo.feedback WHERE item = (SELECT num FROM inmo.items i "
                              "WHERE " POSTGRES_SAME("i.id", "$1::text") ")",
                    &id, 1, &feedback, error);

    if (!status)
        status = delete_rows(w,
                             of_user ? "DELETE FROM inmo.users u WHERE " POSTGRES_SAME("u.id", "$1::text")
                                     : "DELETE FROM inmo.items i WHERE " POSTGRES_SAME("i.id", "$1::text"),
                             &id, 1, &side, error);
    change->affected = (int)(feedback + side);
    w->feedback -= feedback;
    *(of_user ? &w->users : &w->items) -= side;
    if (!status)
        status = bury_later(w, change, NULL, of_user ? id : NULL, of_user ? NULL : id, error);
    return status;
}

/* ---- Transactions -------------------------------------------------------------------------------------------- */

/* Whether it replaces one version only: then it is a run of its own, after which the row has another seq. */
static int is_conditional(const struct store_change *change)
{
    return (change->deed == STORE_PUT_ITEM && change->item.seq) ||
           (change->deed == STORE_PUT_USER && change->user.seq);
}

/* All changes, by runs of one kind. */
static enum inmo_status apply(struct writing *w, struct store_change *changes, size_t count,
                              struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    for (size_t first = 0, end; !status && first < count; first = end) {
        struct store_change *run = &changes[first];
        int is_put = run->deed == STORE_PUT_FEEDBACK || run->deed == STORE_PUT_ITEM || run->deed == STORE_PUT_USER;
        end = first;
        do {
            changes[end].seq = 0;
            changes[end].affected = 0;
        } while (++end < count && changes[end].deed == run->deed && !is_conditional(run) &&
                 !is_conditional(&changes[end]));
        switch (run->deed) {
        case STORE_ADD_FEEDBACK:
        case STORE_PUT_FEEDBACK: status = write_feedback(w, run, end - first, error); break;
        case STORE_PUT_ITEM: status = write_items(w, run, end - first, error); break;
        case STORE_PUT_USER: status = write_users(w, run, end - first, error); break;
        default:
            end = first + 1;
            status = run->deed == STORE_DELETE_FEEDBACK ? delete_feedback(w, run, error)
                     : run->deed == STORE_DELETE_USER   ? delete_side(w, run, 1, run->user.id, error)
                                                        : delete_side(w, run, 0, run->item.id, error);
        }
        for (size_t n = first; is_put && !is_conditional(run) && n < end; n++)
            if (!changes[n].affected) { /* replaced by a later one of the same run */
                changes[n].affected = 1;
                changes[n].seq = w->seq;
            }
    }
    return status;
}

static enum inmo_status begin(struct writing *w, struct inmo_error *error)
{
    PGresult *result = NULL;
    enum inmo_status status = store_postgres_run(w->store, w->connection,
                                                 "BEGIN; SELECT pg_advisory_xact_lock(" POSTGRES_LOCK_KEY
                                                 "); SELECT seq, pg_current_xact_id() FROM inmo.state",
                                                 0, NULL, &result, error);

    if (!status && PQntuples(result) != 1)
        status =
            inmo_fail(error, INMO_FORMAT, "%s is damaged: its table of totals is empty", w->store->common.name);
    if (!status) {
        w->seq = number_at(result, 0, 0);
        snprintf(w->transaction, sizeof w->transaction, "%s", PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return status;
}

static enum inmo_status finish(struct writing *w, struct inmo_error *error)
{
    char sql[256];

    snprintf(
        sql, sizeof sql,
        "UPDATE inmo.state SET seq = %lld, feedback = feedback + %lld, users = users + %lld, items = items + %lld;"
        "NOTIFY inmo_changes",
        (long long)w->seq, (long long)w->feedback, (long long)w->users, (long long)w->items);
    return store_postgres_run(w->store, w->connection, sql, 0, NULL, NULL, error);
}

/* The connection was lost while committing: asks the server, once it can be reached, what became of the
 * transaction. If that cannot be known, the write has failed as far as we can tell, and repeating it adds nothing
 * twice. */
static int was_committed(struct writing *w)
{
    const char *parameter[1] = {w->transaction};
    int committed = 0, known = 0;

    for (int tries = 0; !known && tries < 20; tries++) {
        PGresult *result = NULL;
        if (tries)
            nanosleep(&(struct timespec){0, 100000000}, NULL);
        if (!store_postgres_connect(w->store, &w->store->writer, settings, NULL) &&
            !store_postgres_run(w->store, w->store->writer, "SELECT pg_xact_status($1::text::xid8)", 1, parameter,
                                &result, NULL)) {
            committed = !strcmp(PQgetvalue(result, 0, 0), "committed");
            known = committed || !strcmp(PQgetvalue(result, 0, 0), "aborted");
        }
        PQclear(result);
    }
    return committed;
}

enum inmo_status store_postgres_write(struct store *common, struct store_change *changes, size_t count,
                                      struct inmo_error *error)
{
    struct store_postgres *store = (struct store_postgres *)common;
    struct writing w = {.store = store};
    enum inmo_status status;

    pthread_mutex_lock(&store->writing);
    status = store_postgres_connect(store, &store->writer, settings, error);
    w.connection = store->writer;
    if (!status) {
        atomic_store(&store->writer_process, PQbackendPID(store->writer));
        status = begin(&w, error);
        if (!status)
            status = apply(&w, changes, count, error);
        if (!status)
            status = finish(&w, error);
        if (!status) {
            status = store_postgres_run(store, w.connection, "COMMIT", 0, NULL, NULL, error);
            if (status && PQstatus(w.connection) == CONNECTION_BAD && was_committed(&w))
                status = INMO_OK;
        } else if (PQstatus(w.connection) == CONNECTION_OK) {
            PQclear(PQexec(w.connection, "ROLLBACK"));
        }
    }
    if (!status)
        atomic_store(&common->trouble, STORE_FINE);
    pthread_mutex_unlock(&store->writing);
    return status;
}

enum inmo_status store_postgres_bury(struct store *common, int64_t seq, struct inmo_error *error)
{
    struct store_postgres *store = (struct store_postgres *)common;
    char number[32];
    const char *parameter[1] = {number};
    enum inmo_status status;

    snprintf(number, sizeof number, "%lld", (long long)seq);
    pthread_mutex_lock(&store->writing);
    status = store_postgres_connect(store, &store->writer, settings, error);
    if (!status)
        status = store_postgres_run(store, store->writer, "DELETE FROM inmo.gone WHERE seq <= $1::bigint", 1,
                                    parameter, NULL, error);
    pthread_mutex_unlock(&store->writing);
    return status;
}
