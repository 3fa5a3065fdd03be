#!/usr/bin/env python3
"""Every system as it comes, on logs of all shapes: test NDCG@20, the mean over splits, and what each part adds.

    bench/any_log.py DATA OUT [--inmo PROGRAM] [--model NAME ...] [--data NAME ...] [--split N ...]

DATA has the logs (lastfm.tsv.zst, ...), OUT keeps prepared data, models and results: the same command goes on where it
stopped. Settings were chosen on validation parts of split 11, so splits 2, 3 and 4 are for judging. docs/results.md
has the tables under "Good on any log"."""
import argparse
import json
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
DEFAULT = "inmo-lightgcn"
MODELS = [DEFAULT, "inmo-mf", "lightgcn", "ials", "ease", "gf-cf", "item-knn"]
# What is left out of the default's score, which was chosen with everything in it.
PARTS = {"all parts": [], "no links": ["--links", 0], "no walks": ["--walks", 0],
         "vectors alone": ["--links", 0, "--walks", 0]}


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def prepared(inmo, logs, out, name, split):
    folder = out / f"{name}-{split}"
    if not folder.exists():
        columns = COLUMNS[name]
        run(inmo, "prepare", logs / f"{name}.tsv.zst", "-o", folder, "--split", "70/10/20", "--by", "random", "--seed",
            split, "-q", *(["--columns", columns] if columns else []))
    return folder


def result(inmo, folder, out, model, split):
    """Test NDCG@20 x 100, by parts for the default, and the seconds of training."""
    kept = out / f"{folder.name}-{model}.json"
    if not kept.exists():
        file = out / f"{folder.name}-{model}.inmo"
        # The default ends with the validation part in its graph; the others are trained on it, too.
        refit = [] if model == DEFAULT else ["--refit", "train"]
        trained = json.loads(run(inmo, "train", folder, "-o", file, "--force", "--model", model, "--seed", split,
                                 "--json", "-q", *refit))
        scores = {part: 100 * json.loads(run(inmo, "evaluate", file, folder, "--json", "-q", *options))["metrics"]["ndcg@20"]
                  for part, options in PARTS.items() if model == DEFAULT or not options}
        kept.write_text(json.dumps({"test": scores, "seconds": trained["seconds"], "valid": trained["best_valid"],
                                    "peak_rss_mb": trained["peak_rss_mb"]}))
        file.unlink()
    return json.loads(kept.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--inmo", default="build/inmo")
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--data", nargs="+", default=list(COLUMNS), choices=list(COLUMNS))
    parser.add_argument("--split", nargs="+", type=int, default=[2, 3, 4])
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    print("| | " + " | ".join(asked.model) + " | seconds |\n|" + "---|" * (len(asked.model) + 2))
    parts = []
    for name in asked.data:
        of_model = {}
        for model in asked.model:
            of_model[model] = [result(asked.inmo, prepared(asked.inmo, asked.logs, asked.out, name, split), asked.out,
                                      model, split) for split in asked.split]
        means = {model: statistics.mean(r["test"]["all parts"] for r in of_model[model]) for model in asked.model}
        best = max(means.values())
        cells = [f"**{means[model]:.2f}**" if means[model] == best else f"{means[model]:.2f}" for model in asked.model]
        seconds = ", ".join(f"{statistics.mean(r['seconds'] for r in of_model[model]):.1f}" for model in asked.model)
        print(f"| {name} | " + " | ".join(cells) + f" | {seconds} |", flush=True)
        if DEFAULT in of_model:
            parts.append((name, [statistics.mean(r["test"][part] for r in of_model[DEFAULT]) for part in PARTS]))
    if parts:
        print("\n| | " + " | ".join(PARTS) + " |\n|" + "---|" * (len(PARTS) + 1))
        for name, scores in parts:
            print(f"| {name} | " + " | ".join(f"{score:.2f}" for score in scores) + " |")


if __name__ == "__main__":
    main()
