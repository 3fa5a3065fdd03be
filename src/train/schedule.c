/* schedule.c - what changes over the epochs: the normalization exponent and the learning rate. */
#include "train/trainer.h"

#include <math.h>
#include <string.h>

double inmo_alpha_of_epoch(const struct inmo_train_options *options, int32_t epoch)
{
    return options->annealing > 0 ? 1 - 0.5 * pow(options->annealing, epoch) : 1;
}

double inmo_alpha_reached(const struct inmo_train_options *options, int32_t epoch)
{
    return inmo_alpha_of_epoch(options, epoch + (strcmp(options->eval_alpha, "next") == 0));
}

double inmo_learning_rate_at(const struct inmo_train_options *options, int64_t step, int64_t steps_per_epoch,
                             int32_t epochs)
{
    double share = (double)step / ((double)epochs * (double)steps_per_epoch);
    double eager = strcmp(options->schedule, "eager") == 0 ? pow(0.25, (double)step / (double)steps_per_epoch) : 0;
    if (strcmp(options->schedule, "constant") == 0)
        return options->learning_rate;
    return options->learning_rate * (1 + eager) * 0.5 * (1 + cos(3.141592653589793 * (share < 1 ? share : 1)));
}
