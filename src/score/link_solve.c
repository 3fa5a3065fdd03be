/* link_solve.c - see link_solve.h. One thread of one rank solves for an item, so the result does not depend on how
 * many there are. */
#include "score/link_solve.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/conjugate.h"
#include "kernel/near.h"
#include "ranks/ranks.h"
#include "score/link_spectrum.h"
#include "score/walk.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    ENTRIES = 1 << 16, /* interactions of the neighbours that a Gram matrix is counted from; more are sampled */
    MOST_RULES = 8,
    MANY_LINKS = 1 << 22, /* a catalogue that would have more has fewer neighbours of each item */
    FEW_NEIGHBOURS = 32,  /* but no fewer than this, of items that have users enough */
};

/* What one thread needs to solve for an item. */
struct solver {
    int32_t *head;                /* (users) last entry of the user, -1: none; -1 between items */
    int32_t *met;                 /* (2 ENTRIES) users with an entry */
    int32_t *before, *neighbour;  // (2 ENTRIES) the user's entry before this one; whose it is
    float *entry_root;            // (2 ENTRIES) x of the entry; NULL: 1
    int32_t *own;                 // (k) the neighbours of one user
    float *own_root;              // (k) x of each; NULL: 1
    float *gram;                  // (k, stride) G_JJ without its diagonal (kernel/conjugate.h)
    float *common;                // (k) G_Ji
    float *diagonal, *work;       // (k), (4 stride) of a system
};

struct solving {
    const struct inmo_graph *graph;
    const struct inmo_link_rule *rule;
    int rules;
    const uint8_t *only;
    float *user_weight;  // (users) w_u; 0: left out
    float *norm;         // (items) G_ii^1/2
    float *root;         // (2 edges) x_ui = w_ui^1/2; NULL: 1
    struct inmo_near near;
    int64_t *begin;             // (items + 1) where the neighbours of an item are kept
    int32_t *nearest;           // -1: fewer
    float *weight[MOST_RULES];  // b · d_i^γ
    struct solver *solver;      // (threads)
    int threads;
};

/* Neighbours of an item. A large catalogue has fewer of each, and its rare items fewer still, so that links never
 * take much more memory than the log. */
static int32_t room_of(const struct solving *solving, int32_t i)
{
    const struct inmo_graph *graph = solving->graph;
    int64_t degree = inmo_graph_degree(graph, graph->users + i), room = MANY_LINKS / graph->items;
    if (degree == 0 || (solving->only && !solving->only[i]))
        return 0;
    if (room < FEW_NEIGHBOURS)
        room = 8 + 2 * degree < FEW_NEIGHBOURS ? 8 + 2 * degree : FEW_NEIGHBOURS;
    room = room < solving->near.k ? room : solving->near.k;
    return (int32_t)(room < graph->items - 1 ? room : graph->items - 1);
}

static float cosine(const void *context, float common, int32_t i, int32_t j)
{
    const struct solving *solving = context;
    return common / (solving->norm[i] * solving->norm[j]);
}

/* Copies the lower triangle to the upper one, by blocks that stay in cache. */
static void mirror(float *a, size_t m, size_t stride)
{
    enum { BLOCK = 32 };
    for (size_t r = 0; r < m; r += BLOCK)
        for (size_t c = 0; c <= r; c += BLOCK)
            for (size_t p = r; p < m && p < r + BLOCK; p++)
                for (size_t q = c; q < p && q < c + BLOCK; q++)
                    a[q * stride + p] = a[p * stride + q];
}

/* G_JJ of the neighbours but for its diagonal, from the users who have at least two of them. When the neighbours
 * have very many users, those of a fixed sample stand for all. */
