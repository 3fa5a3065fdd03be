#!/usr/bin/env python3
"""Is a model's default a fair one? Trains it as it comes and with a grid of settings, and prints both by validation.

    bench/fair.py DATA OUT [--inmo PROGRAM] [--model NAME ...] [--data NAME ...]

DATA has the logs (lastfm.tsv.zst, ...), OUT keeps prepared data and searches: the same command goes on where it
stopped. Test parts are not looked at. docs/choices.md has the table under "Fair baselines"."""
import argparse
import json
import pathlib
import subprocess

# Columns to read, and how many users validate: all where there are few. The last three were never used for choosing.
LOGS = {
    "lastfm": ("user,item,-,-", 0),
    "citeulike-a": ("user,item", 0),
    "ml-100k": (None, 0),
    "anime": ("user,item", 0),
    "gowalla": ("user,item,-", 4000),
    "ml-latest-small": (None, 0),
    "yelp2018": ("user,item,-", 4000),
    "amazon-book-exact-users": ("user,item,-", 4000),
}
CHOSEN_ON = list(LOGS)[:5]

# The same for all logs; thirty settings of iALS.
GRIDS = {
    "ials": ["--search", "dim=128|256,unobserved=0.003|0.01|0.03|0.1|0.3,l2=0.002|0.007|0.02",
             "--epochs", "12", "--eval-every", "3", "--patience", "3"],
    "ease": ["--search", "l2=10|30|100|300|1000|3000"],
    "gf-cf": ["--search", "dim=32|64|128|256|512,low-pass=0.1|0.2|0.3|0.5|1"],
    "item-knn": ["--search", "neighbours=20|50|100|200|400,shrinkage=0|5|20|50|100"],
}


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def prepared(inmo, logs, out, name):
    columns, _ = LOGS[name]
    folder = out / name
    if not folder.exists():
        run(inmo, "prepare", logs / f"{name}.tsv.zst", "-o", folder, "--split", "70/10/20", "--by", "random",
            "--seed", 11, "-q", *(["--columns", columns] if columns else []))
    return folder


def default_of(inmo, folder, out, model, users):
    kept = out / f"{folder.name}-{model}.json"
    if not kept.exists():
        kept.write_text(run(inmo, "train", folder, "-o", out / "model", "--force", "--model", model, "--valid-users",
                            users, "--json", "-q"))
    return json.loads(kept.read_text())


def best_of_grid(inmo, folder, out, model, users):
    found = json.loads(run(inmo, "tune", folder, "-o", out / f"{folder.name}-{model}", "--model", model, "--method",
                           "grid", "--valid-users", users, "--json", "-q", *GRIDS[model]))
    return found["trials"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--inmo", default="build/inmo")
    parser.add_argument("--model", nargs="*", default=list(GRIDS), choices=list(GRIDS))
    parser.add_argument("--data", nargs="*", default=list(LOGS), choices=list(LOGS))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    print("| model | data | default | best of the grid | its settings | default / best |\n|---|---|---|---|---|---|")
    for model in given.model:
        for name in given.data:
            folder = prepared(given.inmo, given.logs, given.out, name)
            users = LOGS[name][1]
            mine = default_of(given.inmo, folder, given.out, model, users)["best_valid"]
            best = best_of_grid(given.inmo, folder, given.out, model, users)
            settings = ", ".join(f"{key} {value}" for key, value in best["settings"].items())
            mark = "" if name in CHOSEN_ON else " (not chosen on)"
            print(f"| {model} | {name}{mark} | {100 * mine:.2f} | {100 * best['ndcg@20']:.2f} | {settings} | "
                  f"{100 * mine / best['ndcg@20']:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
