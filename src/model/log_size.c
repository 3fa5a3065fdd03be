/* log_size.c - settings that follow the size and the shape of the log, for models trained by steps. On a small log
 * the same steps go over the same interactions more often, and what is learned by heart there must be held back: by
 * a higher temperature of the listwise loss, or by larger weights of the norms. The rules were found by validation
 * on logs of 36,000 to 706,000 interactions (docs/choices.md). Where a rule is not enough, trainings are
 * compared. */
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

/* Where trials are worth their time (docs/choices.md). */
static int is_dense(const struct inmo_log_shape *log)
{
    return inmo_log_density(log) >= 0.002 || log->interactions >= 50 * log->users;
}

/* A log of few items that everybody has many of wants ten times what its size says. */
static void take_mf(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options)
{
    static const double multiple[] = {1, 3, 10, 30};
    inmo_choice_set(&options->l2,
                    inmo_choice_round(1e-3 * smallness(log) * (is_dense(log) ? multiple[point[0]] : 1)));
}

/* On a dense graph three layers leave little but the first singular directions. The exponent of the temperature was
 * found beside links, by which it is larger than without them. */
static void take_inmo_lightgcn(const int *point, const struct inmo_log_shape *log,
                               struct inmo_train_options *options)
{
    take_temperature(0.065, 0.5, log, options);
    inmo_choice_set_count(&options->layers, point[0] == 1 && is_dense(log) ? 1 : 3);
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

/* Whole trainings: after fewer epochs less is learned by heart, and a larger weight seems too good. */
const struct inmo_choice inmo_choice_mf = {.axes = 1, .count = {4}, .trials = 4, .margin = 0.05, .take = take_mf};
/* After few epochs fewer layers are ahead by some per cent even where they end behind. */
const struct inmo_choice inmo_choice_inmo_lightgcn = {
    .axes = 1, .count = {2}, .trials = 2, .epochs = 6, .margin = 0.08, .take = take_inmo_lightgcn};
const struct inmo_choice inmo_choice_inmo_mf = {.take = take_inmo_mf},
                         inmo_choice_lightgcn = {.take = take_lightgcn};
