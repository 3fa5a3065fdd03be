#!/usr/bin/env python3
"""Every system as it comes, on logs of all shapes: test NDCG@20, the mean over splits, and what each part adds.

    bench/any_log.py DATA OUT [--inmo PROGRAM] [--system NAME ...] [--data NAME ...] [--split N ...] [--jobs N] [--finished]

DATA has the logs (lastfm.tsv.zst, ...), OUT keeps prepared data, models and results: the same command goes on where it
stopped. --data names logs of DATA, those of COLUMNS by default; the columns of others are detected. A system is a model, or
a way to train the default (WAYS). Settings were chosen on validation parts of split 11,
so splits 2, 3 and 4 are for judging. docs/results.md has the tables under "Good on any log"."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess

COLUMNS = {
    "ml-100k": None,
    "ml-latest-small": None,
    "lastfm": "user,item,-,-",
    "citeulike-a": "user,item",
    "anime": "user,item",
    "gowalla": "user,item,-",
    "yelp2018": "user,item,-",
    "amazon-book-exact-users": "user,item,-",
}
# The default ends with the validation part in its graph; the other systems are trained on it, too.
DEFAULT = "default"
WAYS = {
    DEFAULT: [],
    "default-train": ["--refit", "train"],
    "default-none": ["--refit", "none"],
    # One set of weights for every log, near what validation chooses on Gowalla.
    "default-fixed": ["--refit", "none", "--walks", "0.6", "--links", "11", "--link-ridge", "30", "--link-popularity", "-0.2",
                      "--prior", "0"],
}
SYSTEMS = [DEFAULT, "ials", "ease", "gf-cf", "item-knn", "mult-vae", "lightgcn", "inmo-mf", "mf", "popular"]
# What is left out of the default's score, which was chosen with everything in it.
PARTS = {"all parts": [], "no links": ["--links", 0], "no walks": ["--walks", 0],
         "vectors alone": ["--links", 0, "--walks", 0, "--prior", 0]}


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def prepared(asked, name, split):
    folder = asked.out / f"{name}-{split}"
    if not folder.exists():
        columns = COLUMNS.get(name)
        run(asked.inmo, "prepare", asked.logs / f"{name}.tsv.zst", "-o", folder, "--split", "70/10/20", "--by", "random",
            "--seed", split, "-q", *(["--columns", columns] if columns else []))
    return folder


def kept(asked, name, system, split):
    return asked.out / f"{name}-{split}-{system}.json"


def train(asked, name, system, split):
    """Keeps test NDCG@20 x 100, by parts for the default, and the seconds of training."""
    folder, to = asked.out / f"{name}-{split}", kept(asked, name, system, split)
    file = to.with_suffix(".inmo")
    options = WAYS.get(system, ["--model", system, "--refit", "train"])
    threads = ["--threads", max(1, os.cpu_count() // asked.jobs)]
    trained = json.loads(run(asked.inmo, "train", folder, "-o", file, "--force", "--seed", split, "--json", "-q",
                             "--no-checkpoint", *threads, *options))
    scores = {part: 100 * json.loads(run(asked.inmo, "evaluate", file, folder, "--json", "-q", *threads, *left_out))
              ["metrics"]["ndcg@20"]
              for part, left_out in PARTS.items() if system in WAYS or not left_out}
    to.write_text(json.dumps({"test": scores, "seconds": trained["seconds"], "valid": trained["best_valid"],
                              "peak_rss_mb": trained["peak_rss_mb"]}))
    file.unlink()


def table(asked, name, parts):
    """Prints a row; a system without some of the splits says how many it has, one without any has a dash."""
    found = {system: [json.loads(file.read_text()) for split in asked.split
                      if (file := kept(asked, name, system, split)).exists()] for system in asked.system}
    means = {system: statistics.mean(r["test"]["all parts"] for r in runs) for system, runs in found.items() if runs}
    if not means:
        return
    best = max(means.values())

    def cell(system):
        if system not in means:
            return "–"
        some = f" ({len(found[system])})" if len(found[system]) < len(asked.split) else ""
        return (f"**{means[system]:.2f}**" if means[system] == best else f"{means[system]:.2f}") + some

    print(f"| {name} | " + " | ".join(cell(system) for system in asked.system) + " |", flush=True)
    if found.get(DEFAULT):
        parts.append((name, [statistics.mean(r["test"][part] for r in found[DEFAULT]) for part in PARTS]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--inmo", default="build/inmo")
    parser.add_argument("--system", nargs="+", default=SYSTEMS)
    parser.add_argument("--data", nargs="+", default=list(COLUMNS), metavar="NAME")
    parser.add_argument("--split", nargs="+", type=int, default=[2, 3, 4])
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once, which share the processors")
    parser.add_argument("--finished", action="store_true", help="print what there is, train nothing")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    if not asked.finished:
        todo = [(name, system, split) for name in asked.data for system in asked.system for split in asked.split
                if not kept(asked, name, system, split).exists()]
        for name, _, split in todo:
            prepared(asked, name, split)
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            list(pool.map(lambda one: train(asked, *one), todo))
    parts = []
    print("| | " + " | ".join(asked.system) + " |\n|" + "---|" * (len(asked.system) + 1))
    for name in asked.data:
        table(asked, name, parts)
    if parts:
        print("\n| | " + " | ".join(PARTS) + " |\n|" + "---|" * (len(PARTS) + 1))
        for name, scores in parts:
            print(f"| {name} | " + " | ".join(f"{score:.2f}" for score in scores) + " |")


if __name__ == "__main__":
    main()
