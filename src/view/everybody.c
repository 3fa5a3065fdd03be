/* everybody.c - lists for all users of a view, in order. Users unchanged since the snapshot are ranked together,
 * thousands at a time (score/rank.h). Users with newer events, and those whose list falls back to popularity, are
 * handled one by one like requests. */
#include "base/memory.h"
#include "score/offer.h"
#include "view/list.h"
#include "view/rules.h"
#include "view/work.h"

#include <math.h>
#include <string.h>

enum { STRETCH = 8192 };
/* How a user's list is made: with the others of the stretch, alone, or not at all. */
enum { TOGETHER, ALONE, NOT };

/* A stretch of users that is ranked at once. */
struct stretch {
    const struct inmo_view *view;
    struct inmo_snapshot *snapshot;
    const struct inmo_query *query;
    struct inmo_work *work;
    struct inmo_rank job;
    struct inmo_csr seen;      // the history of each user of the graph
    struct inmo_csr unliked;   // what each of them has seen without choosing it
    int32_t *column;           // its columns
    int32_t *candidate;        // items that are on offer and allowed by the query
    int32_t *who, *top_item;   // (STRETCH), (STRETCH, k)
    float *top_score;          // (STRETCH, k)
    int32_t users;             /* of the view */
    uint8_t *how;              // (users) TOGETHER, ALONE or NOT
    struct inmo_entry *entry;  // (k)
};

static void drop_stretch(struct stretch *stretch)
{
    inmo_free(stretch->entry);
    inmo_free(stretch->how);
    inmo_free(stretch->top_score);
    inmo_free(stretch->top_item);
    inmo_free(stretch->who);
    inmo_free(stretch->candidate);
    inmo_csr_free(&stretch->unliked);
    inmo_free(stretch->column);
    inmo_view_give_back(stretch->view, stretch->work);
    inmo_snapshot_release(stretch->snapshot);
}

/* Sets the flags of the named items that the snapshot has. */
static void mark(const struct inmo_view *view, const char *const *id, size_t count, uint8_t value, int32_t items,
                 uint8_t *flag)
{
    for (size_t n = 0; n < count; n++) {
        int32_t item = inmo_names_find(&view->items, id[n]);
        if (item >= 0 && item < items)
            flag[item] = value;
    }
}

/* The items that may be in a list at all. Under the view's lock. */
static enum inmo_status choose_candidates(struct stretch *stretch, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = stretch->snapshot;
    const struct inmo_query *query = stretch->query;
    const struct inmo_numbers *gone = &stretch->view->overlay.gone;
    int32_t items = snapshot->graph->items, count;
    uint8_t *closed = inmo_alloc((size_t)items, 1);
    stretch->candidate = inmo_alloc((size_t)items, sizeof *stretch->candidate);
    if (!closed || !stretch->candidate) {
        inmo_free(closed);
        return inmo_fail_memory(error, "the recommendations");
    }
    memset(closed, query->allow != NULL, (size_t)items);
    if (query->allow)
        mark(stretch->view, query->allow, query->allow_count, 0, items, closed);
    mark(stretch->view, query->deny, query->deny_count, 1, items, closed);
    for (int32_t n = 0; n < gone->count; n++)
        closed[gone->number[n]] = 1;
    inmo_rules_close(query->rules, items, closed);
    count = inmo_snapshot_open_items(snapshot, closed, stretch->candidate);
    inmo_free(closed);
    stretch->job.candidate = count < items ? stretch->candidate : NULL;
    stretch->job.candidates = count;
    return INMO_OK;
}

/* Under the view's lock. */
static uint8_t how_to_rank(const struct stretch *stretch, int32_t u)
{
    const struct inmo_snapshot *snapshot = stretch->snapshot;
    const struct inmo_overlay *overlay = &stretch->view->overlay;
    if (!inmo_overlay_has_user(overlay, u))
        return inmo_seen_knows(&stretch->view->seen, u) ? ALONE : NOT;
    if (u >= snapshot->graph->users || inmo_overlay_change(overlay, u) ||
        (overlay->newcomers > 0 && inmo_kind_offers_unseen(snapshot->model->kind)))
        return inmo_kind_serves_unseen(snapshot->model->kind) ||
                       (u < snapshot->graph->users && snapshot->bound.model_user[u] >= 0)
                   ? ALONE
                   : NOT;
    if (!inmo_is_served(snapshot->model, &snapshot->bound, u))
        return NOT;
    return inmo_user_falls_back(snapshot->model, &snapshot->bound, u) ? ALONE : TOGETHER;
}

/* Takes the snapshot and what has happened since, at one moment: a refresh that ends while lists are made must not
 * bring back what was forgotten or seen before they were asked for. */
static enum inmo_status look(struct stretch *stretch, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    inmo_view_read_lock(stretch->view);
    stretch->snapshot = inmo_snapshot_hold(stretch->view->snapshot);
    stretch->users = inmo_names_count(&stretch->view->users);
    stretch->how = inmo_alloc((size_t)stretch->users, 1);
    if (!stretch->how)
        status = inmo_fail_memory(error, "the recommendations");
    for (int32_t u = 0; u < stretch->users && !status; u++)
        stretch->how[u] = how_to_rank(stretch, u);
    if (!status)
        status = choose_candidates(stretch, error);
    if (!status)
        status = inmo_seen_mask(&stretch->view->seen, stretch->snapshot->graph, stretch->query->include_seen,
                                &stretch->unliked, error);
    inmo_view_unlock(stretch->view);
    return status;
}

