/* rows_many.c - lists for many people given by numbers. In stretches of thousands: everybody is folded in, in
 * parallel, into one matrix r, and then ranked (score/rank.h). Who has changed since the snapshot, or falls back to
 * popularity, is answered like a request, also in parallel. */
#include "base/memory.h"
#include "base/threads.h"
#include "score/offer.h"
#include "view/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* CHUNK: people between two lockings. */
enum { STRETCH = 8192, CHUNK = 32 };
enum { TOGETHER, ALONE };

/* A stretch of people that is ranked at once. Rows of all arrays are places in the stretch. */
struct stretch {
    const struct inmo_view *view;
    struct inmo_snapshot *snapshot;
    const struct inmo_rows_query *query;
    int32_t *top_item;  // (people of the query, k) the caller's
    float *top_score;
    int64_t first; /* person of the query at place 0 */
    int32_t count;
    int needs_history; /* scores have a part that comes from the history itself */
    struct inmo_rank job;
    struct inmo_beside beside;              // the snapshot's, from the histories of the stretch
    struct inmo_fill fill;                  // the snapshot's, likewise
    struct inmo_graph people;               // the histories, as a graph of users without items
    struct inmo_csr seen, past;             // what is left out: items of the rows, and of the histories
    int64_t *history_offset, *seen_offset;  // (STRETCH + 1)
    int32_t *history_item, *seen_item;
    float *history_share;                 // with weights: the share of each item; else NULL
    float *r;                             // (STRETCH, dim)
    int32_t *who, *alone;                 // (people)
    uint8_t *how;                         // (people)
    int32_t *item;                        // (STRETCH, k)
    float *score;                         // (STRETCH, k)
    int32_t *candidate;                   // (items)
    int32_t *history_count, *seen_count;  // (people)
    enum inmo_status status;
    int32_t fault; /* the part that status and error are about: the first of those that failed */
    struct inmo_error error;
};

/* Scores of people for inmo_rank, by the histories of the stretch. */
static void fill_scores(const void *context, const int32_t *who, int32_t count, void *scratch, float *score)
{
    enum { AT_ONCE = 192 };
    const struct stretch *stretch = context;
    const struct inmo_scorer *scorer = &stretch->snapshot->scorer;
    struct inmo_history history[AT_ONCE];
    for (int32_t done = 0, part; done < count; done += part) {
        part = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (int32_t n = 0; n < part; n++) {
            history[n] = inmo_history_of(&stretch->people, who[done + n]);
            history[n].user = -1;
            history[n].r = scorer->dim > 0 ? stretch->r + (size_t)who[done + n] * (size_t)scorer->dim : NULL;
        }
        inmo_scorer_fill(scorer, history, part, scratch, score + (size_t)done * (size_t)scorer->graph->items);
    }
}

static void drop_stretch(struct stretch *stretch)
{
    inmo_free(stretch->seen_count);
    inmo_free(stretch->history_count);
    inmo_free(stretch->candidate);
    inmo_free(stretch->score);
    inmo_free(stretch->item);
    inmo_free(stretch->how);
    inmo_free(stretch->alone);
    inmo_free(stretch->who);
    inmo_free(stretch->r);
    inmo_free(stretch->history_share);
    inmo_free(stretch->seen_item);
    inmo_free(stretch->history_item);
    inmo_free(stretch->seen_offset);
    inmo_free(stretch->history_offset);
    inmo_snapshot_release(stretch->snapshot);
}

