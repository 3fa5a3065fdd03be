/* recommend.c - the k best items of one person or of all users, and nearest neighbours. Exact: every item is
 * scored. */
#include "base/memory.h"
#include "kernel/kernel.h"
#include "score/rank.h"
#include "view/view.h"

#include <math.h>
#include <string.h>

void inmo_query_init(struct inmo_query *query)
{
    *query = (struct inmo_query){.k = 20};
}

void inmo_list_free(struct inmo_list *list)
{
    if (!list)
        return;
    inmo_free(list->entry);
    inmo_free(list);
}

/* Items that a model knows nothing of are not on offer. */
static int on_offer(const struct inmo_view *view, int32_t item)
{
    return inmo_kind_offers_unseen(view->model->kind) || view->bound.model_item[item] >= 0;
}

/* Marks with value the listed items; counts the ids nobody has seen. */
static int mark(const struct inmo_view *view, const char *const *id, size_t count, uint8_t value, uint8_t *flag)
{
    int unknown = 0;
    for (size_t n = 0; n < count; n++) {
        int32_t item = inmo_idmap_find(&view->items, id[n]);
        if (item >= 0)
            flag[item] = value;
        else
            unknown++;
    }
    return unknown;
}

/* closed[i]: item i may not be recommended to this person. */
static void close_items(const struct inmo_view *view, const struct inmo_query *query,
                        const struct inmo_person *person, uint8_t *closed, int *unknown)
{
    int32_t items = view->items.count;
    memset(closed, query->allow != NULL, (size_t)items);
    if (query->allow)
        *unknown += mark(view, query->allow, query->allow_count, 0, closed);
    *unknown += mark(view, query->deny, query->deny_count, 1, closed);
    for (int32_t n = 0; n < person->count && !query->include_seen; n++)
        closed[person->item[n]] = 1;
    for (int32_t i = 0; i < items && !inmo_kind_offers_unseen(view->model->kind); i++)
        if (!on_offer(view, i))
            closed[i] = 1;
}

/* Room for the k best of count, and the list they become. */
static enum inmo_status open_list(int k, int32_t count, struct inmo_top *top, struct inmo_list *list,
                                  struct inmo_error *error)
{
    top->k = k < count ? k : count;
    top->score = inmo_alloc((size_t)top->k + 1, sizeof *top->score);
    top->item = inmo_alloc((size_t)top->k + 1, sizeof *top->item);
    list->entry = inmo_alloc((size_t)top->k, sizeof *list->entry);
    return top->score && top->item && list->entry ? INMO_OK : inmo_fail_memory(error, "the recommendations");
}

static void close_list(const struct inmo_idmap *ids, struct inmo_top *top, struct inmo_list *list)
{
    for (int32_t n = 0; n < top->count; n++)
        list->entry[n] = (struct inmo_entry){inmo_idmap_id(ids, top->item[n]), top->score[n]};
    list->count = (size_t)top->count;
}

static void drop_top(struct inmo_top *top)
{
    inmo_free(top->item);
    inmo_free(top->score);
}

/* The list of the best k of score, closed ones left out. */
static enum inmo_status best_of(const struct inmo_idmap *ids, const float *score, const uint8_t *closed,
                                int32_t count, int k, struct inmo_list *list, struct inmo_error *error)
{
    struct inmo_top top = {0};
    enum inmo_status status = open_list(k, count, &top, list, error);
    for (int32_t i = 0; i < count && !status; i++)
        if (!closed || !closed[i])
            inmo_top_add(&top, score[i], i);
    if (!status) {
        inmo_top_sort(&top);
        close_list(ids, &top, list);
    }
    drop_top(&top);
    return status;
}

/* Where walks lead, the score is more than a dot product: these items are scored one by one into reached, and
 * closed for the pass over the others. */
