#!/usr/bin/python3
"""Is the test part of a log with a split column like a random part of its training part?

    bench/nearness.py LOG [--column N]           # LOG: user, item, ..., split (0 train, 1 test), tab-separated, .zst

A tenth of the training part is drawn at random, and taken out. For its interactions and for those of the test part:
the sum of the cosines between the item and the rest of the user's training items, by the item's number of users. And how much
more items differ in their share of the test part than chance would have it (1: not at all). docs/results.md has the table."""
import argparse
import io
import subprocess

import numpy
import scipy.sparse

BOUNDS = [1, 10, 50, 300, 10**9]
SAMPLE, BLOCK = 12000, 500


def nearness(users, items, matrix, degree, generator):
    """(users of the item, sum of cosines with the user's items) of a sample of interactions."""
    chosen = numpy.sort(generator.choice(len(users), min(SAMPLE, len(users)), replace=False))
    by_item = matrix.tocsc()
    found = []
    for first in range(0, len(chosen), BLOCK):
        block = chosen[first:first + BLOCK]
        common = (by_item[:, items[block]].T @ matrix).multiply(matrix[users[block]])
        root = numpy.sqrt(numpy.maximum(degree, 1))
        found.append(numpy.asarray(common.multiply(1 / root[items[block]][:, None]).multiply(1 / root[None, :]).sum(1)))
    return degree[items[chosen]], numpy.concatenate(found).ravel()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--column", type=int, default=2, help="of the split, from 0")
    asked = parser.parse_args()
    text = subprocess.run(["zstdcat", asked.log], check=True, capture_output=True).stdout
    rows = numpy.loadtxt(io.BytesIO(text)).astype(numpy.int64)
    users, items, test = rows[:, 0], rows[:, 1], rows[:, asked.column] == 1
    generator = numpy.random.default_rng(1)
    out = ~test & (generator.random(len(users)) < 0.1)
    train = ~test & ~out
    matrix = scipy.sparse.csr_matrix((numpy.ones(train.sum(), numpy.float32), (users[train], items[train])),
                                     shape=(users.max() + 1, items.max() + 1))
    degree = numpy.asarray(matrix.sum(0)).ravel()
    count, share = numpy.bincount(items), test.mean()
    tested = numpy.bincount(items[test], minlength=len(count))
    often = count >= 5
    spread = ((tested - share * count)[often] ** 2 / (share * (1 - share) * count[often])).mean()
    print(f"variance of an item's share of the test part, in units of chance: {spread:.2f}")
    print("| users of the item | share of a random part | of the test part | nearness, random | test |\n|---|---|---|---|---|")
    both = [nearness(users[part], items[part], matrix, degree, generator) for part in (out, test)]
    for low, high in [(0, BOUNDS[-1]), *zip(BOUNDS, BOUNDS[1:])]:
        kept = [(size >= low) & (size < high) for size, _ in both]
        if not all(k.any() for k in kept):
            continue
        cells = [f"{k.mean():.3f}" for k in kept] + [f"{near[k].mean():.2f}" for k, (_, near) in zip(kept, both)]
        print(f"| {'all' if low == 0 else f'from {low}'} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
