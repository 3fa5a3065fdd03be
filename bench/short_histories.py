#!/usr/bin/python3
"""What a prior is worth where histories are short: logs of which every user keeps a few items, drawn by seed.

    bench/short_histories.py LOGS OUT [--inmo PROGRAM] [--seed N ...] [--data NAME ...]

LOGS: a folder with the packed logs. Prints test NDCG@20 x 100, the mean over the seeds: the default, the default without a
prior, ials and popular. "popularity": 3,000 users with 5 items each, drawn by a power law alone. Standard deviation over
the seeds in brackets. docs/choices.md has the table, and which logs and seeds were for choosing."""
import argparse
import io
import json
import pathlib
import statistics
import subprocess

import numpy

FEW = {"ml-100k": 6, "anime": 5, "citeulike-a": 6, "lastfm": 6, "ml-latest-small": 6, "popularity": 5}
MODELS = {
    "default": [],
    "without a prior": ["--prior", "0"],
    "ials": ["--model", "ials"],
    "popular": ["--model", "popular"],
}


def few_of(logs, name, seed):
    """Pairs of a user and an item."""
    draw = numpy.random.default_rng(seed)
    if name == "popularity":
        share = 1 / numpy.arange(1, 10001)
        chosen = [draw.choice(10000, size=FEW[name], replace=False, p=share / share.sum()) for _ in range(3000)]
        return [(user, item) for user, items in enumerate(chosen) for item in items]
    text = subprocess.run(["zstdcat", str(logs / f"{name}.tsv.zst")], check=True, capture_output=True).stdout
    rows = numpy.loadtxt(io.BytesIO(text))
    if name.startswith("ml-"):
        rows = rows[rows[:, 2] > 3]
    order = numpy.lexsort((draw.random(len(rows)), rows[:, 0]))
    rows = rows[order]
    first = numpy.r_[True, rows[1:, 0] != rows[:-1, 0]]
    place = numpy.arange(len(rows)) - numpy.maximum.accumulate(numpy.where(first, numpy.arange(len(rows)), 0))
    return [(int(user), int(item)) for user, item in rows[place < FEW[name], :2]]


def ndcg(program, data, model, options, seed):
    subprocess.run([program, "train", data, "-o", model, "--force", "-q", "--seed", str(seed), *options], check=True,
                   stdout=subprocess.DEVNULL)
    told = subprocess.run([program, "evaluate", model, data, "--k", "20", "--json"], check=True, capture_output=True)
    return 100 * json.loads(told.stdout)["metrics"]["ndcg@20"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--inmo", default="build/inmo")
    parser.add_argument("--seed", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--data", nargs="+", default=list(FEW), choices=list(FEW))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    print("| | " + " | ".join(MODELS) + " |\n|" + "---|" * (len(MODELS) + 1))
    for name in asked.data:
        found = {label: [] for label in MODELS}
        for seed in asked.seed:
            log, data = asked.out / f"{name}-{seed}.tsv", str(asked.out / f"{name}-{seed}")
            log.write_text("".join(f"{user}\t{item}\n" for user, item in few_of(asked.logs, name, seed)))
            subprocess.run([asked.inmo, "prepare", str(log), "--columns", "user,item", "--seed", str(seed), "-o", data,
                            "--force", "-q"], check=True, stdout=subprocess.DEVNULL)
            for label, options in MODELS.items():
                found[label].append(ndcg(asked.inmo, data, str(asked.out / "model.inmo"), options, seed))
        print(f"| {name}, {FEW[name]} items | " + " | ".join(
            f"{statistics.mean(of):.2f} ({statistics.stdev(of) if len(of) > 1 else 0:.2f})" for of in found.values()) + " |",
            flush=True)


if __name__ == "__main__":
    main()
