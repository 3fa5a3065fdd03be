/* loss.c - the table of losses, and what several of them share. */
#include "loss/loss.h"

#include "base/threads.h"
#include "kernel/kernel.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct inmo_loss *const table[] = {
    &inmo_loss_bpr, &inmo_loss_softmax, &inmo_loss_listwise, &inmo_loss_bce, &inmo_loss_directau,
};
enum { LOSSES = sizeof table / sizeof *table };

const struct inmo_loss *inmo_loss_find(const char *name)
{
    for (size_t n = 0; n < LOSSES; n++)
        if (strcmp(table[n]->name, name) == 0)
            return table[n];
    return NULL;
}

/* Texts of the table, written once. */
static char names[256], help[1024], names_for_heads[256];
static pthread_once_t written = PTHREAD_ONCE_INIT;

static void append(char *text, size_t size, const char *before, const char *what)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length > 0 ? before : "", what);
}

static void write_texts(void)
{
    for (size_t n = 0; n < LOSSES; n++) {
        append(names, sizeof names, "|", table[n]->name);
        append(help, sizeof help, "; ", table[n]->name);
        append(help, sizeof help, ": ", table[n]->help);
        if (table[n]->judge_pairs)
            append(names_for_heads, sizeof names_for_heads, " or ", table[n]->name);
    }
    append(help, sizeof help, ". neumf models: ", names_for_heads);
    append(help, sizeof help, ".", "");
}

const char *inmo_loss_names(void)
{
    pthread_once(&written, write_texts);
    return names;
}

const char *inmo_loss_help(void)
{
    pthread_once(&written, write_texts);
    return help;
}

const char *inmo_loss_names_for_heads(void)
{
    pthread_once(&written, write_texts);
    return names_for_heads;
}

int64_t inmo_loss_steps(const struct inmo_graph *graph, int32_t batch)
{
    return (graph->edges + batch - 1) / batch;
}

void inmo_loss_name_nodes(const struct inmo_graph *graph, int32_t users, int32_t places,
                          struct inmo_grouping *grouping)
{
    int32_t *number = grouping->number;
    /* draws use the data set's numbers, so that the order of the nodes does not change them */
    for (int32_t n = 0; n < places; n++)
        number[n] = inmo_graph_place(graph, n < users ? number[n] : graph->users + number[n]);
    inmo_grouping_set(grouping, places);
}

void inmo_loss_sum_places(const struct inmo_grouping *grouping, int dim, const float *gradient, float *dr)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t d = (size_t)dim;
#pragma omp parallel for schedule(dynamic, 16) num_threads(inmo_threads())
    for (int32_t n = 0; n < grouping->rows.count; n++) {
        float *sum = dr + (size_t)n * d;
        memset(sum, 0, d * sizeof *sum);
        for (int32_t e = grouping->offset[n]; e < grouping->offset[n + 1]; e++)
            kernels->add_scaled(dim, 1, gradient + (size_t)grouping->entry[e] * d, sum);
    }
}

void inmo_loss_weigh_places(const struct inmo_grouping *grouping, int32_t users, int32_t counted, double of_user,
                            double of_item, float *weight)
{
    for (int32_t n = 0; n < grouping->rows.count; n++) {
        int32_t places = 0;
        for (int32_t e = grouping->offset[n]; e < grouping->offset[n + 1]; e++)
            places += grouping->entry[e] < counted;
        weight[n] = (float)(places * (grouping->node[n] < users ? of_user : of_item));
    }
}