static enum inmo_status take_walks(const struct inmo_view *view, const struct inmo_person *person, uint8_t *closed,
                                   struct inmo_top *reached, struct inmo_error *error)
{
    const struct inmo_walks *walks = view->scorer.walks;
    size_t most = (size_t)inmo_walks_most(walks, person->count);
    struct inmo_walk_space space = {0};
    int32_t *item = inmo_alloc(most, sizeof *item), found = 0;
    float *value = inmo_alloc(most, sizeof *value);
    enum inmo_status status = item && value && inmo_walk_space_make(&space, walks->items) == 0
                                  ? INMO_OK
                                  : inmo_fail_memory(error, "the recommendations");
    if (!status)
        found = inmo_walks_collect(walks, person->item, person->count, 0, &space, item, value);
    for (int32_t n = 0; n < found; n++)
        if (!closed[item[n]]) {
            closed[item[n]] = 1;
            inmo_top_add(reached, (float)inmo_scorer_pair(&view->scorer, person->r, item[n]) + value[n], item[n]);
        }
    inmo_walk_space_free(&space);
    inmo_free(value);
    inmo_free(item);
    return status;
}

/* The same by the dot product of the person's vector with every item, through the quantised first pass, and
 * walks. Items may become closed. */
static enum inmo_status best_for(const struct inmo_view *view, const struct inmo_person *person, uint8_t *closed,
                                 int k, struct inmo_list *list, struct inmo_error *error)
{
    struct inmo_top top = {0}, reached = {0};
    struct inmo_list spare = {0};
    enum inmo_status status = open_list(k, view->items.count, &top, list, error);
    if (!status && view->scorer.walks) {
        status = open_list(k, view->items.count, &reached, &spare, error);
        if (!status)
            status = take_walks(view, person, closed, &reached, error);
    }
    if (!status)
        status = inmo_quantised_top(view->quantised, person->r, closed, &top, NULL, error);
    for (int32_t n = 0; n < top.count && !status && view->scorer.walks; n++)
        inmo_top_add(&reached, top.score[n], top.item[n]);
    if (!status && view->scorer.walks)
        inmo_top_sort(&reached);
    if (!status)
        close_list(&view->items, view->scorer.walks ? &reached : &top, list);
    inmo_free(spare.entry);
    drop_top(&reached);
    drop_top(&top);
    return status;
}

/* The same by the scores of a system or a head. */
static enum inmo_status best_scored(const struct inmo_view *view, const struct inmo_history *history,
                                    const uint8_t *closed, int k, struct inmo_list *list, struct inmo_error *error)
{
    float *score = inmo_alloc((size_t)view->items.count, sizeof *score);
    enum inmo_status status = score ? inmo_scorer_one(&view->scorer, history, score, error)
                                    : inmo_fail_memory(error, "the recommendations");
    if (!status)
        status = best_of(&view->items, score, closed, view->items.count, k, list, error);
    inmo_free(score);
    return status;
}

/* By popularity, for somebody of whom nothing is known. */
static enum inmo_status best_known(const struct inmo_view *view, const uint8_t *closed, int k,
                                   struct inmo_list *list, struct inmo_error *error)
{
    int32_t items = view->items.count;
    float *degree = inmo_alloc((size_t)items, sizeof *degree);
    enum inmo_status status = degree ? INMO_OK : inmo_fail_memory(error, "the recommendations");
    for (int32_t i = 0; i < items && !status; i++)
        degree[i] = (float)inmo_graph_degree(view->graph, view->graph->users + i);
    if (!status)
        status = best_of(&view->items, degree, closed, items, k, list, error);
    inmo_free(degree);
    return status;
}

static enum inmo_status check_k(int k, struct inmo_error *error)
{
    return k >= 1 ? INMO_OK : inmo_fail(error, INMO_USAGE, "`k`: found %d, expected a number of at least 1", k);
}

