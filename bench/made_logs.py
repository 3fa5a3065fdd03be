#!/usr/bin/python3
"""Logs of shapes that the real ones do not have, drawn by seed 5: user and item, tab-separated.

    bench/made_logs.py OUT

films     6,000 users, 3,500 items, some 120 items a user; tastes of 20 dimensions and a long tail, as in MovieLens
dense     2,000 users, 300 items, a third of all pairs; tastes of 8 dimensions
few       20,000 users with 2 to 8 of 60 items; tastes of 4 dimensions
shop      30,000 users with 3 to 11 purchases among 20,000 items in 400 groups, most of them from two groups

docs/choices.md says what was decided on them."""
import argparse
import pathlib

import numpy


def chosen(random, users, items, dim, weight, popularity, counts):
    """The `counts` items of each user with the highest utility: taste, popularity and chance."""
    taste = random.normal(size=(users, dim)) @ random.normal(size=(dim, items))
    order = numpy.argsort(-(weight * taste + popularity + random.gumbel(size=(users, items))), axis=1)
    return [(user, item) for user in range(users) for item in order[user, :counts[user]]]


def films(random):
    popularity = random.permutation(-1.1 * numpy.log(numpy.arange(1, 3501)))
    counts = random.lognormal(numpy.log(90), 0.8, 6000).astype(int).clip(20, 800)
    return chosen(random, 6000, 3500, 20, 0.35, popularity, counts)


def dense(random):
    counts = random.lognormal(numpy.log(80), 0.4, 2000).astype(int).clip(5, 200)
    return chosen(random, 2000, 300, 8, 0.6, 0.8 * random.normal(size=300), counts)


def few(random):
    return chosen(random, 20000, 60, 4, 0.8, random.normal(size=60), random.integers(2, 9, 20000))


def shop(random):
    group = random.integers(0, 400, 20000)
    members = [numpy.flatnonzero(group == g) for g in range(400)]
    pairs = set()
    for user in range(30000):
        own = random.integers(0, 400, 2)
        for _ in range(random.integers(3, 12)):
            items = members[own[random.integers(0, 2)] if random.random() < 0.85 else random.integers(0, 400)]
            pairs.add((user, items[min(len(items) - 1, int(random.exponential(len(items) / 6)))]))
    return sorted(pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for make in (films, dense, few, shop):
        lines = [f"u{user}\ti{item}\n" for user, item in make(numpy.random.default_rng(5))]
        (out / f"{make.__name__}.tsv").write_text("".join(lines))


if __name__ == "__main__":
    main()
