#!/usr/bin/env python3
"""compare_step.py - one training step, PyTorch beside this library, on the same machine at the same time.

    /usr/bin/python3 bench/compare_step.py DATA build/bench_step [ARGUMENT...] [--rounds 5] [--threads 2]

DATA is a prepared directory. Each round measures, for each model, PyTorch's step in this process, three times: as it is
usually written, with torch.sparse products in COO and in CSR layout and autograd (torch_autograd.py), and by hand with
embedding_bag (torch_step.py, its gradients checked against autograd first). Then it runs

    build/bench_step [ARGUMENT...] DATA MODEL STEPS THREADS float|half

which prints one JSON line {"model": ..., "ms_per_step": ...}. Because the rounds are
interleaved, both sides see the same neighbours on the machine. The ratio is PyTorch / inmo of the same round:
median, and the lowest and highest of the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import torch

import torch_autograd
import torch_data
import torch_step

SIDES = ("COO, autograd", "CSR, autograd", "embedding_bag, by hand")


def run_program(command, data, model, steps, threads, storage):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    environment.pop("GLIBC_TUNABLES", None)
    arguments = [*command, data, model, str(steps), str(threads), storage]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"compare_step: {' '.join(arguments)} failed: {done.stderr.strip()}")
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return float(json.loads(line)["ms_per_step"])
    raise SystemExit(f"compare_step: no JSON line in the output of {command[0]}: {done.stdout!r}")


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} .. {max(values):.{digits}f})"


def main():
    torch_step.restart_with_huge_pages()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("command", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="steps of each side a round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    args = parser.parse_intermixed_args()
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"compare_step: warning: the load is {load:.1f}; both sides wait for other work on this machine, and "
              "the times are not worth keeping", file=sys.stderr)
    graph = torch_data.load(args.data)
    by_hand = {name: torch_step.make(name, graph, args.threads) for name in torch_step.MODELS}
    written = {(name, layout): torch_autograd.Autograd(graph, layout, name.startswith("inmo"))
               for name in by_hand for layout in ("coo", "csr")}
    found = {name: {"inmo_ms": [], "inmo_half_ms": [], **{side: [] for side in SIDES}} for name in by_hand}
    for number in range(args.rounds):
        for name, model in by_hand.items():
            row = found[name]
            slow = max(3, args.steps // 5)
            row[SIDES[0]].append(statistics.median(torch_autograd.measure(written[name, "coo"], slow)))
            row[SIDES[1]].append(statistics.median(torch_autograd.measure(written[name, "csr"], slow)))
            row[SIDES[2]].append(statistics.median(torch_step.measure(model, args.steps)[0]))
            row["inmo_ms"].append(run_program(args.command, args.data, name, args.steps, args.threads, "float"))
            row["inmo_half_ms"].append(run_program(args.command, args.data, name, args.steps, args.threads, "half"))
            print(f"round {number + 1}: {name}: " + ", ".join(f"{key} {values[-1]:.1f}" for key, values in row.items()),
                  file=sys.stderr)
    if args.json:
        print(json.dumps({"users": graph["users"], "items": graph["items"], "interactions": graph["edges"],
                          "threads": args.threads, "torch": torch.__version__, "models": found}))
        return
    print(f"{graph['users']} users, {graph['items']} items, {graph['edges']} interactions, batch 2048, d 64, K 3, "
          f"{args.threads} threads, PyTorch {torch.__version__}, {args.rounds} rounds: median (least .. most)")
    for name, row in found.items():
        print(f"{name}: inmo {spread(row['inmo_ms'], 1)} ms a step, half storage {spread(row['inmo_half_ms'], 1)}")
        for side in SIDES:
            ratio, half = ([a / b for a, b in zip(row[side], row[key])] for key in ("inmo_ms", "inmo_half_ms"))
            print(f"    PyTorch {side:24s} {spread(row[side], 1):24s} ms, {spread(ratio, 2)} times inmo, "
                  f"{spread(half, 2)} times inmo with half storage")


if __name__ == "__main__":
    main()
