/* test_mult_vae.c - the network of mult-vae: its loss beside a naive twin in double, its gradient beside central
 * differences of that twin, the same bytes at any number of threads. */
#include "support.h"

#include "base/random.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "model/system/mult_vae.h"

/* docs/math.md, "mult-vae", term by term: no tiles, no blocks, no shifting of exponents. */
static double naive_loss(const struct inmo_graph *graph, const struct inmo_vae_shape *shape, const double *w,
                         const struct inmo_vae_step *step)
{
    enum { MOST = 16 };
    int d = shape->hidden, z = shape->latent;
    const double *in = w + inmo_vae_begin(shape, INMO_VAE_IN),
                 *in_bias = w + inmo_vae_begin(shape, INMO_VAE_IN_BIAS);
    const double *code = w + inmo_vae_begin(shape, INMO_VAE_CODE);
    const double *code_bias = w + inmo_vae_begin(shape, INMO_VAE_CODE_BIAS);
    const double *back = w + inmo_vae_begin(shape, INMO_VAE_BACK);
    const double *back_bias = w + inmo_vae_begin(shape, INMO_VAE_BACK_BIAS);
    const double *out = w + inmo_vae_begin(shape, INMO_VAE_OUT),
                 *out_bias = w + inmo_vae_begin(shape, INMO_VAE_OUT_BIAS);
    uint32_t drop = (uint32_t)inmo_random(inmo_key(step->seed, INMO_STREAM_DROP_USER), (uint64_t)step->step);
    uint64_t latent = inmo_random(inmo_key(step->seed, INMO_STREAM_LATENT), (uint64_t)step->step);
    double loss = 0, squares = 0;
    assert_true(d <= MOST);
    for (int32_t b = 0; b < step->count; b++) {
        int32_t u = step->user[b];
        double first[MOST], last[MOST], sample[MOST], all = 0, taken = 0,
                                                      degree = (double)inmo_graph_degree(graph, u);
        for (int j = 0; j < d; j++)
            first[j] = in_bias[j];
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            int32_t i = graph->neighbour[e] - graph->users;
            if (inmo_drop_keeps(drop, (uint32_t)(step->dropout * 4294967296.0), (uint32_t)u, (uint32_t)i))
                for (int j = 0; j < d; j++)
                    first[j] += in[i * d + j] / sqrt(degree) / (1 - step->dropout);
        }
        for (int k = 0; k < z; k++) {
            double mean = code_bias[k], log_variance = code_bias[z + k];
            for (int j = 0; j < d; j++) {
                mean += code[k * d + j] * tanh(first[j]);
                log_variance += code[(z + k) * d + j] * tanh(first[j]);
            }
            sample[k] = mean + exp(log_variance / 2) * inmo_random_normal(latent, (uint64_t)(u * z + k));
            loss += step->kl_weight * (exp(log_variance) + mean * mean - 1 - log_variance) / 2;
        }
        for (int j = 0; j < d; j++) {
            double sum = back_bias[j];
            for (int k = 0; k < z; k++)
                sum += back[j * z + k] * sample[k];
            last[j] = tanh(sum);
        }
        for (int32_t i = 0; i < shape->items; i++) {
            double score = out_bias[i];
            for (int j = 0; j < d; j++)
                score += out[i * d + j] * last[j];
            all += exp(score);
            for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++)
                taken += graph->neighbour[e] - graph->users == i ? score : 0;
        }
        loss += degree * log(all) - taken;
    }
    for (int t = 0; t < INMO_VAE_TENSORS; t += 2) /* the biases are the odd ones */
        for (int64_t n = inmo_vae_begin(shape, (enum inmo_vae_tensor)t);
             n < inmo_vae_begin(shape, (enum inmo_vae_tensor)(t + 1)); n++)
            squares += w[n] * w[n];
    return loss / step->count + step->l2 * squares;
}

struct world {
    struct inmo_graph *graph;
    struct inmo_vae_shape shape;
    int64_t size;
    float *parameter, *gradient;
    double *exact;
    int32_t *user;
    struct inmo_vae_step step;
};

