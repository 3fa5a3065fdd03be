#!/usr/bin/env python3
"""plot_curves.py - the training curves of models as one SVG: validation NDCG@20 (times 100) over epochs, or over seconds.

    tools/plot_curves.py -o FILE.svg [--program build/inmo] [--title TEXT] NAME=MODEL...
    tools/plot_curves.py -o FILE.svg --seconds ... NAME=MODEL@PER_EPOCH[+START]...

A model file has no times in it, so that the same seed gives the same bytes; --seconds takes those of an epoch and of what
comes before the first one from the command line, as `inmo train --json` printed them. Reads the training record inside each model file through `inmo info --json`; needs gnuplot (gnuplot-nox)."""
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
    parser.add_argument("--seconds", action="store_true")
    args = parser.parse_args()
    plots, files = [], []
    for pair in args.models:
        name, model = pair.split("=", 1)
        per_epoch, start = 1.0, 0.0
        if args.seconds:
            model, times = model.rsplit("@", 1)
            per_epoch, start = (float(part) for part in (times.split("+") + ["0"])[:2])
        file = tempfile.NamedTemporaryFile("w", suffix=".dat")
        file.writelines(f"{start + epoch * per_epoch} {score}\n" for epoch, score in record(args.program, model))
        file.flush()
        files.append(file)
        plots.append(f"'{file.name}' with linespoints lw 2 pt 7 ps 0.4 title '{name}'")
    subprocess.run(["gnuplot"], check=True, text=True, input=f"""
set terminal svg noenhanced size 760,420 font 'sans-serif,13' background '#ffffff'
set output '{args.output}'
set title '{args.title}'
{'set logscale x' if args.seconds else ''}
set xlabel '{'seconds, 2 cores' if args.seconds else 'epoch'}'
set ylabel 'validation NDCG@20 x 100'
set grid lc rgb '#dddddd'
set key bottom right
plot {', '.join(plots)}
""")


if __name__ == "__main__":
    main()