enum inmo_status inmo_recommend(const struct inmo_view *view, const struct inmo_query *query,
                                struct inmo_list **out, struct inmo_error *error)
{
    struct inmo_person person = {.user = -1};
    struct inmo_history history;
    struct inmo_list *list = NULL;
    uint8_t *closed = NULL;
    enum inmo_status status = check_k(query->k, error);
    if (!status)
        status = inmo_person_make(view, query, &person, error);
    if (status)
        goto done;
    list = inmo_alloc_zero(1, sizeof *list);
    closed = inmo_alloc((size_t)view->items.count, 1);
    if (!list || !closed) {
        status = inmo_fail_memory(error, "the recommendations");
        goto done;
    }
    list->unknown_items = person.unknown;
    list->coverage =
        person.count + person.unknown > 0 ? (double)person.usable / (person.count + person.unknown) : 0;
    list->fallback = inmo_person_falls_back(view, &person);
    close_items(view, query, &person, closed, &list->unknown_items);
    history = inmo_person_history(&person);
    status = list->fallback                ? best_known(view, closed, query->k, list, error)
             : inmo_view_has_vectors(view) ? best_for(view, &person, closed, query->k, list, error)
                                           : best_scored(view, &history, closed, query->k, list, error);
    if (status)
        goto done;
    *out = list;
    list = NULL;
done:
    inmo_free(closed);
    inmo_list_free(list);
    inmo_person_free(&person);
    return status;
}

/* cosine: a · b / (|a| |b|); a row of zeros is similar to nothing. */
static void cosines(const struct inmo_view *view, const float *rows, int32_t count, int32_t self, float *score)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = view->scorer.dim;
    const float *own = rows + (size_t)self * (size_t)dim;
    float length = sqrtf(kernels->dot(dim, own, own));
    kernels->dot_rows(count, dim, own, rows, score);
    for (int32_t n = 0; n < count; n++) {
        const float *row = rows + (size_t)n * (size_t)dim;
        float norm = sqrtf(kernels->dot(dim, row, row));
        score[n] = norm > 0 ? score[n] / norm / (length > 0 ? length : 1) : -INFINITY;
    }
}

/* How alike the others are: cosines, or what the item alone would recommend. */
static enum inmo_status alike(const struct inmo_view *view, int of_items, int32_t self, float *score,
                              struct inmo_error *error)
{
    const struct inmo_system *system = view->model->kind->system;
    struct inmo_history alone = {-1, 1, 0, &self, NULL};
    if (inmo_view_has_vectors(view)) {
        cosines(view, of_items ? inmo_view_item_row(view, 0) : view->scorer.r,
                of_items ? view->items.count : view->users.count, self, score);
        return INMO_OK;
    }
    if (!of_items || !system || !system->additive)
        return inmo_fail(error, INMO_UNSUPPORTED,
                         "%s cannot say which %s are alike; models whose score is a product of vectors can "
                         "(inmo-lightgcn, lightgcn, mf, ials, ...), and for items also item-knn, ease and gf-cf",
                         view->model->kind->name, of_items ? "items" : "users");
    return inmo_scorer_one(&view->scorer, &alone, score, error);
}

enum inmo_status inmo_similar(const struct inmo_view *view, const char *item, const char *user, int k,
                              struct inmo_list **out, struct inmo_error *error)
{
    const struct inmo_idmap *ids = item ? &view->items : &view->users;
    const char *id = item ? item : user;
    struct inmo_list *list = NULL;
    float *score = NULL;
    int32_t self;
    enum inmo_status status = check_k(k, error);
    if (!status && !item == !user)
        status = inmo_fail(error, INMO_USAGE, "expected either `item` or `user`");
    if (status)
        goto done;
    self = inmo_idmap_find(ids, id);
    if (self < 0) {
        status = inmo_fail(error, INMO_UNKNOWN, "%s '%s' is in neither the model nor the observed interactions",
                           item ? "item" : "user", id);
        goto done;
    }
    list = inmo_alloc_zero(1, sizeof *list);
    score = inmo_alloc((size_t)ids->count, sizeof *score);
    if (!list || !score) {
        status = inmo_fail_memory(error, "the neighbours");
        goto done;
    }
    status = alike(view, item != NULL, self, score, error);
    if (status)
        goto done;
    score[self] = -INFINITY;
    for (int32_t n = 0; n < ids->count && !inmo_view_has_vectors(view); n++)
        if (!on_offer(view, n) || !(score[n] > 0)) /* not known, or nothing in common */
            score[n] = -INFINITY;
    status = best_of(ids, score, NULL, ids->count, k, list, error);
    if (status)
        goto done;
    list->measure = inmo_view_has_vectors(view) ? "cosine" : "weight";
    list->coverage = 1;
    *out = list;
    list = NULL;
done:
    inmo_free(score);
    inmo_list_free(list);
    return status;
}