/* Each user has 3 to 9 items; every second one is in the batch, so that the gathers have something to pass over. */
static struct world make_world(int users, int items, int dim, double dropout)
{
    struct inmo_error error = {0};
    struct world world = {.shape = inmo_vae_shape(items, dim)};
    int64_t *offset = inmo_alloc_zero((size_t)users + 1, sizeof *offset);
    int32_t *column = inmo_alloc((size_t)users * 9, sizeof *column);
    uint64_t key = inmo_key(4, 98);
    for (int u = 0; u < users; u++) {
        int count = 3 + u % 7;
        offset[u + 1] = offset[u];
        for (int n = 0; n < count; n++) { /* one of each of count equal stretches: ascending, none twice */
            int low = n * items / count, high = (n + 1) * items / count;
            column[offset[u + 1]++] =
                low + (int32_t)inmo_random_below(inmo_random(key, (uint64_t)(9 * u + n)), (uint32_t)(high - low));
        }
    }
    struct inmo_csr list = {users, items, offset, column, NULL};
    const struct inmo_csr *lists[1] = {&list};
    must(inmo_graph_build(users, items, lists, 1, &world.graph, &error));
    inmo_csr_free(&list);
    world.size = inmo_vae_begin(&world.shape, INMO_VAE_TENSORS);
    world.parameter = inmo_alloc((size_t)world.size, sizeof(float));
    world.gradient = inmo_alloc((size_t)world.size, sizeof(float));
    world.exact = inmo_alloc((size_t)world.size, sizeof(double));
    for (int64_t n = 0; n < world.size; n++) {
        world.parameter[n] = (float)(0.5 * inmo_random_normal(key, 100000 + (uint64_t)n));
        world.exact[n] = world.parameter[n];
    }
    world.user = inmo_alloc((size_t)users, sizeof *world.user);
    world.step = (struct inmo_vae_step){
        .user = world.user, .dropout = dropout, .kl_weight = 0.2, .l2 = 0.01, .seed = 3, .step = 7};
    for (int u = users - 1; u >= 0; u -= 2)
        world.user[world.step.count++] = u;
    return world;
}

static void free_world(struct world *world)
{
    inmo_free(world->user);
    inmo_free(world->exact);
    inmo_free(world->gradient);
    inmo_free(world->parameter);
    inmo_graph_free(world->graph);
}

/* Every stride-th parameter, and the ends of every tensor. */
static void check_gradient(struct world *world, int64_t stride)
{
    struct inmo_vae *vae = inmo_vae_new(world->graph, &world->shape, world->step.count);
    double loss = inmo_vae_gradient(vae, world->parameter, &world->step, world->gradient);
    double expected = naive_loss(world->graph, &world->shape, world->exact, &world->step);
    assert_near(loss, expected, 1e-5 * fabs(expected));
    for (int t = 0; t < INMO_VAE_TENSORS; t++) {
        int64_t begin = inmo_vae_begin(&world->shape, (enum inmo_vae_tensor)t);
        int64_t end = inmo_vae_begin(&world->shape, (enum inmo_vae_tensor)(t + 1));
        for (int64_t n = begin; n < end; n = n == end - 1 ? end : n + stride < end ? n + stride : end - 1) {
            double kept = world->exact[n], change = 1e-4, difference;
            world->exact[n] = kept + change;
            difference = naive_loss(world->graph, &world->shape, world->exact, &world->step);
            world->exact[n] = kept - change;
            difference -= naive_loss(world->graph, &world->shape, world->exact, &world->step);
            world->exact[n] = kept;
            assert_near(world->gradient[n], difference / (2 * change), 2e-5 * fmax(1, fabs(world->gradient[n])));
        }
    }
    inmo_vae_free(vae);
}

static void test_gradient(void **state)
{
    (void)state;
    for (int n = 0; n < 3; n++) {
        struct world world = make_world(14, 31, 3 + 2 * n, 0.25 * n);
        check_gradient(&world, 1);
        free_world(&world);
    }
}

/* 150 users are two blocks, 1100 items three tiles; both end in the middle of one. */
static void test_blocks(void **state)
{
    struct world world = make_world(300, 1100, 6, 0.5);
    (void)state;
    check_gradient(&world, 997);
    free_world(&world);
}

static void test_same_bytes(void **state)
{
    struct world world = make_world(300, 1100, 16, 0.5);
    float *again = inmo_alloc((size_t)world.size, sizeof *again);
    struct inmo_vae *vae = inmo_vae_new(world.graph, &world.shape, world.step.count);
    double loss = inmo_vae_gradient(vae, world.parameter, &world.step, world.gradient);
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        inmo_set_threads(threads);
        assert_true(inmo_vae_gradient(vae, world.parameter, &world.step, again) == loss);
        assert_memory_equal(again, world.gradient, (size_t)world.size * sizeof *again);
    }
    inmo_set_threads(1);
    world.step.step++; /* another step has other samples and drops other entries */
    assert_true(inmo_vae_gradient(vae, world.parameter, &world.step, again) != loss);
    inmo_vae_free(vae);
    inmo_free(again);
    free_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_same_bytes),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
