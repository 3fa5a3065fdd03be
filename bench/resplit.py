#!/usr/bin/python3
"""A log with a split column, for decisions that must not see a test part: user, item, 0 (train) or 1 (test).

    bench/resplit.py LOG [--by random|time] [--rating-column N] [--time-column N] >OUT.tsv

random: of each user's interactions 70 % are for training and 10 % for the test, drawn by seed 11; the others are left out.
time: the oldest 80 % are for training and the others for the test. LOG: tab-separated numbers, user and item first, .zst;
ratings (if there is such a column) above 3 count. docs/choices.md says what was decided on them."""
import argparse
import io
import subprocess
import sys

import numpy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--by", choices=["random", "time"], default="random")
    parser.add_argument("--rating-column", type=int)
    parser.add_argument("--time-column", type=int, default=3)
    asked = parser.parse_args()
    text = subprocess.run(["zstdcat", asked.log], check=True, capture_output=True).stdout
    rows = numpy.loadtxt(io.BytesIO(text))
    if asked.rating_column is not None:
        rows = rows[rows[:, asked.rating_column] > 3]
    users, items = rows[:, 0].astype(int), rows[:, 1].astype(int)
    if asked.by == "random":
        order = numpy.lexsort((numpy.random.default_rng(11).random(len(users)), users))
    else:
        order = numpy.lexsort((items, rows[:, asked.time_column], users))
    users, items = users[order], items[order]
    count = numpy.bincount(users)
    place = numpy.arange(len(users)) - (numpy.cumsum(count) - count)[users]
    if asked.by == "random":
        share = (place + 0.5) / count[users]
        part = numpy.where(share < 0.7, 0, numpy.where(share < 0.8, 1, 2))
    else:
        part = (place >= numpy.maximum(1, numpy.round(0.8 * count[users]))).astype(int)
    numpy.savetxt(sys.stdout, numpy.c_[users, items, part][part < 2], fmt="%d", delimiter="\t")


if __name__ == "__main__":
    main()
