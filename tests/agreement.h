/* agreement.h - a list, the ranking of all users and an explanation say the same, for tests. */
#ifndef INMO_TESTS_AGREEMENT_H
#define INMO_TESTS_AGREEMENT_H

#include "support.h"

struct rows {
    const char *user;
    size_t count;
    struct inmo_entry entry[8];
};
static inline int keep_row(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    struct rows *rows = context;
    if (strcmp(user, rows->user) == 0) {
        rows->count = count;
        memcpy(rows->entry, entry, count * sizeof *entry);
    }
    return 0;
}

/* The list of one user is the one that the ranking of all gives, and its explanations sum to its scores. */
static inline void check_agreement(const struct inmo_view *view, const char *user)
{
    struct inmo_error error = {0};
    struct inmo_query query, everybody;
    struct inmo_list *list = NULL;
    struct rows rows = {.user = user};
    inmo_query_init(&query);
    inmo_query_init(&everybody);
    query.user = user;
    query.k = everybody.k = 8;
    must(inmo_recommend(view, &query, &list, &error));
    must(inmo_recommend_all(view, &everybody, NULL, keep_row, &rows, &error));
    assert_int_equal(list->count, rows.count);
    for (size_t n = 0; n < list->count; n++) {
        struct inmo_explanation *why = NULL;
        double sum = 0;
        assert_string_equal(list->entry[n].id, rows.entry[n].id);
        assert_near(list->entry[n].score, rows.entry[n].score, 1e-5);
        must(inmo_explain(view, &query, list->entry[n].id, &why, &error));
        for (size_t p = 0; p < why->count; p++)
            sum += why->part[p].score;
        assert_near(why->score, list->entry[n].score, 1e-5);
        assert_near(sum, why->score, 1e-4);
        inmo_explanation_free(why);
    }
    inmo_list_free(list);
}

#endif
