/* links.c - see links.h. */
#include "score/links.h"

#include "base/memory.h"
#include "score/link_solve.h"

#include <math.h>
#include <stdlib.h>

enum { AHEAD = 4 };

/* ---- Binding ------------------------------------------------------------------------------------------------- */

/* Items with users that the model does not know. Returns NULL if there are none, or with *short_of set. */
static uint8_t *find_unknown(const struct inmo_model_binding *bound, int *is_same, int *short_of)
{
    const struct inmo_graph *graph = bound->graph;
    uint8_t *unknown = inmo_alloc_zero((size_t)graph->items, 1);
    int found = 0;
    *short_of = !unknown;
    for (int32_t i = 0; unknown && i < graph->items; i++) {
        *is_same = *is_same && bound->model_item[i] == i;
        if (bound->model_item[i] < 0 && inmo_graph_degree(graph, graph->users + i) > 0)
            found = unknown[i] = 1;
    }
    if (found)
        return unknown;
    inmo_free(unknown);
    return NULL;
}

struct entry {
    int32_t item;
    float weight;
};

static int by_item(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->item > y->item) - (x->item < y->item);
}

/* The model's links in the graph's numbers, and new ones (may be NULL) beside them. */
static struct inmo_links *merge(const struct inmo_links *linked, const struct inmo_model_binding *bound,
                                const struct inmo_links *new)
{
    int32_t items = bound->graph->items;
    int64_t at = 0;
    struct inmo_links *links = inmo_links_new(items, inmo_links_count(linked) + (new ? inmo_links_count(new) : 0));
    struct entry *row = inmo_alloc(2 * (size_t)items, sizeof *row);
    for (int32_t j = 0; links && row && j < items; j++) {
        int32_t own = bound->model_item[j], count = 0;
        for (int64_t e = own >= 0 ? linked->offset[own] : 0; own >= 0 && e < linked->offset[own + 1]; e++) {
            int32_t i = bound->graph_item[linked->item[e]];
            if (i >= 0)
                row[count++] = (struct entry){i, linked->weight[e]};
        }
        for (int64_t e = new ? new->offset[j] : 0; new &&e < new->offset[j + 1]; e++)
            row[count++] = (struct entry){new->item[e], new->weight[e]};
        qsort(row, (size_t)count, sizeof *row, by_item);
        for (int32_t n = 0; n < count; n++, at++) {
            ((int32_t *)links->item)[at] = row[n].item;
            ((float *)links->weight)[at] = row[n].weight;
        }
        ((int64_t *)links->offset)[j + 1] = at;
    }
    if (!row) {
        inmo_links_free(links);
        links = NULL;
    }
    inmo_free(row);
    return links;
}

/* Regressions on more data predict better, and higher numbers, so those of training would fall behind those of new
 * items. A few per cent do not matter; beyond that, all are solved on what has been observed. */
int inmo_links_are_outgrown(const struct inmo_model *model, const struct inmo_model_binding *bound)
{
    return inmo_links_growth(model, bound) > 0.05;
}

int64_t inmo_links_known(const struct inmo_model *model, const struct inmo_model_binding *bound)
{
    const struct inmo_graph *graph = bound->graph;
    int64_t known = inmo_csr_count(&model->train);
    for (int32_t u = 0; u < graph->users; u++) { /* a graph need not have what the model was validated on */
        int32_t own = bound->model_user[u];
        for (int64_t e = 0; own >= 0 && e < inmo_csr_degree(&model->valid, own); e++) {
            int32_t i = bound->graph_item[model->valid.column[model->valid.offset[own] + e]];
            known += i >= 0 && inmo_holds(inmo_graph_row(graph, u), inmo_graph_degree(graph, u), graph->users + i);
        }
    }
    return known;
}

double inmo_links_growth(const struct inmo_model *model, const struct inmo_model_binding *bound)
{
    int64_t known = inmo_links_known(model, bound);
    return known > 0 ? (double)bound->graph->edges / (double)known - 1 : 0;
}

enum inmo_status inmo_links_bind(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                 const struct inmo_hooks *hooks, struct inmo_links **out, struct inmo_error *error)
{
    struct inmo_links *links = NULL, *new = NULL;
    uint8_t *unknown = NULL;
    int is_same = bound->graph->items == model->items.count, short_of = 0;
    enum inmo_status status = INMO_OK;
    if (!model->linked || inmo_links_are_outgrown(model, bound)) {
        status = inmo_links_solve(bound->graph, &model->link_rule, NULL, hooks, &links, error);
    } else {
        unknown = find_unknown(bound, &is_same, &short_of);
        if (unknown)
            status = inmo_links_solve(bound->graph, &model->link_rule, unknown, hooks, &new, error);
        if (!status && !short_of && is_same) {
            links = inmo_alloc(1, sizeof *links);
            if (links) {
                *links = *model->linked;
                links->owned = NULL;
            }
        } else if (!status && !short_of) {
            links = merge(model->linked, bound, new);
        }
        if (!status && !links)
            status = inmo_fail_memory(error, "the links between items");
    }
    if (!status)
        links->factor = (float)model->links;
    *out = links;
    inmo_links_free(new);
    inmo_free(unknown);
    return status;
}

/* ---- Use ----------------------------------------------------------------------------------------------------- */

void inmo_links_add(const struct inmo_links *links, const int32_t *node, const float *share, int32_t count,
                    int32_t first, struct inmo_sums *sums)
{
    for (int32_t n = 0; n < count; n++) {
        int32_t j = node[n] - first;
        float factor = share ? links->factor * sqrtf(share[n]) : links->factor;
        if (n + AHEAD < count) { /* rows lie anywhere: asks the memory for one that will be read soon */
            int64_t next = links->offset[node[n + AHEAD] - first];
            __builtin_prefetch(links->item + next);
            __builtin_prefetch(links->weight + next);
        }
        for (int64_t e = links->offset[j]; e < links->offset[j + 1]; e++)
            inmo_sums_add(sums, links->item[e], factor * links->weight[e]);
    }
}

int64_t inmo_links_most(const struct inmo_links *links, const int32_t *node, int32_t count, int32_t first)
{
    int64_t most = 0;
    for (int32_t n = 0; n < count && most < links->items; n++)
        most += links->offset[node[n] - first + 1] - links->offset[node[n] - first];
    return most < links->items ? most : links->items;
}

float inmo_links_between(const struct inmo_links *links, int32_t j, int32_t i)
{
    const int32_t *at = links->item + links->offset[j];
    int64_t low = 0, high = links->offset[j + 1] - links->offset[j];
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (at[middle] == i)
            return links->factor * links->weight[links->offset[j] + middle];
        if (at[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}