static void count_common(const struct solving *solving, struct solver *solver, const int32_t *nearest, int32_t m)
{
    const struct inmo_graph *graph = solving->graph;
    int64_t all = 0;
    int32_t entries = 0, users = 0;
    size_t stride = (size_t)inmo_conjugate_stride(m);
    double rate;
    for (int32_t p = 0; p < m; p++)
        all += inmo_graph_degree(graph, graph->users + nearest[p]);
    rate = all > ENTRIES ? (double)ENTRIES / (double)all : 1;
    for (int32_t p = 0; p < m; p++) {
        int32_t node = graph->users + nearest[p];
        for (int64_t e = graph->offset[node]; e < graph->offset[node + 1] && entries < 2 * ENTRIES; e++) {
            int32_t u = graph->neighbour[e];
            if (solving->user_weight[u] == 0 || (rate < 1 && inmo_random_unit(inmo_mix64((uint64_t)u)) >= rate))
                continue;
            if (solver->head[u] < 0)
                solver->met[users++] = u;
            solver->neighbour[entries] = p;
            if (solver->entry_root)
                solver->entry_root[entries] = solving->root[e];
            solver->before[entries] = solver->head[u];
            solver->head[u] = entries++;
        }
    }
    memset(solver->gram, 0, (size_t)m * stride * sizeof *solver->gram);
    for (int32_t n = 0; n < users; n++) {
        float weight = solving->user_weight[solver->met[n]] / (float)rate;
        int32_t count = 0;
        for (int32_t e = solver->head[solver->met[n]]; e >= 0; e = solver->before[e]) {
            if (solver->own_root)
                solver->own_root[count] = solver->entry_root[e];
            solver->own[count++] = solver->neighbour[e];
        }
        solver->head[solver->met[n]] = -1;
        for (int32_t a = 0; a < count; a++) { /* own is descending, so these are below the diagonal */
            float *row = solver->gram + (size_t)solver->own[a] * stride;
            if (solver->own_root)
                for (int32_t b = a + 1; b < count; b++)
                    row[solver->own[b]] += weight * solver->own_root[a] * solver->own_root[b];
            else
                for (int32_t b = a + 1; b < count; b++)
                    row[solver->own[b]] += weight;
        }
    }
    mirror(solver->gram, (size_t)m, stride);
}

static void solve_item(void *context, int32_t i, float *sum, int32_t *met)
{
    const struct solving *solving = context;
    struct solver *solver = solving->solver + omp_get_thread_num();
    const struct inmo_graph *graph = solving->graph;
    struct inmo_near near = solving->near;
    int32_t room = room_of(solving, i), m;
    int32_t *nearest = solving->nearest + solving->begin[i];
    struct inmo_top top = {room, 0, solver->common, nearest};
    if (room == 0)
        return;
    near.k = room;
    inmo_near_of(&near, i, sum, met, &top);
    m = top.count;
    for (int32_t p = 0; p < m; p++)
        solver->common[p] *= solving->norm[i] * solving->norm[nearest[p]];
    count_common(solving, solver, nearest, m);
    for (int r = 0; r < solving->rules; r++) {
        const struct inmo_link_rule *rule = solving->rule + r;
        float *weight = solving->weight[r] + solving->begin[i];
        double end = pow(inmo_graph_strength(graph, graph->users + i), rule->popularity);
        for (int32_t p = 0; p < m; p++) {
            double own = (double)solving->norm[nearest[p]] * solving->norm[nearest[p]];
            solver->diagonal[p] = (float)(own * (1 + rule->share) + rule->ridge);
            weight[p] = 0;
        }
        if (inmo_conjugate_solve(m, solver->gram, solver->diagonal, solver->common, weight, solver->work) < 0)
            memset(weight, 0, (size_t)m * sizeof *weight); /* sampled counts need not be positive definite */
        for (int32_t p = 0; p < m; p++)
            weight[p] *= (float)end;
    }
}

static void free_solvers(struct solving *solving)
{
    for (int t = 0; t < solving->threads && solving->solver; t++) {
        struct solver *solver = solving->solver + t;
        inmo_free(solver->work);
        inmo_free(solver->diagonal);
        inmo_free(solver->common);
        inmo_free(solver->gram);
        inmo_free(solver->own_root);
        inmo_free(solver->own);
        inmo_free(solver->entry_root);
        inmo_free(solver->neighbour);
        inmo_free(solver->before);
        inmo_free(solver->met);
        inmo_free(solver->head);
    }
    inmo_free(solving->solver);
}

static int make_solvers(struct solving *solving)
{
    size_t users = (size_t)solving->graph->users, k = (size_t)solving->near.k;
    size_t stride = (size_t)inmo_conjugate_stride(solving->near.k);
    solving->threads = inmo_threads();
    solving->solver = inmo_alloc_zero((size_t)solving->threads, sizeof *solving->solver);
    for (int t = 0; t < solving->threads && solving->solver; t++) {
        struct solver *solver = solving->solver + t;
        solver->head = inmo_alloc(users, sizeof *solver->head);
        solver->met = inmo_alloc(2 * ENTRIES, sizeof *solver->met);
        solver->before = inmo_alloc(2 * ENTRIES, sizeof *solver->before);
        solver->neighbour = inmo_alloc(2 * ENTRIES, sizeof *solver->neighbour);
        solver->own = inmo_alloc(k, sizeof *solver->own);
        solver->entry_root = solving->root ? inmo_alloc(2 * ENTRIES, sizeof *solver->entry_root) : NULL;
        solver->own_root = solving->root ? inmo_alloc(k, sizeof *solver->own_root) : NULL;
        solver->gram = inmo_alloc(k * stride, sizeof *solver->gram);
        solver->common = inmo_alloc(k, sizeof *solver->common);
        solver->diagonal = inmo_alloc(k, sizeof *solver->diagonal);
        solver->work = inmo_alloc(4 * stride, sizeof *solver->work);
        if (!solver->head || !solver->met || !solver->before || !solver->neighbour || !solver->own ||
            !solver->gram || !solver->common || !solver->diagonal || !solver->work ||
            (solving->root && (!solver->entry_root || !solver->own_root)))
            return -1;
        memset(solver->head, 0xff, users * sizeof *solver->head);
    }
    return solving->solver ? 0 : -1;
}

