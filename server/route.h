/* route.h - the table of routes: which function answers which address, and who may ask. openapi.json describes the
 * same routes; a test compares the two. */
#ifndef INMO_SERVER_ROUTE_H
#define INMO_SERVER_ROUTE_H

#include "server/request.h"
#include "server/server.h"

enum route_flags {
    ROUTE_BODY = 1,   /* has a body */
    ROUTE_STREAM = 2, /* takes its body piece by piece (import.h) */
    ROUTE_STORE = 8,  /* asks the store: on a thread of its own when that is a database elsewhere */
    ROUTE_LIST = 4,   /* its latency is that of recommendations in /api/status */
};

struct route {
    const char *method, *pattern; /* "/api/item/{item}/category/{category}" */
    enum keys_right right;
    int flags;
    void (*answer)(struct request *request);
};

extern const struct route routes[];
extern const size_t route_count;

/* Metrics for these routes; NULL: memory is short. */
struct metrics *route_make_metrics(void);

/* Finds the route and fills in route, route_number and param; answers with 404 or 405 and returns 0 if there is
 * none. */
int route_find(struct request *request);

/* routes_entity.c: users, items, feedback */
void route_put_user(struct request *request);
void route_put_users(struct request *request);
void route_get_user(struct request *request);
void route_patch_user(struct request *request);
void route_delete_user(struct request *request);
void route_get_users(struct request *request);
void route_put_item(struct request *request);
void route_put_items(struct request *request);
void route_get_item(struct request *request);
void route_patch_item(struct request *request);
void route_delete_item(struct request *request);
void route_get_items(struct request *request);
void route_put_category(struct request *request);
void route_delete_category(struct request *request);
/* routes_feedback.c */
void route_post_feedback(struct request *request);
void route_put_feedback(struct request *request);
void route_get_feedback(struct request *request);
void route_get_feedback_of_type(struct request *request);
void route_get_feedback_of_pair(struct request *request);
void route_get_feedback_of_pair_all(struct request *request);
void route_delete_feedback(struct request *request);
void route_delete_feedback_of_pair(struct request *request);
void route_user_feedback(struct request *request);
void route_item_feedback(struct request *request);
/* routes_recommend.c */
void route_recommend(struct request *request);
void route_recommend_query(struct request *request);
void route_session_recommend(struct request *request);
void route_item_neighbors(struct request *request);
void route_user_neighbors(struct request *request);
void route_popular(struct request *request);
void route_latest(struct request *request);
/* routes_explain.c */
void route_explain(struct request *request);
void route_session_explain(struct request *request);
void route_search(struct request *request);
/* routes_model.c */
void route_model(struct request *request);
void route_model_refresh(struct request *request);
void route_model_retrain(struct request *request);
void route_model_activate(struct request *request);
void route_model_rollback(struct request *request);
void route_status(struct request *request);
void route_metrics(struct request *request);
void route_health_live(struct request *request);
void route_health_ready(struct request *request);
/* routes_page.c */
void route_page(struct request *request);
void route_page_file(struct request *request);
void route_openapi(struct request *request);
/* import.c, export.c */
void route_import(struct request *request);
void route_export(struct request *request);

#endif
