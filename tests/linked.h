/* linked.h - whether a model has the links that it should have. */
#ifndef INMO_TESTS_LINKED_H
#define INMO_TESTS_LINKED_H

#include "support.h"

#include "model/model.h"
#include "score/link_solve.h"

/* The links of the model are those that its rule gives on its interactions. */
static inline void check_links(const struct inmo_model *model)
{
    struct inmo_error error = {0};
    const struct inmo_csr *lists[1] = {&model->train};
    struct inmo_graph *graph = NULL;
    struct inmo_links *links = NULL;
    must(inmo_graph_build(model->users.count, model->items.count, lists, 1, &graph, &error));
    must(inmo_links_solve(graph, &model->link_rule, NULL, NULL, &links, &error));
    assert_int_equal(inmo_links_count(links), inmo_links_count(model->linked));
    assert_memory_equal(links->item, model->linked->item, (size_t)inmo_links_count(links) * sizeof *links->item);
    for (int64_t e = 0; e < inmo_links_count(links); e++)
        assert_near(links->weight[e], model->linked->weight[e], 1e-5);
    inmo_links_free(links);
    inmo_graph_free(graph);
}

#endif
