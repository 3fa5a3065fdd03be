/* represent.c - representations = model(graph): the operation behind evaluation, serving and every inductive
 * scenario, which differ only in the graph. */
#include "base/memory.h"
#include "model/model.h"
#include "model/readout.h"

enum inmo_status inmo_represent(const struct inmo_model_kind *kind, const struct inmo_binding *binding, int layers,
                                const float *parameter, const float *own, double alpha, double popularity, float *r,
                                float *memory, struct inmo_error *error)
{
    struct inmo_provider_state *provider = NULL;
    float *scale = NULL;
    struct inmo_moment moment = {.alpha = alpha, .step = binding->sample};
    enum inmo_status status = INMO_OK;

    provider = kind->provider->create(binding, 0, 0);
    if (!provider) {
        status = inmo_fail_memory(error, "the embeddings");
        goto done;
    }
    kind->provider->begin(provider, own, &moment);
    if (kind->backbone->represent(binding->graph, binding->dim, layers,
                                  inmo_kind_backbone_own(kind, binding->dim, own),
                                  kind->provider->forward(provider, parameter, NULL), r, memory))
        status = inmo_fail_memory(error, "the representations");
    if (!status && popularity != 0) {
        scale = inmo_alloc((size_t)binding->graph->items, sizeof *scale);
        if (!scale) {
            status = inmo_fail_memory(error, "the representations");
            goto done;
        }
        inmo_readout_scales(binding->graph, popularity, scale);
        inmo_readout(binding->graph, NULL, inmo_backbone_width(kind->backbone, binding->dim, layers), scale, r);
    }
done:
    inmo_free(scale);
    if (provider)
        kind->provider->destroy(provider);
    return status;
}
