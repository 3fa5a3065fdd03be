#!/usr/bin/env python3
"""compare_neumf.py - one training step of NeuMF, PyTorch beside this library, on the same machine at the same time.

    /usr/bin/python3 bench/compare_neumf.py DATA build/bench_step [--rounds 5] [--steps 16] [--threads 2]

DATA is a prepared directory. PyTorch's side is the network of docs/math.md with autograd, twice: with torch.optim.Adam, which
moves every row of the tables in every step and does what inmo does; and with sparse gradients and SparseAdam, which leaves
rows outside the batch alone: less work, and another result. Rounds are interleaved, as in compare_step.py; the ratio is
PyTorch / inmo of the same round: median (least .. most).
"""
import argparse
import os
import statistics
import sys

import torch
import torch.nn.functional as F

import torch_data
import torch_step
from compare_graph import use_fitting_blas
from compare_step import run_program, spread
from torch_autograd import measure

BATCH, NEGATIVES, DIM, L2, RATE = 2048, 4, 64, 1e-2, 1e-2


def kaiming(rows, columns):
    return (torch.rand(rows, columns) * 2 - 1) * (6 / columns) ** 0.5


class NeuMF:
    def __init__(self, graph, sparse):
        self.items, half = graph["items"], DIM // 2
        # users and items, product and perceptron side by side, as inmo has them
        self.tables = [torch.nn.Embedding.from_pretrained(kaiming(graph[side], DIM + half), freeze=False, sparse=sparse)
                       for side in ("users", "items")]
        self.layers = [torch.nn.Linear(DIM, DIM) for _ in range(2)]
        self.output = torch.nn.Parameter(torch.ones(2 * DIM))
        rows = [table.weight for table in self.tables]
        dense = [p for layer in self.layers for p in layer.parameters()] + [self.output]
        self.adam = [torch.optim.SparseAdam(rows, lr=RATE), torch.optim.Adam(dense, lr=RATE)] if sparse else \
            [torch.optim.Adam(rows + dense, lr=RATE, foreach=True)]
        self.sampler = torch_step.Sampler(graph)

    def draw(self):
        """BATCH users with a positive and NEGATIVES negatives each."""
        users, positives, _ = (x.long() for x in self.sampler.draw(BATCH))
        negatives = torch.randint(self.items, (BATCH, NEGATIVES))
        return users, torch.cat([positives[:, None], negatives], dim=1)

    def step(self):
        with torch.enable_grad():
            for adam in self.adam:
                adam.zero_grad(set_to_none=True)
            users, items = self.draw()
            u = self.tables[0](users)[:, None, :].expand(-1, NEGATIVES + 1, -1)
            i = self.tables[1](items)
            x = torch.cat([u[..., DIM:], i[..., DIM:]], dim=2)
            for layer in self.layers:
                x = F.leaky_relu(layer(x))
            score = torch.cat([u[..., :DIM] * i[..., :DIM], x], dim=2) @ self.output
            margin = torch.cat([-score[:, :1], score[:, 1:]], dim=1)
            loss = F.softplus(margin).mean() + L2 * (u.square().sum(2) + i.square().sum(2)).mean()
            loss.backward()
            for adam in self.adam:
                adam.step()


def main():
    if "GLIBC_TUNABLES" not in os.environ:
        use_fitting_blas()
    torch_step.restart_with_huge_pages()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=16, help="steps of inmo a round; PyTorch takes half as many")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    if os.getloadavg()[0] > 0.5:
        print(f"compare_neumf: warning: the load is {os.getloadavg()[0]:.1f}; the times are not worth keeping",
              file=sys.stderr)
    torch_step.tune_malloc()
    torch.set_num_threads(args.threads)
    graph = torch_data.load(args.data)
    models = {"Adam": NeuMF(graph, False), "SparseAdam": NeuMF(graph, True)}
    times = {side: [] for side in ("inmo", *models)}
    for _ in range(args.rounds):
        times["inmo"].append(run_program([args.program], args.data, "neumf", args.steps, args.threads, "float"))
        for side, model in models.items():
            times[side].append(statistics.median(measure(model, max(2, args.steps // 2), warm=1)))
    print(f"neumf, {BATCH} positives with {NEGATIVES} negatives: inmo {spread(times['inmo'], 2)} ms a step")
    for side in models:
        ratio = [a / b for a, b in zip(times[side], times["inmo"])]
        print(f"    PyTorch, {side}: {spread(times[side], 1)} ms, {spread(ratio, 2)} times inmo")


if __name__ == "__main__":
    main()