/* What ranking a stretch of users takes. */
struct stretch {
    int32_t *who, *top_item;
    float *top_score;
    struct inmo_entry *entry;
    int32_t *candidate, candidates;
};

static enum inmo_status hand_out(const struct inmo_view *view, const struct inmo_rank *job,
                                 int (*row)(void *, const char *, size_t, const struct inmo_entry *), void *context,
                                 struct inmo_entry *entry, struct inmo_error *error)
{
    for (int32_t n = 0; n < job->count; n++) {
        size_t count = 0;
        for (int32_t j = 0; j < job->k; j++) {
            size_t at = (size_t)n * (size_t)job->k + (size_t)j;
            if (job->top_item[at] >= 0)
                entry[count++] =
                    (struct inmo_entry){inmo_idmap_id(&view->items, job->top_item[at]), job->top_score[at]};
        }
        if (row(context, inmo_idmap_id(&view->users, job->who[n]), count, entry))
            return inmo_fail(error, INMO_INTERRUPTED, "stopped on request while writing recommendations");
    }
    return INMO_OK;
}

enum inmo_status inmo_recommend_all(const struct inmo_view *view, int k, int include_seen,
                                    const struct inmo_hooks *hooks,
                                    int (*row)(void *context, const char *user, size_t count,
                                               const struct inmo_entry *entry),
                                    void *context, struct inmo_error *error)
{
    enum { STRETCH = 8192 };
    const struct inmo_graph *graph = view->graph;
    struct stretch s = {0};
    struct inmo_csr seen = {0};
    int32_t items = view->items.count, users = view->users.count;
    struct inmo_rank job = {0};
    enum inmo_status status = check_k(k, error);
    if (status)
        goto done;
    inmo_scorer_source(&view->scorer, &job);
    job.k = k < items ? k : items;
    s.who = inmo_alloc(STRETCH, sizeof *s.who);
    s.top_item = inmo_alloc((size_t)STRETCH * (size_t)job.k, sizeof *s.top_item);
    s.top_score = inmo_alloc((size_t)STRETCH * (size_t)job.k, sizeof *s.top_score);
    s.entry = inmo_alloc((size_t)job.k, sizeof *s.entry);
    s.candidate = inmo_alloc((size_t)items, sizeof *s.candidate);
    int32_t *column = inmo_alloc((size_t)graph->edges, sizeof *column);
    seen = (struct inmo_csr){users, items, graph->offset, column}; /* the users' rows of the graph, as items */
    if (!s.who || !s.top_item || !s.top_score || !s.entry || !s.candidate || !column) {
        status = inmo_fail_memory(error, "the recommendations");
        goto done;
    }
    for (int64_t e = 0; e < graph->edges; e++)
        column[e] = graph->neighbour[e] - users;
    for (int32_t i = 0; i < items; i++)
        if (on_offer(view, i))
            s.candidate[s.candidates++] = i;
    job.mask[0] = include_seen ? NULL : &seen;
    job.candidate = s.candidates < items ? s.candidate : NULL;
    job.candidates = s.candidates;
    job.who = s.who;
    job.top_item = s.top_item;
    job.top_score = s.top_score;
    for (int32_t first = 0; first < users && !status; first += STRETCH) {
        struct inmo_progress progress = {"recommending", first, users, "users", 0, NAN, NAN, NAN};
        job.count = 0;
        for (int32_t u = first; u < users && u < first + STRETCH; u++)
            if (inmo_kind_serves_unseen(view->model->kind) || view->bound.model_user[u] >= 0)
                s.who[job.count++] = u;
        inmo_report_progress(hooks, &progress);
        if (inmo_is_interrupted(hooks))
            status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request while recommending");
        if (!status)
            status = inmo_rank(&job, NULL, error);
        if (!status)
            status = hand_out(view, &job, row, context, s.entry, error);
    }
done:
    inmo_free((void *)seen.column);
    inmo_free(s.candidate);
    inmo_free(s.entry);
    inmo_free(s.top_score);
    inmo_free(s.top_item);
    inmo_free(s.who);
    return status;
}
