/* store_writer.c - writes events until it is killed, and says which it has acknowledged: for check_store_kill.py.
 *
 *     store_writer URL ROUND BATCH
 *
 * Each line of output is the number n of a batch whose events (like, user-ROUND-n, item-0 .. item-BATCH) are
 * durable. */
#include "server/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **argument)
{
    struct inmo_error error = {0};
    struct store *store = NULL;
    int batch = count == 4 ? atoi(argument[3]) : 0;
    struct store_change *change = calloc((size_t)batch + 1, sizeof *change);
    char user[64], (*item)[32] = calloc((size_t)batch + 1, sizeof *item), line[32];

    if (batch < 1 || !change || !item || store_open(argument[1], 0, 0, &store, &error)) {
        fprintf(stderr, "store_writer: %s\n", error.message);
        return 1;
    }
    for (int n = 0;; n++) {
        snprintf(user, sizeof user, "user-%s-%d", argument[2], n);
        for (int b = 0; b < batch; b++) {
            snprintf(item[b], sizeof item[b], "item-%d", b);
            change[b] = (struct store_change){
                .deed = STORE_ADD_FEEDBACK,
                .feedback = {.type = "like", .user = user, .item = item[b], .time = STORE_NO_TIME}};
        }
        if (store_write(store, change, (size_t)batch, &error)) {
            fprintf(stderr, "store_writer: %s\n", error.message);
            return 1;
        }
        if (write(1, line, (size_t)snprintf(line, sizeof line, "%d\n", n)) < 0)
            return 1;
    }
}
