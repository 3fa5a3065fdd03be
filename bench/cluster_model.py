#!/usr/bin/python3
"""cluster_model.py - seconds of a training step on several machines: measured in network namespaces, explained by a model,
predicted for more machines than there are here.

    cluster_model.py measure MPI-PROGRAM DATA -o FILE.json --nodes 2 --rate none --dim 64 [--order community] [--epochs 2]
    cluster_model.py check FILE.json
    cluster_model.py predict FILE.json [-o PLOT.svg]

measure adds a run to the file. Ranks have one thread each and a namespace each (tests/mpi/netns.py). check fits the
model on runs without a rate and compares it with those that have one:

    T = C + sum over exchanges of max(b/R, b/W) + x L

C: what the busiest rank computes; b: bytes that the rank with most of them sends or receives in an exchange; R: rate
of the link; W: rate at which the kernel and MPI copy; x: number of exchanges; L: latency of one. C is the time of
the step less the waiting, in the run without a rate; W and L are a least-squares fit of the waiting in these runs."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "mpi"))
import netns  # noqa: E402


def measure(options):
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_WAIT_POLICY="passive")
    rate = None if options.rate == "none" else options.rate
    with tempfile.TemporaryDirectory() as scratch, netns.Network(options.nodes, rate) as network:
        done = subprocess.run(
            network.mpirun(os.path.abspath(options.program), "train", options.data, "-o", f"{scratch}/model", "-q", "--json",
                           "--threads", "1", "--no-checkpoint", "--walks", "0", "--links", "0", "--eval-every", "1000",
                           "--start", "random", "--schedule", "constant", "--order", options.order, "--dim", options.dim,
                           "--epochs", options.epochs), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    report = json.loads(done.stdout)
    ranks = report["ranks"]
    step = report["seconds_per_epoch"] * report["epochs"] / report["steps"]
    waited = [rank["layer_waited_per_step"] + rank["loss_waited_per_step"] for rank in ranks]
    # As docs/cluster.md has it: five exchanges of halves and four of floats, and what the loss sends.
    layers = max(max(rank["sent_rows"], rank["received_rows"]) for rank in ranks) * options.dim * (5 * 2 + 4 * 4)
    loss = max(rank["loss_bytes"] for rank in ranks) / report["steps"]
    run = {"nodes": options.nodes, "rate": options.rate, "dim": options.dim, "order": options.order,
           "step": step, "computed": step - min(waited), "waited": min(waited), "bytes": layers + loss,
           "exchanges": 9 + max(rank["loss_exchanges"] for rank in ranks) / report["steps"],
           "memory": max(rank["peak_rss_mb"] for rank in ranks)}
    path = pathlib.Path(options.output)
    runs = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps([*runs, run], indent=1) + "\n")
    print(run)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("measure")
    command.add_argument("program")
    command.add_argument("data")
    command.add_argument("-o", "--output", required=True)
    command.add_argument("--nodes", type=int, default=2)
    command.add_argument("--rate", default="none")
    command.add_argument("--dim", type=int, default=64)
    command.add_argument("--order", default="community")
    command.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    globals()[options.command](options)


if __name__ == "__main__":
    main()