static enum inmo_status choose_candidates(struct stretch *stretch, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = stretch->snapshot;
    const struct inmo_rows_query *query = stretch->query;
    int32_t items = snapshot->graph->items, count;
    uint8_t *closed = inmo_alloc((size_t)items, 1);
    stretch->candidate = inmo_alloc((size_t)items, sizeof *stretch->candidate);
    if (!closed || !stretch->candidate) {
        inmo_free(closed);
        return inmo_fail_memory(error, "the recommendations");
    }
    memset(closed, query->allow != NULL, (size_t)items);
    for (size_t n = 0; query->allow && n < query->allow_count; n++)
        if (query->allow[n] >= 0 && query->allow[n] < items)
            closed[query->allow[n]] = 0;
    for (size_t n = 0; n < query->deny_count; n++)
        if (query->deny[n] >= 0 && query->deny[n] < items)
            closed[query->deny[n]] = 1;
    inmo_view_read_lock(stretch->view);
    if (stretch->view->snapshot == snapshot)
        for (int32_t n = 0; n < stretch->view->overlay.gone.count; n++)
            closed[stretch->view->overlay.gone.number[n]] = 1;
    inmo_view_unlock(stretch->view);
    inmo_rules_close(query->rules, items, closed);
    count = inmo_snapshot_open_items(snapshot, closed, stretch->candidate);
    inmo_free(closed);
    stretch->job.candidate = count < items ? stretch->candidate : NULL;
    stretch->job.candidates = count;
    return INMO_OK;
}

static enum inmo_status prepare(struct stretch *stretch, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = stretch->snapshot;
    const struct inmo_scorer *scorer = &snapshot->scorer;
    struct inmo_rank *job = &stretch->job;
    size_t people = stretch->query->count < STRETCH ? stretch->query->count : STRETCH, k;
    int masks = 0;
    inmo_scorer_source(scorer, job);
    job->k =
        stretch->query->rules ? inmo_rules_candidates(stretch->query->rules, stretch->query->k) : stretch->query->k;
    job->k = job->k < snapshot->graph->items ? job->k : snapshot->graph->items;
    k = (size_t)job->k;
    stretch->needs_history = job->beside || job->fill || stretch->query->exclude_past;
    stretch->history_offset = inmo_alloc_zero(people + 1, sizeof *stretch->history_offset);
    stretch->seen_offset = inmo_alloc_zero(people + 1, sizeof *stretch->seen_offset);
    stretch->r = inmo_alloc(people * (size_t)scorer->dim, sizeof *stretch->r);
    stretch->who = inmo_alloc(people, sizeof *stretch->who);
    stretch->alone = inmo_alloc(people + 1, sizeof *stretch->alone);
    stretch->how = inmo_alloc(people, 1);
    stretch->item = inmo_alloc(people * k, sizeof *stretch->item);
    stretch->score = inmo_alloc(people * k, sizeof *stretch->score);
    stretch->history_count = inmo_alloc(people, sizeof *stretch->history_count);
    stretch->seen_count = inmo_alloc(people, sizeof *stretch->seen_count);
    if (!stretch->history_offset || !stretch->seen_offset || !stretch->r || !stretch->who || !stretch->alone ||
        !stretch->how || !stretch->item || !stretch->score || !stretch->history_count || !stretch->seen_count)
        return inmo_fail_memory(error, "the recommendations");
    job->user = stretch->r;
    job->who = stretch->who;
    job->top_item = stretch->item;
    job->top_score = stretch->score;
    if (!stretch->query->include_seen || snapshot->model->seen.offset)
        job->mask[masks++] = &stretch->seen;
    if (stretch->query->exclude_past)
        job->mask[masks++] = &stretch->past;
    if (job->beside) {
        stretch->beside = *job->beside;
        stretch->beside.graph = &stretch->people;
        job->beside = &stretch->beside;
    }
    if (job->fill) {
        stretch->fill = *job->fill;
        stretch->fill.scores = fill_scores;
        stretch->fill.context = stretch;
        if (scorer->head.scores)
            stretch->fill.scratch_bytes = scorer->fill.scratch_bytes;
        job->fill = &stretch->fill;
    }
    return choose_candidates(stretch, error);
}

