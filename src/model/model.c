/* model.c - a model's contents, and binding it to a graph by external ids. */
#include "model/model.h"

#include "base/memory.h"
#include "base/tensorfile_layout.h"

#include <pthread.h>
#include <string.h>

int64_t inmo_model_parameter_count(const struct inmo_model *model)
{
    int64_t count = 0;
    struct inmo_part part;
    for (size_t n = 0; n < model->tensors; n++)
        if (model->tensor[n].dtype == INMO_F32)
            count += model->tensor[n].rows * (model->tensor[n].columns > 0 ? model->tensor[n].columns : 1);
    if (model->kind->system)
        return count;
    for (int n = 0; inmo_model_part(model, n, &part); n++)
        count += inmo_part_size(&part, model->dim);
    return count + ((int64_t)model->rows + model->kind->provider->extra_rows) * model->dim;
}

int inmo_model_width(const struct inmo_model *model)
{
    if (model->kind->system)
        return model->kind->system->vectors ? model->dim : 0;
    return inmo_backbone_width(model->kind->backbone, model->dim, model->layers);
}

int inmo_backbone_width(const struct inmo_backbone *backbone, int dim, int layers)
{
    return backbone->width ? backbone->width(dim, layers) : dim;
}

int inmo_backbone_memory_width(const struct inmo_backbone *backbone, int dim, int layers)
{
    return backbone->memory_width ? backbone->memory_width(dim, layers) : 0;
}

int32_t inmo_backbone_rows(const struct inmo_backbone *backbone, int dim, int layers)
{
    struct inmo_part part;
    int32_t rows = 0;
    for (int n = 0; backbone->part && backbone->part(dim, layers, n, &part); n++)
        rows += part.rows;
    return rows;
}

int32_t inmo_provider_rows(const struct inmo_provider *provider, int dim)
{
    struct inmo_part part;
    int32_t rows = 0;
    for (int n = 0; provider->part && provider->part(dim, n, &part); n++)
        rows += part.rows;
    return rows;
}

int32_t inmo_own_rows(const struct inmo_model_kind *kind, int dim, int layers)
{
    return inmo_provider_rows(kind->provider, dim) + inmo_backbone_rows(kind->backbone, dim, layers) +
           inmo_head_rows(kind->head, inmo_backbone_width(kind->backbone, dim, layers), dim);
}

int inmo_model_part(const struct inmo_model *model, int n, struct inmo_part *part)
{
    const struct inmo_provider *provider = model->kind->provider;
    const struct inmo_backbone *backbone = model->kind->backbone;
    const struct inmo_head *head = model->kind->head;
    int of_provider = 0, of_backbone = 0;
    *part = (struct inmo_part){0};
    while (provider->part && of_provider <= n && provider->part(model->dim, of_provider, part))
        of_provider++;
    if (of_provider > n)
        return 1;
    n -= of_provider;
    while (backbone->part && of_backbone <= n && backbone->part(model->dim, model->layers, of_backbone, part))
        of_backbone++;
    return of_backbone > n || (head && head->part && head->part(inmo_model_width(model), n - of_backbone, part));
}

const float *inmo_model_head(const struct inmo_model *model)
{
    return inmo_kind_backbone_own(model->kind, model->dim, model->own) +
           (size_t)inmo_backbone_rows(model->kind->backbone, model->dim, model->layers) * (size_t)model->dim;
}

int inmo_regularises_output(const struct inmo_model_kind *kind)
{
    return kind->provider->regularises_output || kind->backbone->regularises_output;
}

enum inmo_status inmo_model_add_tensor(struct inmo_model *model, int64_t rows, int64_t columns, void *data,
                                       struct inmo_error *error)
{
    const struct inmo_system *system = model->kind->system;
    if (!model->tensor)
        model->tensor = inmo_alloc_zero(system->tensors, sizeof *model->tensor);
    if (!model->tensor || !data) {
        if (!model->tensor_block)
            inmo_free(data);
        return inmo_fail_memory(error, "the model");
    }
    model->tensor[model->tensors] = (struct inmo_tensor){system->tensor[model->tensors].name,
                                                         system->tensor[model->tensors].dtype, rows, columns, data};
    model->tensors++;
    return INMO_OK;
}

double inmo_model_alpha(const struct inmo_model *model)
{
    return model->alpha_one ? 1 : model->alpha_reached;
}

static struct inmo_interactions as_interactions(const struct inmo_csr *list)
{
    return (struct inmo_interactions){list->rows, list->columns, list->offset, list->column, inmo_csr_count(list)};
}

const char *inmo_model_origin(const struct inmo_model *model)
{
    return model->origin ? model->origin : "";
}

void inmo_model_interactions(const struct inmo_model *model, struct inmo_interactions *train,
                             struct inmo_interactions *valid)
{
    *train = as_interactions(&model->train);
    *valid = as_interactions(&model->valid);
}

