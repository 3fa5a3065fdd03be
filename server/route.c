/* route.c - see route.h. */
#define _GNU_SOURCE /* strchrnul */
#include "server/route.h"

#include <string.h>

const struct route routes[] = {
    {"POST", "/api/user", KEYS_WRITE, ROUTE_BODY, route_put_user},
    {"POST", "/api/users", KEYS_WRITE, ROUTE_BODY, route_put_users},
    {"GET", "/api/users", KEYS_READ, ROUTE_STORE, route_get_users},
    {"GET", "/api/user/{user}", KEYS_READ, ROUTE_STORE, route_get_user},
    {"PATCH", "/api/user/{user}", KEYS_WRITE, ROUTE_BODY | ROUTE_STORE, route_patch_user},
    {"DELETE", "/api/user/{user}", KEYS_WRITE, 0, route_delete_user},
    {"GET", "/api/user/{user}/feedback", KEYS_READ, ROUTE_STORE, route_user_feedback},
    {"GET", "/api/user/{user}/feedback/{type}", KEYS_READ, ROUTE_STORE, route_user_feedback},
    {"GET", "/api/user/{user}/neighbors", KEYS_READ, 0, route_user_neighbors},
    {"POST", "/api/item", KEYS_WRITE, ROUTE_BODY, route_put_item},
    {"POST", "/api/items", KEYS_WRITE, ROUTE_BODY, route_put_items},
    {"GET", "/api/items", KEYS_READ, ROUTE_STORE, route_get_items},
    {"GET", "/api/item/{item}", KEYS_READ, ROUTE_STORE, route_get_item},
    {"PATCH", "/api/item/{item}", KEYS_WRITE, ROUTE_BODY | ROUTE_STORE, route_patch_item},
    {"DELETE", "/api/item/{item}", KEYS_WRITE, 0, route_delete_item},
    {"PUT", "/api/item/{item}/category/{category}", KEYS_WRITE, ROUTE_STORE, route_put_category},
    {"DELETE", "/api/item/{item}/category/{category}", KEYS_WRITE, ROUTE_STORE, route_delete_category},
    {"GET", "/api/item/{item}/feedback", KEYS_READ, ROUTE_STORE, route_item_feedback},
    {"GET", "/api/item/{item}/feedback/{type}", KEYS_READ, ROUTE_STORE, route_item_feedback},
    {"GET", "/api/item/{item}/neighbors", KEYS_READ, 0, route_item_neighbors},
    {"GET", "/api/item/{item}/neighbors/{category}", KEYS_READ, 0, route_item_neighbors},
    {"POST", "/api/feedback", KEYS_WRITE, ROUTE_BODY, route_post_feedback},
    {"PUT", "/api/feedback", KEYS_WRITE, ROUTE_BODY, route_put_feedback},
    {"GET", "/api/feedback", KEYS_READ, ROUTE_STORE, route_get_feedback},
    {"GET", "/api/feedback/{type}", KEYS_READ, ROUTE_STORE, route_get_feedback_of_type},
    {"GET", "/api/feedback/{user}/{item}", KEYS_READ, ROUTE_STORE, route_get_feedback_of_pair_all},
    {"DELETE", "/api/feedback/{user}/{item}", KEYS_WRITE, 0, route_delete_feedback_of_pair},
    {"GET", "/api/feedback/{type}/{user}/{item}", KEYS_READ, ROUTE_STORE, route_get_feedback_of_pair},
    {"DELETE", "/api/feedback/{type}/{user}/{item}", KEYS_WRITE, 0, route_delete_feedback},
    {"POST", "/api/recommend", KEYS_READ, ROUTE_BODY | ROUTE_LIST, route_recommend_query},
    {"GET", "/api/recommend/{user}", KEYS_READ, ROUTE_LIST, route_recommend},
    {"GET", "/api/recommend/{user}/{category}", KEYS_READ, ROUTE_LIST, route_recommend},
    {"POST", "/api/session/recommend", KEYS_READ, ROUTE_BODY | ROUTE_LIST, route_session_recommend},
    {"POST", "/api/session/recommend/{category}", KEYS_READ, ROUTE_BODY | ROUTE_LIST, route_session_recommend},
    {"POST", "/api/session/explain", KEYS_READ, ROUTE_BODY, route_session_explain},
    {"GET", "/api/explain/{user}/{item}", KEYS_READ, 0, route_explain},
    {"GET", "/api/popular", KEYS_READ, 0, route_popular},
    {"GET", "/api/popular/{category}", KEYS_READ, 0, route_popular},
    {"GET", "/api/latest", KEYS_READ, 0, route_latest},
    {"GET", "/api/latest/{category}", KEYS_READ, 0, route_latest},
    {"GET", "/api/search", KEYS_READ, 0, route_search},
    {"GET", "/api/model", KEYS_READ, ROUTE_STORE, route_model},
    {"POST", "/api/model/refresh", KEYS_ADMIN, ROUTE_BODY, route_model_refresh},
    {"POST", "/api/model/retrain", KEYS_ADMIN, ROUTE_BODY, route_model_retrain},
    {"POST", "/api/model/activate", KEYS_ADMIN, ROUTE_BODY, route_model_activate},
    {"POST", "/api/model/rollback", KEYS_ADMIN, ROUTE_BODY, route_model_rollback},
    {"POST", "/api/import", KEYS_WRITE, ROUTE_BODY | ROUTE_STREAM, route_import},
    {"GET", "/api/export", KEYS_READ, 0, route_export},
    {"GET", "/api/status", KEYS_READ, 0, route_status},
    {"GET", "/api/health/live", KEYS_NONE, 0, route_health_live},
    {"GET", "/api/health/ready", KEYS_NONE, 0, route_health_ready},
    {"GET", "/metrics", KEYS_READ, ROUTE_STORE, route_metrics},
    {"GET", "/openapi.json", KEYS_NONE, 0, route_openapi},
    {"GET", "/", KEYS_NONE, 0, route_page},
    {"GET", "/page/{file}", KEYS_NONE, 0, route_page_file},
};
const size_t route_count = sizeof routes / sizeof *routes;

