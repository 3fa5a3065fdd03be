/* represent.c - representations = model(graph): the one operation behind evaluation, serving and every inductive
 * scenario. Another graph, same model. */
#include "model/model.h"

/* Popular: the score of an item is its degree, for everybody. Exact in float up to 2^24 users. */
static void represent_popular(const struct inmo_graph *graph, float *r)
{
    for (int32_t u = 0; u < graph->users; u++)
        r[u] = 1;
    for (int32_t v = graph->users; v < graph->nodes; v++)
        r[v] = (float)inmo_graph_degree(graph, v);
}

enum inmo_status inmo_represent(const struct inmo_model_kind *kind, const struct inmo_binding *binding, int layers,
                                const float *parameter, const float *own, double alpha, float *r, float *memory,
                                struct inmo_error *error)
{
    struct inmo_provider_state *provider = NULL;
    struct inmo_moment moment = {.alpha = alpha};
    enum inmo_status status = INMO_OK;

    if (!kind->provider) {
        represent_popular(binding->graph, r);
        goto done;
    }
    provider = kind->provider->create(binding, 0, 0);
    if (!provider) {
        status = inmo_fail_memory(error, "the embeddings");
        goto done;
    }
    kind->provider->begin(provider, &moment);
    if (kind->backbone->represent(binding->graph, binding->dim, layers, own,
                                  kind->provider->forward(provider, parameter, NULL), r, memory))
        status = inmo_fail_memory(error, "the representations");
done:
    if (provider)
        kind->provider->destroy(provider);
    return status;
}
