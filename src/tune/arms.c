/* arms.c - see arms.h. */
#include "tune/arms.h"

#include "base/memory.h"
#include "base/setting.h"

/* How many trials a model has; 0: countless. */
static uint64_t size_of(const struct inmo_arms *arms, size_t a)
{
    const struct inmo_space *space = &arms->arm[a].space;
    if (!arms->as_given)
        return space->size;
    if (space->axis_count == 0)
        return 1;
    return space->size == 0 || space->size == UINT64_MAX ? 0 : space->size + 1;
}

uint64_t inmo_arms_size(const struct inmo_arms *arms)
{
    uint64_t sum = 0;
    for (size_t a = 0; a < arms->count; a++)
        if (size_of(arms, a) == 0 || __builtin_add_overflow(sum, size_of(arms, a), &sum))
            return 0;
    return sum;
}

/* The model, and the number of the trial among its own. */
static size_t find(const struct inmo_arms *arms, int trial, uint64_t *number)
{
    *number = (uint64_t)trial;
    if (arms->count == 1)
        return 0;
    for (uint64_t round = 0;; round++) {
        int any = 0;
        for (size_t a = 0; a < arms->count; a++) {
            uint64_t size = size_of(arms, a);
            if (size != 0 && round >= size)
                continue;
            any = 1;
            *number = round;
            if (trial-- == 0)
                return a;
        }
        if (!any) /* a trial that does not exist: of a record that was changed, which is found out */
            return 0;
    }
}

size_t inmo_arms_find(const struct inmo_arms *arms, int trial)
{
    uint64_t number;
    return find(arms, trial, &number);
}

const char *inmo_arms_value(const struct inmo_arms *arms, int trial, size_t axis, char buffer[INMO_VALUE_SIZE])
{
    uint64_t number;
    const struct inmo_arm *arm = &arms->arm[find(arms, trial, &number)];
    if (!arms->as_given)
        return inmo_space_value(&arm->space, axis, number, buffer);
    if (number > 0)
        return inmo_space_value(&arm->space, axis, number - 1, buffer);
    inmo_setting_text(arm->space.axis[axis].row, &arm->fixed, buffer, INMO_VALUE_SIZE);
    return buffer;
}

struct inmo_train_options inmo_arms_options(const struct inmo_arms *arms, int trial)
{
    uint64_t number;
    const struct inmo_arm *arm = &arms->arm[find(arms, trial, &number)];
    struct inmo_train_options options = arm->fixed;
    if (!arms->as_given || number > 0)
        inmo_space_apply(&arm->space, number - (uint64_t)(arms->as_given != 0), &options);
    return options;
}

void inmo_arms_free(struct inmo_arms *arms)
{
    for (size_t a = 0; a < arms->count; a++)
        inmo_space_free(&arms->arm[a].space);
    inmo_free(arms->arm);
    *arms = (struct inmo_arms){0};
}