/* Makes room for the histories and the items left out, and says where each person's begin. */
static enum inmo_status lay_out(struct stretch *stretch, struct inmo_error *error)
{
    const struct inmo_rows_query *query = stretch->query;
    const struct inmo_graph *graph = stretch->snapshot->graph;
    int64_t history = 0, seen = 0;
    int32_t unliked;
    for (int32_t n = 0; n < stretch->count; n++) {
        int64_t person = stretch->first + n, length = query->offset[person + 1] - query->offset[person];
        int64_t user = query->user ? query->user[person] : -1;
        stretch->history_offset[n] = history;
        stretch->seen_offset[n] = seen;
        history += user < 0                                        ? length
                   : stretch->needs_history && user < graph->users ? inmo_graph_degree(graph, (int32_t)user)
                                                                   : 0;
        inmo_seen_in_model(stretch->snapshot->model, (int32_t)user, &unliked);
        seen += (query->include_seen ? 0 : length) + unliked;
    }
    inmo_free(stretch->history_share);
    inmo_free(stretch->history_item);
    inmo_free(stretch->seen_item);
    stretch->history_item = inmo_alloc((size_t)history, sizeof *stretch->history_item);
    stretch->seen_item = inmo_alloc((size_t)seen, sizeof *stretch->seen_item);
    stretch->history_share = graph->relative ? inmo_alloc((size_t)history, sizeof *stretch->history_share) : NULL;
    return stretch->history_item && stretch->seen_item && (!graph->relative || stretch->history_share)
               ? INMO_OK
               : inmo_fail_memory(error, "the recommendations");
}

/* Whether somebody is answered like a request. Under the view's lock. */
static int is_alone(const struct stretch *stretch, int64_t user)
{
    const struct inmo_snapshot *snapshot = stretch->snapshot;
    const struct inmo_overlay *overlay = &stretch->view->overlay;
    if (stretch->view->snapshot != snapshot || /* refreshed meanwhile */
        (overlay->newcomers > 0 && inmo_kind_offers_unseen(snapshot->model->kind)))
        return 1;
    return user >= 0 && (user >= snapshot->graph->users || inmo_overlay_change(overlay, (int32_t)user) ||
                         inmo_seen_has_changed(&stretch->view->seen, (int32_t)user) ||
                         inmo_snapshot_is_gone(snapshot, (int32_t)user) ||
                         !inmo_is_served(snapshot->model, &snapshot->bound, (int32_t)user) ||
                         inmo_user_falls_back(snapshot->model, &snapshot->bound, (int32_t)user));
}

/* Copies what ranking needs of one person into the stretch. Under the view's lock. */
static enum inmo_status fold_in(struct stretch *stretch, int32_t n, struct inmo_work *work,
                                struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = stretch->snapshot;
    const struct inmo_graph *graph = snapshot->graph;
    const struct inmo_rows_query *query = stretch->query;
    struct inmo_row row = inmo_rows_person(query, stretch->first + n);
    int32_t *history = stretch->history_item + stretch->history_offset[n];
    float *share = stretch->history_share ? stretch->history_share + stretch->history_offset[n] : NULL;
    int32_t *seen = stretch->seen_item + stretch->seen_offset[n], kept = 0, unliked_count;
    const int32_t *unliked = inmo_seen_in_model(snapshot->model, row.user, &unliked_count);
    struct inmo_csr chosen = {graph->nodes, graph->nodes, graph->offset, graph->neighbour, NULL};
    const float *r = NULL;
    stretch->history_count[n] = stretch->seen_count[n] = 0;
    stretch->how[n] = (uint8_t)(is_alone(stretch, row.user) ? ALONE : TOGETHER);
    if (stretch->how[n] == ALONE)
        return INMO_OK;
    if (row.user >= 0) {
        int64_t degree = stretch->needs_history ? inmo_graph_degree(graph, row.user) : 0;
        r = snapshot->scorer.dim > 0 ? inmo_snapshot_row(snapshot, row.user) : NULL;
        for (int64_t e = 0; e < degree; e++)
            history[e] = graph->neighbour[graph->offset[row.user] + e] - graph->users;
        if (share)
            memcpy(share, graph->relative + graph->offset[row.user], (size_t)degree * sizeof *share);
        stretch->history_count[n] = (int32_t)degree;
    } else {
        struct inmo_person person;
        enum inmo_status status = inmo_person_make_row(stretch->view, snapshot, work, &row, NULL, &person, error);
        if (status)
            return status;
        if (person.falls_back) {
            stretch->how[n] = ALONE;
            return INMO_OK;
        }
        r = person.r;
        memcpy(history, person.item, (size_t)person.count * sizeof *history);
        if (share)
            memcpy(share, person.share, (size_t)person.count * sizeof *share);
        stretch->history_count[n] = person.count;
    }
    if (r)
        memcpy(stretch->r + (size_t)n * (size_t)snapshot->scorer.dim, r, (size_t)snapshot->scorer.dim * sizeof *r);
    if (!query->include_seen) {
        const int32_t *item = query->item + query->offset[stretch->first + n];
        int64_t length = query->offset[stretch->first + n + 1] - query->offset[stretch->first + n];
        for (int64_t e = 0; e < length; e++)
            if (item[e] >= 0 && item[e] < graph->items)
                seen[kept++] = item[e];
    }
    for (int32_t e = 0; e < unliked_count; e++) /* chosen ones are left to the caller, as without them */
        if (!inmo_csr_has(&chosen, row.user, graph->users + unliked[e]))
            seen[kept++] = unliked[e];
    stretch->seen_count[n] = (int32_t)inmo_ascending(seen, kept);
    return INMO_OK;
}