struct metrics *route_make_metrics(void)
{
    const char *pattern[sizeof routes / sizeof *routes], *method[sizeof routes / sizeof *routes];
    for (size_t n = 0; n < route_count; n++) {
        pattern[n] = routes[n].pattern;
        method[n] = routes[n].method;
    }
    return metrics_create(pattern, method, route_count);
}

/* Whether the segments fit the pattern; param gets those at {...}. */
static int fits(const char *pattern, const struct request *request, const char *param[4])
{
    int params = 0, n = 0;
    for (const char *at = pattern; *at == '/' && at[1]; n++) {
        const char *end = strchrnul(++at, '/');
        if (n == request->segments)
            return 0;
        if (*at == '{')
            param[params++] = request->segment[n];
        else if (strncmp(at, request->segment[n], (size_t)(end - at)) || request->segment[n][end - at])
            return 0;
        at = end;
    }
    return n == request->segments;
}

int route_find(struct request *request)
{
    const char *method = strcmp(request->method, "HEAD") ? request->method : "GET";
    static const char *const known[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    enum { METHODS = sizeof known / sizeof *known };
    unsigned other = 0;

    for (size_t n = 0; n < route_count; n++) {
        const char *param[4] = {0};
        if (!fits(routes[n].pattern, request, param))
            continue;
        if (!strcmp(routes[n].method, method)) {
            request->route = &routes[n];
            request->route_number = (int)n;
            memcpy(request->param, param, sizeof param);
            for (int p = 0; p < 4; p++)
                if (param[p] && (!*param[p] || strlen(param[p]) > REQUEST_ID_LIMIT)) {
                    request_fail(request, 400, "BAD_REQUEST", NULL,
                                 "the path: found an id of %zu bytes, expected 1 to %d", strlen(param[p]),
                                 REQUEST_ID_LIMIT);
                    return 0;
                }
            return 1;
        }
        for (unsigned m = 0; m < METHODS; m++)
            if (!strcmp(routes[n].method, known[m]))
                other |= 1u << m;
    }
    if (other) {
        char allowed[64] = "";
        for (unsigned m = 0; m < METHODS; m++)
            if (other & 1u << m)
                snprintf(allowed + strlen(allowed), sizeof allowed - strlen(allowed), "%s%s", *allowed ? ", " : "",
                         m ? known[m] : "GET, HEAD");
        request->allow = request_keep(request, allowed, strlen(allowed));
        request_fail(request, 405, "BAD_REQUEST", NULL, "%s is not answered at this address; expected one of %s",
                     request->method, allowed);
    } else {
        request_fail(request, 404, "NOT_FOUND", NULL, "there is no such address");
    }
    return 0;
}