void inmo_model_ids(const struct inmo_model *model, struct inmo_id_table *users, struct inmo_id_table *items)
{
    *users = (struct inmo_id_table){model->users.count, model->users.offset, model->users.text};
    *items = (struct inmo_id_table){model->items.count, model->items.offset, model->items.text};
}

void inmo_model_extra_ids(const struct inmo_model *model, struct inmo_id_table *users, struct inmo_id_table *items)
{
    *users = (struct inmo_id_table){model->extra_users.count, model->extra_users.offset, model->extra_users.text};
    *items = (struct inmo_id_table){model->extra_items.count, model->extra_items.offset, model->extra_items.text};
}

void inmo_model_seen(const struct inmo_model *model, struct inmo_interactions *seen)
{
    *seen = as_interactions(&model->seen);
}

const char *inmo_model_preparation(const struct inmo_model *model)
{
    return model->preparation;
}

void inmo_model_info(const struct inmo_model *model, struct inmo_model_info *info)
{
    *info = (struct inmo_model_info){
        .name = model->kind->name,
        .dim = model->kind->system && !model->kind->system->vectors ? 0 : model->dim,
        .layers = model->layers,
        .users = model->users.count,
        .items = model->items.count,
        .parameters = inmo_model_parameter_count(model),
        .interactions = inmo_csr_count(&model->train),
        .configuration = model->configuration,
        .record = model->record,
    };
    for (int32_t r = 0; model->node_of_row && r < model->rows; r++) {
        info->user_templates += model->node_of_row[r] < model->users.count;
        info->item_templates += model->node_of_row[r] >= model->users.count;
    }
}

int inmo_model_tensor(const struct inmo_model *model, size_t n, struct inmo_tensor_info *info)
{
    const struct inmo_tensor *tensor;
    if (n >= model->tensors)
        return 0;
    tensor = model->tensor + n;
    *info = (struct inmo_tensor_info){tensor->name, inmo_dtype_name(tensor->dtype), tensor->rows, tensor->columns,
                                      tensor->data};
    return 1;
}

void inmo_model_free(struct inmo_model *model)
{
    if (!model)
        return;
    inmo_idmap_drop_index(&model->items);
    inmo_idmap_drop_index(&model->users);
    for (size_t n = 0; n < model->tensors && !model->file && !model->tensor_block; n++)
        inmo_free((void *)model->tensor[n].data);
    inmo_free(model->tensor_block);
    inmo_free(model->tensor);
    if (!model->file) {
        inmo_free((void *)model->parameter);
        inmo_free((void *)model->node_of_row);
        inmo_csr_free(&model->seen);
        inmo_free((void *)model->extra_items.text);
        inmo_free((void *)model->extra_items.offset);
        inmo_free((void *)model->extra_users.text);
        inmo_free((void *)model->extra_users.offset);
        inmo_csr_free(&model->untrained);
        inmo_csr_free(&model->valid);
        inmo_csr_free(&model->train);
        inmo_free((void *)model->items.text);
        inmo_free((void *)model->items.offset);
        inmo_free((void *)model->users.text);
        inmo_free((void *)model->users.offset);
    }
    inmo_titles_free(model->titles);
    inmo_links_free(model->linked);
    inmo_free(model->own);
    inmo_free(model->owned_nodes);
    inmo_tensorfile_close(model->file);
    inmo_free(model->preparation);
    inmo_free(model->record);
    inmo_free(model->origin);
    inmo_free(model->configuration);
    inmo_free(model);
}

void inmo_model_unbind(struct inmo_model_binding *bound)
{
    inmo_free(bound->graph_item);
    inmo_free(bound->model_item);
    inmo_free(bound->model_user);
    inmo_free(bound->node_of_row);
    inmo_free(bound->row_of_node);
    *bound = (struct inmo_model_binding){0};
}

/* map[n] = number in the model of the graph's n-th id. Uses a temporary index, as the model is const. */
static enum inmo_status match_ids(const struct inmo_idmap *theirs, const struct inmo_idmap *ours, int32_t *map,
                                  struct inmo_error *error)
{
    struct inmo_idmap indexed = *ours;
    enum inmo_status status;
    indexed.slot = NULL;
    status = inmo_idmap_index(&indexed, error);
    if (status)
        return status;
    for (int32_t n = 0; n < theirs->count; n++)
        map[n] = inmo_idmap_find(&indexed, inmo_idmap_id(theirs, n));
    inmo_idmap_drop_index(&indexed);
    return INMO_OK;
}

/* Derives row_of_node and node_of_row of the graph from those of the model. */
static void bind_rows(const struct inmo_model *model, const struct inmo_graph *graph, const int32_t *graph_node,
                      struct inmo_model_binding *bound)
{
    memset(bound->row_of_node, 0xff, (size_t)graph->nodes * sizeof(int32_t));
    for (int32_t r = 0; r < model->rows; r++) {
        int32_t node = graph_node[model->node_of_row ? model->node_of_row[r] : r];
        bound->node_of_row[r] = node;
        if (node >= 0)
            bound->row_of_node[node] = r;
    }
}

