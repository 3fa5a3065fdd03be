#!/usr/bin/env python3
"""plot_scale.py - seconds an epoch and peak memory against the length of the log, as one SVG with a linear guide.

    tools/plot_scale.py -o FILE.svg INTERACTIONS:SECONDS:MEGABYTES...

The numbers are those `inmo train --json` printed (interactions of the log, seconds_per_epoch, peak_rss_mb); needs gnuplot
(gnuplot-nox)."""
import argparse
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("points", nargs="+", metavar="INTERACTIONS:SECONDS:MEGABYTES")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    points = sorted(tuple(float(part) for part in point.split(":")) for point in args.points)
    first = points[0]
    with tempfile.NamedTemporaryFile("w", suffix=".dat") as file:
        file.writelines(f"{count} {seconds} {megabytes}\n" for count, seconds, megabytes in points)
        file.flush()
        subprocess.run(["gnuplot"], check=True, text=True, input=f"""
set terminal svg noenhanced size 760,420 font 'sans-serif,13' background '#ffffff'
set output '{args.output}'
set logscale xy
set xlabel 'interactions of the log'
set ylabel 'seconds an epoch (2 cores)'
set y2label 'peak memory, MB'
set logscale y2
set y2tics
set ytics nomirror
set grid lc rgb '#dddddd'
set key top left
set xrange [{first[0] / 1.5}:{points[-1][0] * 1.5}]
plot '{file.name}' using 1:2 with linespoints lw 2 pt 7 title 'seconds an epoch', \\
     '{file.name}' using 1:3 axes x1y2 with linespoints lw 2 pt 5 title 'peak memory', \\
     {first[1]} * x / {first[0]} with lines dt 2 lc rgb '#888888' title 'linear in time'
""")


if __name__ == "__main__":
    main()