/* Of several faults the first counts, whichever thread is faster. */
static void note_fault(struct stretch *stretch, int32_t begin, enum inmo_status status,
                       const struct inmo_error *error)
{
#pragma omp critical(inmo_rows_fault)
    if (!stretch->status || begin < stretch->fault) {
        stretch->status = status;
        stretch->fault = begin;
        stretch->error = *error;
    }
}

static void fold_chunk(struct stretch *stretch, int32_t begin, struct inmo_work *work)
{
    int32_t end = begin + CHUNK < stretch->count ? begin + CHUNK : stretch->count;
    struct inmo_error error;
    enum inmo_status status = INMO_OK;
    inmo_view_read_lock(stretch->view);
    for (int32_t n = begin; n < end && !status; n++) {
        inmo_work_empty(work);
        status = fold_in(stretch, n, work, &error);
        if (status && status != INMO_MEMORY) {
            struct inmo_error why = error;
            inmo_fail(&error, status, "row %" PRId64 ": %s", stretch->first + n, why.message);
        }
    }
    inmo_view_unlock(stretch->view);
    for (int32_t n = begin; n < end && !status && stretch->job.beside; n++)
        if (stretch->how[n] == TOGETHER) {
            if (inmo_work_sums(work, stretch->snapshot->graph->items) != 0)
                status = inmo_fail_memory(&error, "the recommendations");
            else
                inmo_beside_need(&stretch->snapshot->scorer.beside,
                                 stretch->history_item + stretch->history_offset[n], stretch->history_count[n], 0,
                                 &work->sums);
        }
    if (status)
        note_fault(stretch, begin, status, &error);
}

/* Closes the gaps that unknown and repeated items have left. */
static void close_gaps(int64_t *offset, const int32_t *length, int32_t *item, float *share, int32_t count)
{
    int64_t at = 0;
    for (int32_t n = 0; n < count; n++) {
        memmove(item + at, item + offset[n], (size_t)length[n] * sizeof *item);
        if (share)
            memmove(share + at, share + offset[n], (size_t)length[n] * sizeof *share);
        offset[n] = at;
        at += length[n];
    }
    offset[count] = at;
}

/* Runs a step on all parts of the stretch, each thread with a work space of its own. */
static enum inmo_status in_parallel(struct stretch *stretch, int32_t count,
                                    void (*step)(struct stretch *, int32_t, struct inmo_work *),
                                    struct inmo_error *error)
{
    stretch->status = INMO_OK;
#pragma omp parallel num_threads(inmo_threads())
    {
        struct inmo_work *work = inmo_view_borrow(stretch->view);
        struct inmo_error none;
        int stop;
#pragma omp for schedule(dynamic)
        for (int32_t begin = 0; begin < count; begin += CHUNK) {
            if (!work)
                note_fault(stretch, begin, inmo_fail_memory(&none, "the recommendations"), &none);
#pragma omp critical(inmo_rows_fault)
            stop = stretch->status != INMO_OK && stretch->fault <= begin;
            if (!stop)
                step(stretch, begin, work);
        }
        inmo_view_give_back(stretch->view, work);
    }
    if (stretch->status && error)
        *error = stretch->error;
    return stretch->status;
}

