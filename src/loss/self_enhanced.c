/* self_enhanced.c - see self_enhanced.h. */
#include "loss/self_enhanced.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "loss/triples.h"
#include "ranks/ranks.h"

void inmo_self_enhanced_free(struct inmo_self_enhanced *self)
{
    inmo_free(self->index);
    inmo_free(self->node);
    inmo_free(self->row);
    inmo_free(self->term);
    inmo_free(self->coefficient);
    inmo_free(self->partial);
    inmo_free(self->gradient);
    inmo_sampler_free(&self->sampler);
    inmo_csr_free(&self->list);
    *self = (struct inmo_self_enhanced){0};
}

/* Lists the interactions between templates, as positions among the template users and the template items. */
static enum inmo_status list_interactions(const struct inmo_binding *binding, struct inmo_csr *list,
                                          struct inmo_error *error)
{
    const struct inmo_graph *graph = binding->graph;
    int32_t rows = binding->user_rows, columns = binding->rows - rows;
    int64_t *offset = inmo_alloc((size_t)rows + 1, sizeof *offset), count = 0;
    int32_t *column = NULL, *scratch = inmo_alloc((size_t)graph->items, sizeof *scratch);
    for (int fill = 0; fill < 2; fill++) {
        if (fill)
            column = inmo_alloc((size_t)count, sizeof *column);
        if (!offset || !scratch || (fill && !column)) {
            inmo_free(scratch);
            inmo_free(offset);
            return inmo_fail_memory(error, "the templates' interactions");
        }
        count = 0;
        for (int32_t r = 0; r < rows; r++) {
            int32_t u = binding->node_of_row[r];
            const int32_t *neighbour = inmo_graph_read_user(graph, u, scratch);
            int64_t degree = inmo_graph_degree(graph, u);
            offset[r] = count;
            for (int64_t e = 0; e < degree; e++) {
                int32_t other = binding->row_of_node[neighbour[e]];
                if (other >= 0) {
                    if (fill)
                        column[count] = other - rows;
                    count++;
                }
            }
        }
        offset[rows] = count;
    }
    inmo_free(scratch);
    *list = (struct inmo_csr){rows, columns, offset, column, NULL};
    return INMO_OK;
}

enum inmo_status inmo_self_enhanced_make(const struct inmo_binding *binding, int64_t diagonal,
                                         const struct inmo_train_options *options, struct inmo_self_enhanced *out,
                                         struct inmo_error *error)
{
    size_t batch = (size_t)options->batch, dim = (size_t)binding->dim;
    struct inmo_self_enhanced self = {
        .binding = binding,
        .diagonal = diagonal,
        .batch = options->batch,
        .seed = options->seed,
        .weight = options->self_weight,
        .gradient = inmo_alloc(3 * batch * dim, sizeof(float)),
        .partial = inmo_alloc((batch / INMO_TRIPLES_CHUNK + 1) * dim, sizeof(float)),
        .coefficient = inmo_alloc(batch, sizeof(float)),
        .term = inmo_alloc(3 * batch / INMO_TRIPLES_CHUNK + 2, sizeof(double)),
    };
    enum inmo_status status = list_interactions(binding, &self.list, error);
    if (inmo_ranks() > 1) {
        self.row = inmo_alloc(3 * batch * dim, sizeof(float));
        self.node = inmo_alloc(3 * batch, sizeof(int32_t));
        self.index = inmo_alloc(3 * batch, sizeof(int32_t));
    }
    if (!status && (!self.gradient || !self.partial || !self.coefficient || !self.term ||
                    (inmo_ranks() > 1 && (!self.row || !self.node || !self.index))))
        status = inmo_fail_memory(error, "the self-enhanced loss");
    /* Templates without interactions are not an error: the loss is 0. */
    if (!status && inmo_sampler_make(&self.list, &self.sampler, error) == INMO_MEMORY)
        status = INMO_MEMORY;
    if (status)
        inmo_self_enhanced_free(&self);
    else
        *out = self;
    return status;
}

void inmo_self_enhanced_draw(const struct inmo_self_enhanced *self, int64_t step, struct inmo_grouping *grouping)
{
    int32_t batch = self->batch, *number = grouping->number;
    inmo_sampler_draw(&self->sampler, inmo_key(self->seed, INMO_STREAM_SELF_BATCH), step * batch, batch, number,
                      number + batch, number + 2 * batch);
    for (int32_t n = batch; n < 3 * batch; n++)
        number[n] += self->binding->user_rows;
    inmo_grouping_set(grouping, 3 * batch);
}

/* x: the rows that index names, of the block or of the grouping. Leaves the gradients by rows of the grouping. */
static double run(const struct inmo_self_enhanced *self, const struct inmo_grouping *grouping, const float *x,
                  const int32_t *index, const float *w, float *dw)
{
    struct inmo_triples triples = {
        .batch = self->batch,
        .dim = self->binding->dim,
        .factor = self->weight / self->batch,
        .x = x,
        .index = index,
        .w = w,
        .coefficient = self->coefficient,
        .term = self->term,
    };
    double loss = inmo_triples_forward(&triples);
    inmo_triples_backward(&triples, grouping, self->gradient);
    inmo_triples_backward_w(&triples, self->partial, dw);
    return loss;
}

static void add_gradients(const struct inmo_self_enhanced *self, const struct inmo_grouping *grouping,
                          const int32_t *index, float *gradient)
{
    size_t dim = (size_t)self->binding->dim;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < grouping->rows.count; n++)
        if (index[n] >= 0)
            inmo_kernels()->add_scaled(self->binding->dim, 1, self->gradient + (size_t)n * dim,
                                       gradient + (size_t)index[n] * dim);
}

double inmo_self_enhanced_run(const struct inmo_self_enhanced *self, const struct inmo_grouping *grouping,
                              const float *parameter, float *gradient)
{
    size_t w = (size_t)self->diagonal * (size_t)self->binding->dim;
    double loss = run(self, grouping, parameter, grouping->number, parameter + w, gradient + w);
    add_gradients(self, grouping, grouping->node, gradient);
    return loss;
}

double inmo_self_enhanced_run_rows(const struct inmo_self_enhanced *self, const struct inmo_grouping *grouping,
                                   const float *row, const float *w, const int32_t *index, float *gradient,
                                   float *dw)
{
    double loss = run(self, grouping, row, grouping->row, w, dw);
    add_gradients(self, grouping, index, gradient);
    return loss;
}
