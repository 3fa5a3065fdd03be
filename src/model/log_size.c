/* log_size.c - settings that follow the size of the log, for models trained by steps. On a small log the same steps
 * go over the same interactions more often, and what is learned by heart there must be held back: by a higher
 * temperature of the listwise loss, or by larger weights of the norms. The rules were found by validation on
 * logs of 36,000 to 706,000 interactions (docs/choices.md); nothing is tried in training. */
#include "model/choice.h"

/* 1 from 400,000 interactions on, 10 up to 40,000. */
static double smallness(const struct inmo_log_shape *log)
{
    return fmin(fmax(4e5 / log->interactions, 1), 10);
}

static void take_temperature(double large, double exponent, const struct inmo_log_shape *log,
                             struct inmo_train_options *options)
{
    inmo_choice_set(&options->temperature, inmo_choice_round(large * pow(smallness(log), exponent)));
}

static void take_mf(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options)
{
    (void)point;
    inmo_choice_set(&options->l2, inmo_choice_round(1e-3 * smallness(log)));
}

/* Beside links; by validation more than without them. */
static void take_inmo_lightgcn(const int *point, const struct inmo_log_shape *log,
                               struct inmo_train_options *options)
{
    (void)point;
    take_temperature(0.065, 0.5, log, options);
}

static void take_inmo_mf(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options)
{
    (void)point;
    take_temperature(0.065, 0.3, log, options);
}

static void take_lightgcn(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options)
{
    (void)point;
    take_temperature(0.1, 0.3, log, options);
}

const struct inmo_choice inmo_choice_mf = {.take = take_mf}, inmo_choice_inmo_mf = {.take = take_inmo_mf},
                         inmo_choice_lightgcn = {.take = take_lightgcn},
                         inmo_choice_inmo_lightgcn = {.take = take_inmo_lightgcn};
