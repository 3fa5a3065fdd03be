/* batch.c - see batch.h. */
#include "loss/batch.h"

#include "base/memory.h"

#include <string.h>

void inmo_grouping_free(struct inmo_grouping *grouping)
{
    inmo_free(grouping->key);
    inmo_free(grouping->row);
    inmo_free(grouping->entry);
    inmo_free(grouping->offset);
    inmo_free(grouping->node);
    inmo_free(grouping->number);
    *grouping = (struct inmo_grouping){0};
}

enum inmo_status inmo_grouping_make(int32_t space, int32_t most, struct inmo_grouping *out,
                                    struct inmo_error *error)
{
    struct inmo_grouping grouping = {.space = space, .most = most};
    grouping.number = inmo_alloc((size_t)most, sizeof *grouping.number);
    grouping.node = inmo_alloc((size_t)most, sizeof *grouping.node);
    grouping.offset = inmo_alloc((size_t)most + 1, sizeof *grouping.offset);
    grouping.entry = inmo_alloc((size_t)most, sizeof *grouping.entry);
    grouping.row = inmo_alloc((size_t)most, sizeof *grouping.row);
    grouping.key = inmo_alloc(2 * (size_t)most + 1, sizeof *grouping.key);
    if (!grouping.number || !grouping.node || !grouping.offset || !grouping.entry || !grouping.row ||
        !grouping.key) {
        inmo_grouping_free(&grouping);
        return inmo_fail_memory(error, "a batch");
    }
    grouping.rows.node = grouping.node;
    *out = grouping;
    return INMO_OK;
}

/* Radix sort of the keys (number, place) by number; places are in order already. Returns the sorted keys. */
static const uint64_t *sort(struct inmo_grouping *grouping, int32_t count)
{
    enum { MOST_BITS = 10, MOST_PASSES = 4 };
    uint64_t *from = grouping->key, *to = from + grouping->most, *swap;
    int bits = grouping->space > 1 ? 32 - __builtin_clz((unsigned)grouping->space - 1) : 1;
    int passes = (bits + MOST_BITS - 1) / MOST_BITS, width = (bits + passes - 1) / passes;
    uint32_t mask = (1u << width) - 1;
    int32_t begin[MOST_PASSES][1 << MOST_BITS];
    for (int pass = 0; pass < passes; pass++)
        memset(begin[pass], 0, ((size_t)mask + 1) * sizeof **begin);
    for (int32_t n = 0; n < count; n++) {
        uint32_t number = (uint32_t)grouping->number[n];
        from[n] = (uint64_t)number << 32 | (uint32_t)n;
        for (int pass = 0; pass < passes; pass++)
            begin[pass][number >> (pass * width) & mask]++;
    }
    for (int pass = 0; pass < passes; pass++) {
        int shift = 32 + pass * width;
        for (uint32_t digit = 0, sum = 0; digit <= mask; digit++) {
            uint32_t here = (uint32_t)begin[pass][digit];
            begin[pass][digit] = (int32_t)sum;
            sum += here;
        }
        for (int32_t n = 0; n < count; n++)
            to[begin[pass][from[n] >> shift & mask]++] = from[n];
        swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Of one number: where its next place goes in entry, and its row. */
struct slot {
    int32_t next, row;
};

/* For batches that name many of all numbers: a slot for each number instead of sorting. */
static void group_by_slots(struct inmo_grouping *grouping, int32_t count)
{
    struct slot *slot = (struct slot *)grouping->key; /* (space) */
    int32_t found = 0, sum = 0;
    memset(slot, 0, (size_t)grouping->space * sizeof *slot);
    for (int32_t n = 0; n < count; n++)
        slot[grouping->number[n]].next++;
    for (int32_t v = 0; v < grouping->space; v++) {
        int32_t places = slot[v].next;
        slot[v] = (struct slot){sum, found}; /* sum and found do not count v yet */
        if (places > 0) {
            grouping->node[found] = v;
            grouping->offset[found++] = sum;
            sum += places;
        }
    }
    grouping->offset[found] = count;
    grouping->rows.count = found;
    for (int32_t n = 0; n < count; n++) {
        struct slot *at = slot + grouping->number[n];
        grouping->entry[at->next++] = n;
        grouping->row[n] = at->row;
    }
}

void inmo_grouping_set(struct inmo_grouping *grouping, int32_t count)
{
    const uint64_t *key;
    int32_t found = -1, last = -1;
    if (count >= grouping->space / 2) {
        group_by_slots(grouping, count);
        return;
    }
    key = sort(grouping, count);
    for (int32_t n = 0; n < count; n++) {
        int32_t number = (int32_t)(key[n] >> 32), place = (int32_t)(uint32_t)key[n];
        found += number != last;
        last = number;
        grouping->node[found] = number;
        grouping->offset[found + 1] = n + 1;
        grouping->entry[n] = place;
        grouping->row[place] = found;
    }
    grouping->offset[0] = 0;
    grouping->rows.count = found + 1;
}

int32_t inmo_grouping_below(const struct inmo_grouping *grouping, int32_t bound)
{
    int32_t found = 0;
    for (int32_t end = grouping->rows.count; found < end;) {
        int32_t middle = found + (end - found) / 2;
        if (grouping->node[middle] < bound)
            found = middle + 1;
        else
            end = middle;
    }
    return found;
}
