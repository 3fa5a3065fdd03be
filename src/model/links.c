/* links.c - see links.h. */
#include "model/links.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

struct inmo_link_rule inmo_link_rule_default(double popularity)
{
    return (struct inmo_link_rule){INMO_LINK_NEIGHBOURS, 100, 1, popularity, 0};
}

struct inmo_links *inmo_links_new(int32_t items, int64_t count)
{
    size_t offsets = ((size_t)items + 1) * sizeof(int64_t), numbers = (size_t)count * sizeof(int32_t);
    struct inmo_links *links = inmo_alloc_zero(1, sizeof *links);
    char *block = links ? inmo_alloc(offsets + 2 * numbers, 1) : NULL;
    if (!block) {
        inmo_free(links);
        return NULL;
    }
    memset(block, 0, offsets);
    *links = (struct inmo_links){items,
                                 1,
                                 (const int64_t *)(void *)block,
                                 (const int32_t *)(void *)(block + offsets),
                                 (const float *)(void *)(block + offsets + numbers),
                                 block};
    return links;
}

void inmo_links_free(struct inmo_links *links)
{
    if (!links)
        return;
    inmo_free(links->owned);
    inmo_free(links);
}

int inmo_links_are_sound(const struct inmo_links *links)
{
    if (links->offset[0] != 0)
        return 0;
    for (int32_t j = 0; j < links->items; j++)
        if (links->offset[j + 1] < links->offset[j])
            return 0;
    for (int32_t j = 0; j < links->items; j++)
        for (int64_t e = links->offset[j]; e < links->offset[j + 1]; e++)
            if (links->item[e] < 0 || links->item[e] >= links->items || !isfinite(links->weight[e]) ||
                (e > links->offset[j] && links->item[e] <= links->item[e - 1]))
                return 0;
    return 1;
}
