/* alias.h - draws from a long-tailed distribution in constant time: one random number, one look into a table. */
#ifndef INMO_DATA_ALIAS_H
#define INMO_DATA_ALIAS_H

#include <stdint.h>

/* Place r keeps what is below its threshold and gives the rest to another (Walker 1977, Vose 1991). */
struct inmo_alias {
    uint32_t count;
    uint32_t *threshold, *other;  // (count)
};

/* Probabilities ~ (r + 1)^-exponent for r below count. 1, or 0 when memory is short; to be freed either way. */
int inmo_alias_make(struct inmo_alias *alias, uint32_t count, double exponent);
void inmo_alias_free(struct inmo_alias *alias);

/* The upper half of bits * count chooses the place, the lower half stays or goes. */
static inline uint32_t inmo_alias_draw(const struct inmo_alias *alias, uint64_t bits)
{
    unsigned __int128 product = (unsigned __int128)bits * alias->count;
    uint32_t place = (uint32_t)(product >> 64);
    return (uint32_t)((uint64_t)product >> 32) <= alias->threshold[place] ? place : alias->other[place];
}

#endif
