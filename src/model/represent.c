/* represent.c - representations = model(graph): the one operation behind evaluation, serving and every inductive
 * scenario. Another graph, same model. */
#include "model/model.h"

enum inmo_status inmo_represent(const struct inmo_model_kind *kind, const struct inmo_binding *binding, int layers,
                                const float *parameter, const float *own, double alpha, float *r, float *memory,
                                struct inmo_error *error)
{
    struct inmo_provider_state *provider = NULL;
    struct inmo_moment moment = {.alpha = alpha};
    enum inmo_status status = INMO_OK;

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
