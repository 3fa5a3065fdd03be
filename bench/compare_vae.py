#!/usr/bin/python3
"""compare_vae.py - one training step of Mult-VAE, PyTorch beside this library, on the same machine at the same time.

    /usr/bin/python3 bench/compare_vae.py DATA build/bench_vae [--rounds 5] [--threads 2]

DATA is a prepared directory. PyTorch's side is the network of docs/math.md with autograd and torch.optim.Adam; its input
layer is embedding_bag over the histories, not a dense product with rows of all items, which would be slower. Rounds are
interleaved, so that both sides see the same neighbours on the machine; the ratio is PyTorch / inmo of the same round.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

import numpy as np
import torch
import torch.nn.functional as F

import torch_data
from compare_graph import use_fitting_blas

BATCH, HIDDEN, LATENT, DROPOUT, L2, RATE, KL = 512, 64, 32, 0.7, 1e-4, 1e-3, 0.1


class MultVAE:
    def __init__(self, graph):
        self.graph, items = graph, graph["items"]
        shapes = [(items, HIDDEN), (HIDDEN,), (2 * LATENT, HIDDEN), (2 * LATENT,), (HIDDEN, LATENT), (HIDDEN,),
                  (items, HIDDEN), (items,)]
        inputs = [items, 0, HIDDEN, 0, LATENT, 0, HIDDEN, 0]
        self.w = [(torch.rand(shape) * 2 - 1) * (6 / n) ** 0.5 if n else torch.zeros(shape)
                  for shape, n in zip(shapes, inputs)]
        for w in self.w:
            w.requires_grad_(True)
        self.adam = torch.optim.Adam(self.w, lr=RATE)
        self.order, self.at = np.random.permutation(graph["users"]), 0

    def histories(self):
        who = self.order[self.at:self.at + BATCH]
        self.at = (self.at + BATCH) % (len(self.order) - BATCH)
        begin, end = self.graph["user_offset"][who], self.graph["user_offset"][who + 1]
        lists = [self.graph["user_column"][a:b] for a, b in zip(begin, end)]
        return torch.from_numpy(np.concatenate(lists)), torch.from_numpy(end - begin)

    def step(self):
        item, degree = self.histories()
        first_of = torch.cat([torch.zeros(1, dtype=torch.int64), degree.cumsum(0)[:-1]])
        row = torch.repeat_interleave(torch.arange(len(degree)), degree)
        weight = (torch.rand(len(item)) >= DROPOUT).float() / (1 - DROPOUT) / degree.float().sqrt()[row]
        a, b1, c, b2, d, b3, o, b4 = self.w
        first = torch.tanh(F.embedding_bag(item, a, first_of, mode="sum", per_sample_weights=weight) + b1)
        mean, log_variance = F.linear(first, c, b2).split(LATENT, dim=1)
        sample = mean + torch.randn(mean.shape) * torch.exp(log_variance / 2)
        scores = F.linear(torch.tanh(F.linear(sample, d, b3)), o, b4)
        loss = -F.log_softmax(scores, dim=1)[row, item].sum() / len(degree)
        loss = loss + KL * 0.5 * (log_variance.exp() + mean ** 2 - 1 - log_variance).sum() / len(degree)
        loss = loss + L2 * sum((w ** 2).sum() for w in (a, c, d, o))
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item()


def torch_ms(model, steps):
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        model.step()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def inmo_ms(program, data, steps, threads):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([program, data, str(steps), str(threads)], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"compare_vae: {program} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)["ms_per_step"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10, help="of each side a round")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    use_fitting_blas()  # bench_vae, unlike the program, does not see to it itself
    torch.set_num_threads(args.threads)
    model = MultVAE(torch_data.load(args.data))
    torch_ms(model, 2)
    rows = [(torch_ms(model, args.steps), inmo_ms(args.program, args.data, args.steps, args.threads))
            for _ in range(args.rounds)]
    theirs, ours = zip(*rows)
    ratio = [a / b for a, b in rows]
    print(f"a step of {BATCH} users, {args.threads} threads, load {os.getloadavg()[0]:.1f}: "
          f"PyTorch {statistics.median(theirs):.1f} ms, inmo {statistics.median(ours):.1f} ms, "
          f"ratio {statistics.median(ratio):.2f} ({min(ratio):.2f} .. {max(ratio):.2f})")


if __name__ == "__main__":
    main()
