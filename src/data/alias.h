/* alias.h - draws from a long-tailed distribution in constant time: one random number, one table lookup. */
#ifndef INMO_DATA_ALIAS_H
#define INMO_DATA_ALIAS_H

#include <stdint.h>

/* The alias method (Walker 1977, Vose 1991): slot r keeps draws below its threshold and passes the others on to
 * another slot. */
struct inmo_alias {
    uint32_t count;
    uint32_t *threshold, *other;  // (count)
};

/* Probabilities proportional to (r + 1)^-exponent for r < count. Returns 1, or 0 if out of memory; free it in
 * either case. */
int inmo_alias_make(struct inmo_alias *alias, uint32_t count, double exponent);
void inmo_alias_free(struct inmo_alias *alias);

/* The upper half of bits * count selects the slot, the lower half is compared with its threshold. */
static inline uint32_t inmo_alias_draw(const struct inmo_alias *alias, uint64_t bits)
{
    unsigned __int128 product = (unsigned __int128)bits * alias->count;
    uint32_t place = (uint32_t)(product >> 64);
    return (uint32_t)((uint64_t)product >> 32) <= alias->threshold[place] ? place : alias->other[place];
}

#endif
