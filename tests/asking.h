/* asking.h - what the view's internals make of a query, for tests. */
#ifndef INMO_TESTS_ASKING_H
#define INMO_TESTS_ASKING_H

#include "view/person.h"

struct asking {
    struct inmo_work *work;
    struct inmo_person person; /* valid until the work space is freed */
};

static inline enum inmo_status ask(const struct inmo_view *view, const struct inmo_query *query,
                                   struct asking *asking, struct inmo_error *error)
{
    enum inmo_status status = inmo_work_create(&asking->work, error);
    inmo_view_read_lock(view);
    if (!status)
        status = inmo_person_make(view, view->snapshot, asking->work, query, &asking->person, error);
    inmo_view_unlock(view);
    return status;
}

static inline void asked(struct asking *asking)
{
    inmo_work_free(asking->work);
}

#endif