static void answer_chunk(struct stretch *stretch, int32_t begin, struct inmo_work *work)
{
    int64_t person[CHUNK];
    struct inmo_error error;
    int32_t count = 0;
    enum inmo_status status;
    while (count < CHUNK && stretch->alone[begin + count] >= 0)
        person[count] = stretch->first + stretch->alone[begin + count], count++;
    status = inmo_rows_answer(stretch->view, stretch->query, work, person, (size_t)count, stretch->top_item,
                              stretch->top_score, &error);
    if (status)
        note_fault(stretch, begin, status, &error);
}

static enum inmo_status rank_stretch(struct stretch *stretch, struct inmo_error *error)
{
    const struct inmo_rank *job = &stretch->job;
    const struct inmo_graph *graph = stretch->snapshot->graph;
    int32_t together = 0, alone = 0, k = stretch->query->k;
    enum inmo_status status = lay_out(stretch, error);
    if (!status)
        status = in_parallel(stretch, stretch->count, fold_chunk, error);
    if (status)
        return status;
    close_gaps(stretch->history_offset, stretch->history_count, stretch->history_item, stretch->history_share,
               stretch->count);
    close_gaps(stretch->seen_offset, stretch->seen_count, stretch->seen_item, NULL, stretch->count);
    stretch->people = (struct inmo_graph){.items = graph->items,
                                          .offset = stretch->history_offset,
                                          .neighbour = stretch->history_item,
                                          .relative = stretch->history_share};
    stretch->seen = (struct inmo_csr){stretch->count, graph->items, stretch->seen_offset, stretch->seen_item, NULL};
    stretch->past =
        (struct inmo_csr){stretch->count, graph->items, stretch->history_offset, stretch->history_item, NULL};
    for (int32_t n = 0; n < stretch->count; n++)
        if (stretch->how[n] == TOGETHER)
            stretch->who[together++] = n;
        else
            stretch->alone[alone++] = n;
    stretch->job.count = together;
    status = inmo_rank(job, NULL, error);
    if (!status && inmo_rules_rerank(stretch->query->rules))
        status = inmo_rules_rerank_lists(stretch->query->rules, stretch->snapshot, together, job->k, k,
                                         stretch->item, stretch->score, error);
    for (int32_t n = 0; n < together && !status; n++) {
        size_t from = (size_t)n * (size_t)job->k;
        size_t to = (size_t)(stretch->first + stretch->who[n]) * (size_t)k;
        int32_t found = 0;
        while (found < job->k && job->top_item[from + (size_t)found] >= 0)
            found++;
        memcpy(stretch->top_item + to, job->top_item + from, (size_t)found * sizeof *job->top_item);
        memcpy(stretch->top_score + to, job->top_score + from, (size_t)found * sizeof *job->top_score);
        inmo_rows_put_nothing(stretch->top_item + to, stretch->top_score + to, found, k);
    }
    if (!status && alone > 0) {
        stretch->alone[alone] = -1; /* the last chunk ends here */
        status = in_parallel(stretch, alone, answer_chunk, error);
    }
    return status;
}

enum inmo_status inmo_rows_rank(const struct inmo_view *view, const struct inmo_rows_query *query,
                                const struct inmo_hooks *hooks, int32_t *item, float *score,
                                struct inmo_error *error)
{
    struct stretch stretch = {.view = view, .query = query, .top_item = item, .top_score = score};
    enum inmo_status status;
    double start = inmo_now();
    stretch.snapshot = inmo_view_snapshot(view);
    status = prepare(&stretch, error);
    for (; !status && stretch.first < (int64_t)query->count; stretch.first += STRETCH) {
        struct inmo_progress progress = {"recommending",
                                         (double)stretch.first,
                                         (double)query->count,
                                         "people",
                                         inmo_now() - start,
                                         NAN,
                                         NAN,
                                         NAN};
        int64_t left = (int64_t)query->count - stretch.first;
        stretch.count = (int32_t)(left < STRETCH ? left : STRETCH);
        inmo_report_progress(hooks, &progress);
        status = inmo_is_interrupted(hooks)
                     ? inmo_fail(error, INMO_INTERRUPTED, "stopped on request while recommending")
                     : rank_stretch(&stretch, error);
    }
    drop_stretch(&stretch);
    return status;
}
