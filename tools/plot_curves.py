#!/usr/bin/env python3
"""plot_curves.py - the training curves of models as one SVG: validation NDCG@20 (times 100) over epochs.

    tools/plot_curves.py -o FILE.svg [--program build/inmo] [--title TEXT] NAME=MODEL...

Reads the training record inside each model file through `inmo info --json`; needs gnuplot (gnuplot-nox)."""
import argparse
import json
import subprocess
import tempfile


def record(program, model):
    shown = subprocess.run([program, "info", model, "--json"], check=True, capture_output=True, text=True).stdout
    return [(row["epoch"] + 1, 100 * row["ndcg@20"]) for row in json.loads(shown)["record"] if "ndcg@20" in row]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", metavar="NAME=MODEL")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--program", default="build/inmo")
    parser.add_argument("--title", default="")
    args = parser.parse_args()
    plots, files = [], []
    for pair in args.models:
        name, model = pair.split("=", 1)
        file = tempfile.NamedTemporaryFile("w", suffix=".dat")
        file.writelines(f"{epoch} {score}\n" for epoch, score in record(args.program, model))
        file.flush()
        files.append(file)
        plots.append(f"'{file.name}' with lines lw 2 title '{name}'")
    subprocess.run(["gnuplot"], check=True, text=True, input=f"""
set terminal svg noenhanced size 760,420 font 'sans-serif,13' background '#ffffff'
set output '{args.output}'
set title '{args.title}'
set xlabel 'epoch'
set ylabel 'validation NDCG@20 x 100'
set grid lc rgb '#dddddd'
set key bottom right
plot {', '.join(plots)}
""")


if __name__ == "__main__":
    main()
