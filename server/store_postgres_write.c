/* store_postgres_write.c - changes into the tables of PostgreSQL: one transaction, all or nothing; deletions.
 *
 * Every server holds the lock of the writers meanwhile (store_postgres.h), so what is looked up is still true when
 * it is inserted. */
#include "server/store_postgres.h"

#include <string.h>
#include <time.h>

/* All statements touch few rows by their keys, whatever the statistics of a table that was just made say. */
static const char settings[] = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; "
                               "SET enable_bitmapscan = off;";

/* ---- Deletions ----------------------------------------------------------------------------------------------- */

static enum inmo_status delete_rows(struct postgres_writing *w, const char *sql, const char *const *parameter,
                                    int count, int64_t *deleted, struct inmo_error *error)
{
    PGresult *result = NULL;
    enum inmo_status status = store_postgres_run(w->store, w->connection, sql, count, parameter, &result, error);

    if (!status && deleted)
        *deleted = strtoll(PQcmdTuples(result), NULL, 10);
    PQclear(result);
    return status;
}

/* The tombstone, also when nothing was there: a model may know what the store does not. */
static enum inmo_status bury_later(struct postgres_writing *w, struct store_change *change, const char *type,
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

static enum inmo_status delete_feedback(struct postgres_writing *w, struct store_change *change,
                                        struct inmo_error *error)
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
static enum inmo_status delete_side(struct postgres_writing *w, struct store_change *change, int of_user,
                                    const char *id, struct inmo_error *error)
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
static enum inmo_status apply(struct postgres_writing *w, struct store_change *changes, size_t count,
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
        case STORE_PUT_FEEDBACK: status = store_postgres_put_feedback(w, run, end - first, error); break;
        case STORE_PUT_ITEM: status = store_postgres_put_items(w, run, end - first, error); break;
        case STORE_PUT_USER: status = store_postgres_put_users(w, run, end - first, error); break;
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

static enum inmo_status begin(struct postgres_writing *w, struct inmo_error *error)
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
        w->seq = store_postgres_number(result, 0, 0);
        snprintf(w->transaction, sizeof w->transaction, "%s", PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return status;
}

static enum inmo_status finish(struct postgres_writing *w, struct inmo_error *error)
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
static int was_committed(struct postgres_writing *w)
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
    struct postgres_writing w = {.store = store};
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
