/* retrain.h - training while the server runs, in child processes: a crash or a full memory there never takes the
 * server down. The steps are commands that anybody could type, run at low priority in the folder of models:
 *
 *     inmo prepare STORE --by time --split 80/10/10 -o work/data     the newest tenth of everybody's events is the
 *     test
 *     inmo train work/data -o work/new.inmo
 *     inmo evaluate work/new.inmo work/data                          and the same for the model in use
 *
 * The new model takes the place of the old one if it is at least as good on the newest events, or when told to. It
 * was trained without them; the view it serves with has them all, which is what INMO is for. */
#ifndef INMO_SERVER_RETRAIN_H
#define INMO_SERVER_RETRAIN_H

#include "server/server.h"

enum inmo_status retrain_create(struct server *server, struct retrain **retrain, struct inmo_error *error);
/* Ends a running child. */
void retrain_free(struct retrain *retrain);

/* Starts one in the background; 0 when one is running already. force: the new model is used whatever its score. */
int retrain_start(struct retrain *retrain, int force);
/* Called every second or so: starts one when its time has come. */
void retrain_tick(struct retrain *retrain);
/* {"running", "stage", "started", "last": {...}}; the caller's to json_decref. */
json_t *retrain_state(struct retrain *retrain);
int retrain_is_running(struct retrain *retrain);

#endif
