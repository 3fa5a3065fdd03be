#!/usr/bin/env python3
"""compare_graph.py - one training step of NGCF, IMC-GAE and IDCF-LGCN, PyTorch (torch_graph.py) beside this library.

    /usr/bin/python3 bench/compare_graph.py DATA build/bench_step [--models ngcf,imc-gae] [--rounds 5] [--steps 10] [--threads 2]

As compare_step.py: rounds are interleaved, and a ratio is PyTorch / inmo of the same round: median (least .. most).
"""
import argparse
import os
import statistics
import sys

import torch

import torch_data
import torch_graph
import torch_step
from compare_step import run_program, spread
from torch_autograd import measure

LAYOUTS = ("coo", "csr", "bag")


def use_fitting_blas():
    """The kernels that the program would choose (src/kernel/blas.c), for both sides; read when OpenBLAS is loaded."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = file.read().split()
    core = "SkylakeX" if "avx512vl" in flags else "Haswell" if "avx2" in flags else None
    if core:
        os.environ.setdefault("OPENBLAS_CORETYPE", core)


def main():
    if "GLIBC_TUNABLES" not in os.environ:
        use_fitting_blas()
    torch_step.restart_with_huge_pages()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("program")
    parser.add_argument("--models", default=",".join(torch_graph.MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10, help="steps of inmo a round; PyTorch takes a third as many")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"compare_graph: warning: the load is {load:.1f}; both sides wait for other work on this machine, and "
              "the times are not worth keeping",
              file=sys.stderr)
    torch_step.tune_malloc()
    torch.set_num_threads(args.threads)
    graph = torch_data.load(args.data)
    for name in args.models.split(","):
        make = torch_graph.MODELS[name]
        times = {side: [] for side in ("inmo", *LAYOUTS)}
        models = {layout: make(graph, layout) for layout in LAYOUTS}
        for _ in range(args.rounds):
            times["inmo"].append(run_program([args.program], args.data, name, args.steps, args.threads, "float"))
            for layout, model in models.items():
                times[layout].append(statistics.median(measure(model, max(2, args.steps // 3), warm=1)))
        print(f"{name}: inmo {spread(times['inmo'], 1)} ms a step")
        for layout in LAYOUTS:
            ratio = [a / b for a, b in zip(times[layout], times["inmo"])]
            print(f"    PyTorch {layout}: {spread(times[layout], 1)} ms, {spread(ratio, 2)} times inmo")


if __name__ == "__main__":
    main()