/* Weights of users, and with them the norms of items. 0, or -1 when memory is short. */
static int weigh(struct solving *solving)
{
    const struct inmo_graph *graph = solving->graph;
    double sum = 0, edges = 0;
    solving->user_weight = inmo_alloc_zero((size_t)graph->users, sizeof *solving->user_weight);
    solving->norm = inmo_alloc((size_t)graph->items, sizeof *solving->norm);
    solving->root = graph->weight ? inmo_alloc(2 * (size_t)graph->edges, sizeof *solving->root) : NULL;
    if (!solving->user_weight || !solving->norm || (graph->weight && !solving->root))
        return -1;
    for (int64_t e = 0; solving->root && e < 2 * graph->edges; e++)
        solving->root[e] = sqrtf(graph->weight[e]);
    for (int32_t u = 0; u < graph->users; u++) {
        double degree = (double)inmo_graph_degree(graph, u);
        if (degree > 0 && degree <= INMO_WALK_MOST) {
            sum += sqrt(degree); /* degree · degree^-1/2 */
            edges += degree;
        }
    }
    for (int32_t u = 0; u < graph->users; u++) {
        double degree = (double)inmo_graph_degree(graph, u);
        if (degree > 0 && degree <= INMO_WALK_MOST)
            solving->user_weight[u] = (float)(edges / sum / sqrt(degree));
    }
    for (int32_t i = 0; i < graph->items; i++) {
        double own = 0;
        for (int64_t e = graph->offset[graph->users + i]; e < graph->offset[graph->users + i + 1]; e++)
            own += (double)solving->user_weight[graph->neighbour[e]] * (graph->weight ? graph->weight[e] : 1);
        solving->norm[i] = own > 0 ? (float)sqrt(own) : 1;
    }
    return 0;
}

/* The solved items' neighbours, turned round: from the neighbour to the item. */
static struct inmo_links *turn_round(const struct solving *solving, const float *weight)
{
    int32_t items = solving->graph->items;
    int64_t count = 0, *offset;
    struct inmo_links *links;
    int32_t *item;
    float *value;
    for (int64_t e = 0; e < solving->begin[items]; e++)
        count += solving->nearest[e] >= 0;
    links = inmo_links_new(items, count);
    if (!links)
        return NULL;
    offset = (int64_t *)links->offset;
    item = (int32_t *)links->item;
    value = (float *)links->weight;
    for (int64_t e = 0; e < solving->begin[items]; e++)
        if (solving->nearest[e] >= 0)
            offset[solving->nearest[e] + 1]++;
    for (int32_t j = 0; j < items; j++)
        offset[j + 1] += offset[j];
    for (int32_t i = 0; i < items; i++)
        for (int64_t e = solving->begin[i]; e < solving->begin[i + 1] && solving->nearest[e] >= 0; e++) {
            int64_t at = offset[solving->nearest[e]]++;
            item[at] = i;
            value[at] = weight[e];
        }
    for (int32_t j = items; j > 0; j--)
        offset[j] = offset[j - 1];
    offset[0] = 0;
    return links;
}

static enum inmo_status prepare(struct solving *solving, struct inmo_error *error)
{
    int32_t items = solving->graph->items;
    size_t room;
    solving->begin = inmo_alloc_zero((size_t)items + 1, sizeof *solving->begin);
    if (!solving->begin || weigh(solving) != 0 || make_solvers(solving) != 0)
        return inmo_fail_memory(error, "the links between items");
    for (int32_t i = 0; i < items; i++)
        solving->begin[i + 1] = solving->begin[i] + room_of(solving, i);
    room = (size_t)solving->begin[items];
    solving->nearest = inmo_alloc(room, sizeof *solving->nearest);
    for (int r = 0; r < solving->rules; r++) {
        solving->weight[r] = inmo_alloc(room, sizeof(float));
        if (!solving->weight[r])
            return inmo_fail_memory(error, "the links between items");
    }
    if (!solving->nearest)
        return inmo_fail_memory(error, "the links between items");
    memset(solving->nearest, 0xff, room * sizeof *solving->nearest);
    solving->near.user_weight = solving->user_weight;
    solving->near.edge = solving->root;
    return INMO_OK;
}

