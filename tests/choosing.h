/* choosing.h - what the tests of settings that training chooses have in common: a small log, the record of a
 * model, and an interruption. */
#ifndef INMO_TESTS_CHOOSING_H
#define INMO_TESTS_CHOOSING_H

#include "support.h"

#include <jansson.h>

static inline struct inmo_dataset *small_data(const char *split)
{
    return grouped_dataset(60, 90, 12, split);
}

static inline json_t *record_of(const struct inmo_model *model)
{
    struct inmo_model_info info;
    json_t *record;
    inmo_model_info(model, &info);
    record = json_loads(info.record, 0, NULL);
    assert_true(json_is_array(record));
    return record;
}

/* The interrupted hook: after so many polls as the context, an int, says. */
static inline int stop_later(void *context)
{
    int *left = context;
    return --*left < 0;
}

#endif