static enum inmo_status make_binding(const struct inmo_model *model, const struct inmo_graph *graph,
                                     struct inmo_model_binding *made, struct inmo_error *error)
{
    made->row_of_node = inmo_alloc((size_t)graph->nodes, sizeof(int32_t));
    made->node_of_row = inmo_alloc((size_t)model->rows, sizeof(int32_t));
    made->model_user = inmo_alloc((size_t)graph->users, sizeof(int32_t));
    made->model_item = inmo_alloc((size_t)graph->items, sizeof(int32_t));
    made->graph_item = inmo_alloc((size_t)model->items.count, sizeof(int32_t));
    return made->row_of_node && made->node_of_row && made->model_user && made->model_item && made->graph_item
               ? INMO_OK
               : inmo_fail_memory(error, "matching the model to the graph");
}

/* Derives the rest from model_user and model_item. */
static enum inmo_status finish_binding(const struct inmo_model *model, const struct inmo_graph *graph,
                                       struct inmo_model_binding *made, struct inmo_error *error)
{
    size_t model_nodes = (size_t)model->users.count + (size_t)model->items.count;
    int32_t *graph_node =
        inmo_alloc(model_nodes, sizeof *graph_node);  // node of the model -> node of the graph, or -1
    if (!graph_node)
        return inmo_fail_memory(error, "matching the model to the graph");
    memset(graph_node, 0xff, model_nodes * sizeof *graph_node);
    for (int32_t u = 0; u < graph->users; u++)
        if (made->model_user[u] >= 0)
            graph_node[made->model_user[u]] = u;
    for (int32_t i = 0; i < graph->items; i++)
        if (made->model_item[i] >= 0)
            graph_node[model->users.count + made->model_item[i]] = graph->users + i;
    for (int32_t i = 0; i < model->items.count; i++) {
        int32_t node = graph_node[model->users.count + i];
        made->graph_item[i] = node < 0 ? -1 : node - graph->users;
    }
    bind_rows(model, graph, graph_node, made);
    made->graph = graph;
    made->binding = (struct inmo_binding){.graph = graph,
                                          .dim = model->dim,
                                          .rows = model->rows,
                                          .row_of_node = made->row_of_node,
                                          .node_of_row = made->node_of_row,
                                          .shared_attention = model->shared_attention};
    while (model->node_of_row && made->binding.user_rows < model->rows &&
           model->node_of_row[made->binding.user_rows] < model->users.count)
        made->binding.user_rows++;
    inmo_free(graph_node);
    return INMO_OK;
}

enum inmo_status inmo_model_bind(const struct inmo_model *model, const struct inmo_graph *graph,
                                 const struct inmo_idmap *users, const struct inmo_idmap *items,
                                 struct inmo_model_binding *bound, struct inmo_error *error)
{
    struct inmo_model_binding made = {0};
    enum inmo_status status = make_binding(model, graph, &made, error);
    if (!status)
        status = match_ids(users, &model->users, made.model_user, error);
    if (!status)
        status = match_ids(items, &model->items, made.model_item, error);
    if (!status)
        status = finish_binding(model, graph, &made, error);
    if (status)
        inmo_model_unbind(&made);
    else
        *bound = made;
    return status;
}

/* map[n] = n for nodes of the model, -1 for others and for dropped ones. */
static void number_alike(int32_t known, int32_t count, const uint8_t *fate, uint8_t dropped, int32_t *map)
{
    for (int32_t n = 0; n < count; n++)
        map[n] = n < known && !(fate && (fate[n] & dropped)) ? n : -1;
}

enum inmo_status inmo_model_bind_numbered(const struct inmo_model *model, const struct inmo_graph *graph,
                                          const uint8_t *fate, uint8_t dropped, struct inmo_model_binding *bound,
                                          struct inmo_error *error)
{
    struct inmo_model_binding made = {0};
    enum inmo_status status = make_binding(model, graph, &made, error);
    if (!status) {
        number_alike(model->users.count, graph->users, fate, dropped, made.model_user);
        number_alike(model->items.count, graph->items, fate ? fate + graph->users : NULL, dropped, made.model_item);
        status = finish_binding(model, graph, &made, error);
    }
    if (status)
        inmo_model_unbind(&made);
    else
        *bound = made;
    return status;
}

enum inmo_status inmo_model_index(const struct inmo_model *model, struct inmo_error *error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct inmo_model *indexed = (struct inmo_model *)model; /* the index is invisible to callers */
    enum inmo_status status;
    pthread_mutex_lock(&lock);
    status = inmo_idmap_index(&indexed->users, error);
    if (!status)
        status = inmo_idmap_index(&indexed->items, error);
    pthread_mutex_unlock(&lock);
    return status;
}
