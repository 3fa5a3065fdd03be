/* alias.c - see alias.h. Built in time and memory linear in count. Thresholds are 32-bit integers, so differences
 * in the last bits of pow() have no effect. */
#include "data/alias.h"

#include "base/memory.h"

#include <math.h>

int inmo_alias_make(struct inmo_alias *alias, uint32_t count, double exponent)
{
    double *share = inmo_alloc(count, sizeof *share), sum = 0;
    uint32_t *todo = inmo_alloc(count, sizeof *todo);  // below average from the front, the others from the back
    uint32_t small = 0, large = count;
    int made;
    alias->count = count;
    alias->threshold = inmo_alloc(count, sizeof *alias->threshold);
    alias->other = inmo_alloc(count, sizeof *alias->other);
    made = share && todo && alias->threshold && alias->other;
    for (uint32_t r = 0; made && r < count; r++) {
        share[r] = pow(r + 1.0, -exponent);
        sum += share[r];
        alias->threshold[r] = UINT32_MAX;
        alias->other[r] = r;
    }
    for (uint32_t r = 0; made && r < count; r++) {
        share[r] *= count / sum;
        todo[share[r] < 1 ? small++ : --large] = r;
    }
    while (made && small > 0 && large < count) {
        uint32_t poor = todo[--small], rich = todo[large];
        alias->threshold[poor] = (uint32_t)(share[poor] * 4294967295.0);
        alias->other[poor] = rich;
        share[rich] -= 1 - share[poor];
        if (share[rich] < 1) {
            large++;
            todo[small++] = rich;
        }
    }
    inmo_free(todo);
    inmo_free(share);
    return made;
}

void inmo_alias_free(struct inmo_alias *alias)
{
    inmo_free(alias->other);
    inmo_free(alias->threshold);
}
