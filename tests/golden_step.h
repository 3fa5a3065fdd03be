/* golden_step.h - for the tests of training steps: a file of tests/golden (numpy, float64, from docs/math.md
 * alone) opened as a run of the C code, and finite differences of its loss. */
#ifndef INMO_TESTS_GOLDEN_STEP_H
#define INMO_TESTS_GOLDEN_STEP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernel/kernel.h"
#include "model/provider/attention.h"
#include "train/step.h"
#include "train/trainer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 1: interactions get weights, which the golden numbers do not have; for finite differences. */
static int golden_weights;

/* A golden file opened as a run of the C code on the same graph with the same options. */
struct golden {
    json_t *json;
    int64_t offset[64];
    int32_t column[256];
    float weight[256];
    struct inmo_csr train;
    struct inmo_graph *graph;
    struct inmo_train_options options;
    struct inmo_stepper *stepper;
};

static inline double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static inline void open_golden(const char *name, const char *loss, double popularity, struct golden *golden)
{
    char path[512];
    json_t *edges;
    struct inmo_error error = {0};
    const struct inmo_csr *lists[1] = {&golden->train};
    int32_t users, items;
    memset(golden, 0, sizeof *golden);
    snprintf(path, sizeof path, "%s/golden/%s.json", INMO_TEST_DIR, name);
    golden->json = json_load_file(path, 0, NULL);
    assert_non_null(golden->json);
    users = (int32_t)number(golden->json, "users");
    items = (int32_t)number(golden->json, "items");
    edges = json_object_get(golden->json, "edges");
    for (size_t e = 0; e < json_array_size(edges); e++) { /* ascending by user, then item */
        json_t *edge = json_array_get(edges, e);
        golden->column[e] = (int32_t)json_integer_value(json_array_get(edge, 1));
        for (int32_t u = (int32_t)json_integer_value(json_array_get(edge, 0)); u < users; u++)
            golden->offset[u + 1] = (int64_t)e + 1;
    }
    for (size_t e = 0; e < json_array_size(edges); e++)
        golden->weight[e] = 0.25f + (float)(e * 7 % 11) / 4;
    golden->train =
        (struct inmo_csr){users, items, golden->offset, golden->column, golden_weights ? golden->weight : NULL};
    assert_int_equal(inmo_graph_build(users, items, lists, 1, &golden->graph, &error), INMO_OK);
    assert_int_equal(inmo_train_options_init(&golden->options,
                                             json_string_value(json_object_get(golden->json, "model")), "paper",
                                             &error),
                     INMO_OK);
    golden->options.dim = (int)number(golden->json, "dim");
    golden->options.layers = (int)number(golden->json, "layers");
    golden->options.batch = (int)number(golden->json, "batch");
    golden->options.seed = (uint64_t)number(golden->json, "seed");
    golden->options.learning_rate = number(golden->json, "learning_rate");
    golden->options.l2 = number(golden->json, "l2");
    golden->options.dropout = number(golden->json, "dropout");
    if (json_object_get(golden->json, "graph_dropout")) {
        golden->options.graph_dropout = number(golden->json, "graph_dropout");
        golden->options.init = json_string_value(json_object_get(golden->json, "init"));
    }
    golden->options.self_weight = number(golden->json, "self_weight");
    golden->options.annealing = number(golden->json, "annealing");
    golden->options.init_scale = number(golden->json, "init_scale");
    golden->options.user_templates = number(golden->json, "user_share");
    golden->options.item_templates = number(golden->json, "item_share");
    if (json_object_get(golden->json, "contrast"))
        golden->options.contrast = number(golden->json, "contrast");
    if (json_object_get(golden->json, "attention"))
        golden->options.attention = json_string_value(json_object_get(golden->json, "attention"));
    golden->options.loss = loss;
    if (json_object_get(golden->json, "l2_on"))
        golden->options.l2_on = json_string_value(json_object_get(golden->json, "l2_on"));
    golden->options.pretrain =
        json_object_get(golden->json, "pretrain") ? (int)number(golden->json, "pretrain") : 0;
    golden->options.bce_negatives = 3;
    golden->options.popularity = popularity;
    golden->options.negatives = 7;
    golden->options.temperature = 0.3;
    assert_int_equal(inmo_stepper_new(inmo_model_kind_find(golden->options.model), &golden->options, golden->graph,
                                      &golden->train, NULL, &golden->stepper, &error),
                     INMO_OK);
}

static inline void close_golden(struct golden *golden)
{
    inmo_stepper_free(golden->stepper);
    inmo_graph_free(golden->graph);
    json_decref(golden->json);
}

/* The numbers of users, positives and negatives that the loss draws for a step, in this order; room for 5 * 64. */
static inline void draw_numbers(const struct golden *golden, int64_t step, int32_t *drawn)
{
    const struct inmo_stepper *stepper = golden->stepper;
    struct inmo_grouping grouping;
    assert_int_equal(inmo_grouping_make(golden->graph->nodes, stepper->places, &grouping, NULL), INMO_OK);
    assert_true(stepper->places <= 5 * 64);
    stepper->loss->draw(stepper->loss_state, step, &grouping);
    for (int32_t n = 0; n < stepper->places; n++)
        drawn[n] = grouping.number[n] - (n < golden->options.batch ? 0 : golden->graph->users);
    inmo_grouping_free(&grouping);
}

