/* postgres.c - see postgres.h. */
#include "server/postgres.h"

#include "base/status.h"

#include <string.h>

void postgres_first_line(const char *text, char *line, size_t size)
{
    size_t length;

    text += strspn(text, " \n");
    for (const char *const *start = (const char *const[]){"ERROR:  ", "FATAL:  ", "error: ", NULL}; *start; start++)
        if (!strncmp(text, *start, strlen(*start)))
            text += strlen(*start);
    length = strcspn(text, "\n");
    if (length >= size)
        length = size - 1;
    memcpy(line, text, length);
    line[length] = 0;
}

enum inmo_status postgres_check_address(const char *url, const char *what, struct inmo_error *error)
{
    char *problem = NULL, line[512] = "not enough memory";
    PQconninfoOption *options = PQconninfoParse(url, &problem);
    enum inmo_status status = INMO_OK;

    if (!options) {
        if (problem)
            postgres_first_line(problem, line, sizeof line);
        status = inmo_fail(error, INMO_USAGE, "the address of %s is none: %s", what, line);
    }
    for (const PQconninfoOption *option = options; !status && option && option->keyword; option++)
        if (option->val && (!strcmp(option->keyword, "password") || !strcmp(option->keyword, "sslpassword")))
            status =
                inmo_fail(error, INMO_USAGE,
                          "the address of %s has a password, which everybody on this machine could read; put it "
                          "into PGPASSWORD or ~/.pgpass",
                          what);
    PQfreemem(problem);
    PQconninfoFree(options);
    return status;
}

static void no_notice(void *context, const char *message)
{
    (void)context, (void)message; /* libpq would print it */
}

PGconn *postgres_connect(const char *url)
{
    PGconn *connection;
    /* What stands before dbname can be changed by the address. A server that does not answer is given up after
     * seconds; one that froze in a transaction loses it, and with it the lock that others wait for. */
    static const char *const word[] = {"connect_timeout",  "keepalives_idle",  "keepalives_interval",
                                       "keepalives_count", "tcp_user_timeout", "application_name",
                                       "dbname",           "client_encoding",  NULL};
    const char *const value[] = {"5", "5", "2", "3", "10000", "inmo", url, "UTF8", NULL};
    connection = PQconnectdbParams(word, value, 1);
    if (connection)
        PQsetNoticeProcessor(connection, no_notice, NULL);
    return connection;
}