/* The first item that a rank solves for. Items have edge ends in equal parts. */
static int32_t first_item(const struct inmo_graph *graph, int rank)
{
    int64_t begin = graph->offset[graph->users], ends = graph->offset[graph->nodes] - begin;
    if (rank == inmo_ranks()) /* with the items that nobody has */
        return graph->items;
    return inmo_graph_node_at(graph, graph->users, graph->nodes,
                              begin + (ends * rank + inmo_ranks() - 1) / inmo_ranks()) -
           graph->users;
}

static int64_t first_byte(const void *context, int rank)
{
    const struct solving *solving = context; /* neighbours and weights have four bytes each */
    return 4 * solving->begin[first_item(solving->graph, rank)];
}

/* All rules have the same pairs of items. */
static enum inmo_status add_spectrum(const struct solving *solving, const struct inmo_hooks *hooks,
                                     struct inmo_links **links, struct inmo_error *error)
{
    float *kernel = NULL;
    enum inmo_status status = INMO_OK;
    for (int r = 0; r < solving->rules && !status; r++) {
        const struct inmo_link_rule *rule = solving->rule + r;
        if (rule->spectrum == 0)
            continue;
        if (!kernel) {
            kernel = inmo_alloc((size_t)inmo_links_count(links[r]), sizeof *kernel);
            status = kernel ? inmo_link_spectrum(solving->graph, links[r], hooks, kernel, error)
                            : inmo_fail_memory(error, "the links between items");
        }
        if (!status)
            inmo_link_spectrum_add(solving->graph, links[r], kernel, rule->spectrum, rule->popularity,
                                   links[r]->weight, (float *)links[r]->weight);
    }
    inmo_free(kernel);
    return status;
}

enum inmo_status inmo_links_solve_all(const struct inmo_graph *graph, const struct inmo_link_rule *rule, int rules,
                                      const uint8_t *only, const struct inmo_hooks *hooks,
                                      struct inmo_links **links, struct inmo_error *error)
{
    struct solving solving = {
        .graph = graph, .rule = rule, .rules = rules < MOST_RULES ? rules : MOST_RULES, .only = only};
    enum inmo_status status;
    solving.near = (struct inmo_near){graph, rule->k, NULL, INMO_WALK_MOST, cosine, &solving, NULL};
    status = prepare(&solving, error);
    if (!status) {
        inmo_blas_hold(); /* the items run in parallel instead */
        status = inmo_near_each(graph->items, first_item(graph, inmo_own_rank()),
                                first_item(graph, inmo_own_rank() + 1), solve_item, &solving, hooks, error);
        inmo_blas_release();
        if (!status) {
            inmo_ranks_gather_cut(solving.nearest, first_byte, &solving);
            for (int r = 0; r < solving.rules; r++)
                inmo_ranks_gather_cut(solving.weight[r], first_byte, &solving);
        }
    }
    for (int r = 0; r < rules; r++)
        links[r] = NULL;
    for (int r = 0; r < solving.rules && !status; r++) {
        links[r] = turn_round(&solving, solving.weight[r]);
        if (!links[r])
            status = inmo_fail_memory(error, "the links between items");
    }
    if (!status)
        status = add_spectrum(&solving, hooks, links, error);
    for (int r = 0; r < rules && status; r++) {
        inmo_links_free(links[r]);
        links[r] = NULL;
    }
    for (int r = 0; r < solving.rules; r++)
        inmo_free(solving.weight[r]);
    inmo_free(solving.nearest);
    free_solvers(&solving);
    inmo_free(solving.root);
    inmo_free(solving.norm);
    inmo_free(solving.user_weight);
    inmo_free(solving.begin);
    return status;
}

enum inmo_status inmo_links_solve(const struct inmo_graph *graph, const struct inmo_link_rule *rule,
                                  const uint8_t *only, const struct inmo_hooks *hooks, struct inmo_links **links,
                                  struct inmo_error *error)
{
    return inmo_links_solve_all(graph, rule, 1, only, hooks, links, error);
}