/* Largest difference, relative to the largest of the expected numbers. */
static inline double distance(const float *found, const json_t *expected)
{
    double worst = 0, largest = 0;
    for (size_t n = 0; n < json_array_size(expected); n++) {
        double wanted = json_number_value(json_array_get(expected, n));
        largest = fmax(largest, fabs(wanted));
        worst = fmax(worst, fabs(found[n] - wanted));
    }
    assert_true(largest > 0);
    return worst / largest;
}

/* The gradient of the whole block, whether it came by rows or in one piece. */
static inline void whole_gradient(const struct inmo_stepper *stepper, struct inmo_gradient gradient, float *out)
{
    size_t dim = (size_t)stepper->binding.dim, provided = (size_t)stepper->provider_rows * dim;
    size_t own = (size_t)stepper->parameter_rows * dim - provided;
    const float *own_gradient = gradient.weights ? gradient.weights : gradient.own ? gradient.own : gradient.head;
    if (!gradient.value) { /* frozen */
        memset(out, 0, provided * sizeof *out);
    } else if (gradient.rows) {
        memset(out, 0, provided * sizeof *out);
        for (int32_t n = 0; n < gradient.rows->count; n++)
            memcpy(out + (size_t)gradient.rows->node[n] * dim, gradient.value + (size_t)n * dim, dim * sizeof *out);
    } else {
        memcpy(out, gradient.value, provided * sizeof *out);
    }
    assert_int_equal(own > 0, own_gradient != NULL); /* no model has two of them */
    if (own > 0)
        memcpy(out + provided, own_gradient, own * sizeof *out);
}

/* Biases so far from 0, against matrices so small, that no difference reaches the kink of LeakyReLU; on both
 * sides of it. */
static inline void move_off_kinks(struct inmo_stepper *stepper)
{
    const struct inmo_model_kind *kind = stepper->kind;
    int dim = stepper->binding.dim, layers = stepper->options->layers;
    float *at = stepper->parameter + stepper->provider_rows * dim;
    struct inmo_part part;
    for (int n = 0;
         kind->head ? kind->head->part(stepper->width, n, &part)
                    : strcmp(kind->backbone->name, "ngcf") == 0 && kind->backbone->part(dim, layers, n, &part);
         n++) {
        int64_t size = inmo_part_size(&part, dim);
        for (int64_t j = 0; j < size && !strstr(part.name, "gmf") && !strstr(part.name, "mlp"); j++)
            at[j] = part.is_vector ? (j % 2 ? 1 : -1) : 0.1f * at[j];
        at += size;
    }
}

/* dL/dθ ≈ (L(θ + h) - L(θ - h)) / 2h, with the C code's own loss, at a step. */
static inline void check_finite_differences(const char *name, const char *loss, double popularity, int64_t step)
{
    struct golden golden;
    struct inmo_gradient gradient;
    float *analytic, largest = 0;
    double worst = 0, h;
    size_t size, frozen, of_side;
    int shared, curved, on_sphere = strcmp(loss, "directau") == 0; /* curved as rows of a length of 0.2 are on it */
    open_golden(name, loss, popularity, &golden);
    move_off_kinks(golden.stepper);
    curved = golden.stepper->parameter_rows > golden.stepper->provider_rows; /* ngcf and idcf are */
    frozen = golden.stepper->kind->provider->frozen_from
                 ? (size_t)(golden.stepper->provider_rows * golden.stepper->binding.dim)
                 : 0;
    /* Of straight models what is left is rounding, most with the listwise loss, which has few users at once
     * here. */
    h = on_sphere ? 5e-4 : strcmp(loss, "listwise") == 0 && !curved ? 8e-3 : 4e-3;
    size = (size_t)golden.stepper->parameter_rows * (size_t)golden.stepper->binding.dim;
    analytic = inmo_alloc(size, sizeof *analytic);
    inmo_stepper_gradient(golden.stepper, step, 0.7, &gradient);
    whole_gradient(golden.stepper, gradient, analytic);
    /* idcf's weights of a side: shared ones are the same in both, biases are learned only then */
    of_side = frozen > 0 ? (size - frozen) / 2 : size;
    shared = frozen > 0 && golden.stepper->binding.shared_attention;
    for (size_t p = frozen; p < (shared ? frozen + of_side : size); p++) {
        float *twin = golden.stepper->parameter + (shared ? p + of_side : p);
        float kept = golden.stepper->parameter[p], up = (float)(kept + h), down = (float)(kept - h);
        double above, below;
        if (frozen > 0 && !shared &&
            (p - frozen) % of_side >=
                INMO_ATTENTION_WEIGHTS * inmo_attention_weight_size(golden.stepper->binding.dim))
            continue;
        golden.stepper->parameter[p] = *twin = up;
        above = inmo_stepper_gradient(golden.stepper, step, 0.7, &gradient);
        golden.stepper->parameter[p] = *twin = down;
        below = inmo_stepper_gradient(golden.stepper, step, 0.7, &gradient);
        golden.stepper->parameter[p] = *twin = kept;
        worst = fmax(worst, fabs((above - below) / ((double)up - down) - analytic[p]));
        largest = fmaxf(largest, fabsf(analytic[p]));
    }
    print_message("finite differences %s %s: worst %.2g of %.2g\n", name, loss, worst, largest);
    assert_true(largest > 0);
    /* backbones with parameters of their own have wider rows, more rounding, and ngcf is curved */
    assert_true(worst < (on_sphere ? 1e-3 : curved ? 5e-4 : 1e-4) * largest);
    inmo_free(analytic);
    close_golden(&golden);
}

#endif