static enum inmo_status prepare(struct stretch *stretch, const struct inmo_hooks *hooks, struct inmo_error *error)
{
    const struct inmo_graph *graph = stretch->snapshot->graph;
    struct inmo_rank *job = &stretch->job;
    size_t k;
    int masks = 0;
    inmo_scorer_source(&stretch->snapshot->scorer, job);
    job->k =
        stretch->query->rules ? inmo_rules_candidates(stretch->query->rules, stretch->query->k) : stretch->query->k;
    job->k = job->k < graph->items ? job->k : graph->items;
    k = (size_t)job->k;
    stretch->work = inmo_view_borrow(stretch->view);
    stretch->who = inmo_alloc(STRETCH, sizeof *stretch->who);
    stretch->top_item = inmo_alloc(STRETCH * k, sizeof *stretch->top_item);
    stretch->top_score = inmo_alloc(STRETCH * k, sizeof *stretch->top_score);
    stretch->entry = inmo_alloc(k, sizeof *stretch->entry);
    stretch->column = inmo_alloc((size_t)graph->edges, sizeof *stretch->column);
    if (!stretch->work || !stretch->who || !stretch->top_item || !stretch->top_score || !stretch->entry ||
        !stretch->column)
        return inmo_fail_memory(error, "the recommendations");
    for (int64_t e = 0; e < graph->edges; e++)
        stretch->column[e] = graph->neighbour[e] - graph->users;
    stretch->seen = (struct inmo_csr){graph->users, graph->items, graph->offset, stretch->column, NULL};
    if (!stretch->query->include_seen)
        job->mask[masks++] = &stretch->seen;
    if (stretch->unliked.offset)
        job->mask[masks++] = &stretch->unliked;
    job->who = stretch->who;
    job->top_item = stretch->top_item;
    job->top_score = stretch->top_score;
    job->spread = 1;
    return inmo_beside_complete(&stretch->snapshot->scorer.beside, hooks, error);
}

/* Puts the users of a stretch that are ranked together into job.who. Returns how many users it has. */
static int32_t gather_users(struct stretch *stretch, int32_t first)
{
    int32_t count = stretch->users - first < STRETCH ? stretch->users - first : STRETCH;
    stretch->job.count = 0;
    for (int32_t u = first; u < first + count; u++)
        if (stretch->how[u] == TOGETHER)
            stretch->who[stretch->job.count++] = u;
    return count;
}

/* Answers for one user like a request. */
static enum inmo_status ask_alone(struct stretch *stretch, const char *user, const struct inmo_list **list,
                                  struct inmo_error *error)
{
    struct inmo_query query = *stretch->query;
    query.user = user;
    return inmo_recommend_many(stretch->view, stretch->work, &query, 1, list, error);
}

static enum inmo_status hand_out(struct stretch *stretch, int32_t first, int32_t count,
                                 int (*row)(void *, const char *, size_t, const struct inmo_entry *), void *context,
                                 struct inmo_error *error)
{
    const struct inmo_rank *job = &stretch->job;
    int32_t together = 0;
    for (int32_t n = 0; n < count; n++) {
        const char *user = stretch->how[first + n] == NOT ? NULL : inmo_view_user_name(stretch->view, first + n);
        const struct inmo_entry *entry = stretch->entry;
        size_t found = 0;
        if (!user)
            continue;
        if (stretch->how[first + n] == ALONE) {
            const struct inmo_list *list = NULL;
            enum inmo_status status = ask_alone(stretch, user, &list, error);
            if (status)
                return status;
            if (list->status) /* forgotten in the meantime */
                continue;
            entry = list->entry;
            found = list->count;
        } else {
            size_t at = (size_t)together++ * (size_t)job->k;
            for (int32_t j = 0; j < job->k && job->top_item[at + (size_t)j] >= 0; j++)
                stretch->entry[found++] =
                    (struct inmo_entry){inmo_view_item_name(stretch->view, job->top_item[at + (size_t)j]),
                                        job->top_score[at + (size_t)j]};
        }
        if (row(context, user, found, entry))
            return inmo_fail(error, INMO_INTERRUPTED, "stopped on request while writing recommendations");
    }
    return INMO_OK;
}

enum inmo_status inmo_recommend_all(const struct inmo_view *view, const struct inmo_query *query,
                                    const struct inmo_hooks *hooks,
                                    int (*row)(void *context, const char *user, size_t count,
                                               const struct inmo_entry *entry),
                                    void *context, struct inmo_error *error)
{
    struct stretch stretch = {.view = view, .query = query};
    enum inmo_status status = inmo_check_query(query, error);
    if (!status)
        status = inmo_check_k(query->k, error);
    if (!status && (query->user || query->item_count > 0))
        status = inmo_fail(error, INMO_USAGE, "lists for all users take no user and no items");
    if (status)
        return status;
    status = look(&stretch, error);
    if (!status)
        status = prepare(&stretch, hooks, error);
    for (int32_t first = 0; first < stretch.users && !status; first += STRETCH) {
        struct inmo_progress progress = {"recommending", first, stretch.users, "users", 0, NAN, NAN, NAN};
        int32_t count = gather_users(&stretch, first);
        inmo_report_progress(hooks, &progress);
        if (inmo_is_interrupted(hooks))
            status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request while recommending");
        if (!status)
            status = inmo_rank(&stretch.job, NULL, error);
        if (!status && inmo_rules_rerank(query->rules))
            status = inmo_rules_rerank_lists(query->rules, stretch.snapshot, stretch.job.count, stretch.job.k,
                                             query->k, stretch.top_item, stretch.top_score, error);
        if (!status)
            status = hand_out(&stretch, first, count, row, context, error);
    }
    drop_stretch(&stretch);
    return status;
}
