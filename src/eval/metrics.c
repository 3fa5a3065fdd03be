/* metrics.c - see metrics.h. */
#include "eval/metrics.h"

#include "base/memory.h"

#include <math.h>

static int in_truth(int32_t item, const int32_t *truth, int64_t count)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (truth[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && truth[low] == item;
}

void inmo_metrics_add(const int32_t *list, int k, const int32_t *truth, int64_t truth_count,
                      struct inmo_metrics *sum)
{
    int64_t ideal_count = truth_count < k ? truth_count : k, hits = 0;
    double gain = 0, ideal = 0, precisions = 0, first = 0;
    for (int j = 0; j < k && list[j] >= 0; j++)
        if (in_truth(list[j], truth, truth_count)) {
            hits++;
            gain += 1 / log2(j + 2);
            precisions += (double)hits / (j + 1);
            if (hits == 1)
                first = 1.0 / (j + 1);
        }
    for (int64_t j = 0; j < ideal_count; j++)
        ideal += 1 / log2((double)j + 2);
    sum->recall += (double)hits / (double)truth_count;
    sum->precision += (double)hits / k;
    sum->ndcg += gain / ideal;
    sum->hit_rate += hits > 0;
    sum->mrr += first;
    sum->map += precisions / (double)ideal_count;
}

void inmo_metrics_mean(struct inmo_metrics *sum, int64_t users)
{
    double share = users > 0 ? 1.0 / (double)users : 0;
    sum->recall *= share;
    sum->precision *= share;
    sum->ndcg *= share;
    sum->hit_rate *= share;
    sum->mrr *= share;
    sum->map *= share;
}

enum inmo_status inmo_rank_users(const struct inmo_csr *truth, int32_t **who, int32_t *count,
                                 struct inmo_error *error)
{
    int32_t found = 0;
    int32_t *users = inmo_alloc((size_t)truth->rows, sizeof *users);
    if (!users)
        return inmo_fail_memory(error, "the list of users");
    for (int32_t u = 0; u < truth->rows; u++)
        if (inmo_csr_degree(truth, u) > 0)
            users[found++] = u;
    *who = users;
    *count = found;
    return INMO_OK;
}
