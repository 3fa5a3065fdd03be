#!/usr/bin/env python3
"""compare_step.py - one training step, PyTorch beside this library, on the same machine at the same time.

    /usr/bin/python3 bench/compare_step.py DATA build/bench_step [ARGUMENT...] [--rounds 5] [--threads 2]

DATA is a prepared directory. Each round measures, for each model, PyTorch's step in this process (torch_step.py, its
gradients checked against autograd first) and then runs

    build/bench_step [ARGUMENT...] DATA MODEL STEPS THREADS

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

import torch_data
import torch_step


def run_program(command, data, model, steps, threads):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    environment.pop("GLIBC_TUNABLES", None)
    arguments = [*command, data, model, str(steps), str(threads)]
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
    models = {name: torch_step.make(name, graph, args.threads) for name in torch_step.MODELS}
    found = {name: {"torch_ms": [], "inmo_ms": [], "ratio": []} for name in models}
    for number in range(args.rounds):
        for name, model in models.items():
            times, _ = torch_step.measure(model, args.steps)
            ours = run_program(args.command, args.data, name, args.steps, args.threads)
            row = found[name]
            row["torch_ms"].append(statistics.median(times))
            row["inmo_ms"].append(ours)
            row["ratio"].append(row["torch_ms"][-1] / ours)
            print(f"round {number + 1}: {name}: PyTorch {row['torch_ms'][-1]:.1f} ms, inmo {ours:.1f} ms",
                  file=sys.stderr)
    if args.json:
        print(json.dumps({"users": graph["users"], "items": graph["items"], "interactions": graph["edges"],
                          "threads": args.threads, "torch": torch.__version__, "models": found}))
        return
    print(f"{graph['users']} users, {graph['items']} items, {graph['edges']} interactions, batch 2048, d 64, K 3, "
          f"{args.threads} threads, PyTorch {torch.__version__}, {args.rounds} rounds: median (least .. most)")
    print(f"{'model':16s} {'PyTorch ms/step':24s} {'inmo ms/step':24s} PyTorch / inmo")
    for name, row in found.items():
        print(f"{name:16s} {spread(row['torch_ms'], 1):24s} {spread(row['inmo_ms'], 1):24s} {spread(row['ratio'], 2)}")


if __name__ == "__main__":
    main()
