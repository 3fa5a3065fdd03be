#!/usr/bin/env python3
"""torch_spmm.py - which sparse product of PyTorch is the fastest for one layer of LightGCN, both halves:

    z_user = D_user^-1 Y z_item,   z_item = D_item^-1 Y' z_user        (users + items) x dim, weighted or as means

    /usr/bin/python3 bench/torch_spmm.py DATA [--inmo build/bench_spmm] [--dim 64] [--threads 2] [--rounds 5]

DATA is a prepared directory or a file of pairs (torch_data.py). All ways are checked against each other; the times
are medians, the rounds interleaved so that all ways see the same machine. With --inmo each round also runs ours (DATA must
be a prepared directory and dim 64), and ratios to it are given: median, least and most of the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import time
import warnings

import torch
import torch.nn.functional as F

import torch_data


def ways(graph, dim):
    """name -> function () -> (users, dim), (items, dim)"""
    tensor = {k: torch.from_numpy(v) for k, v in graph.items() if k not in ("users", "items", "edges")}
    users, items, edges = graph["users"], graph["items"], graph["edges"]
    uo, uc, io, ic = (tensor[k] for k in ("user_offset", "user_column", "item_offset", "item_column"))
    uo32, uc32, io32, ic32 = (x.to(torch.int32) for x in (uo, uc, io, ic))
    user_degree, item_degree = (torch.clamp(o[1:] - o[:-1], min=1).float() for o in (uo, io))
    user_row = torch.repeat_interleave(torch.arange(users), uo[1:] - uo[:-1])
    item_row = torch.repeat_interleave(torch.arange(items), io[1:] - io[:-1])
    user_value, item_value = 1.0 / user_degree[user_row], 1.0 / item_degree[item_row]
    zu, zi = torch.randn(users, dim), torch.randn(items, dim)
    z = torch.cat([zu, zi])
    shape_u, shape_i = (users, items), (items, users)

    coo_u = torch.sparse_coo_tensor(torch.stack([user_row, uc]), user_value, shape_u).coalesce()
    coo_i = torch.sparse_coo_tensor(torch.stack([item_row, ic]), item_value, shape_i).coalesce()
    whole = torch.sparse_coo_tensor(
        torch.stack([torch.cat([user_row, item_row + users]), torch.cat([uc + users, ic])]),
        torch.cat([user_value, item_value]), (users + items, users + items)).coalesce()
    warnings.filterwarnings("ignore", message=".*beta state.*")
    csr_u = torch.sparse_csr_tensor(uo, uc, user_value, shape_u)
    csr_i = torch.sparse_csr_tensor(io, ic, item_value, shape_i)
    csr_whole = whole.to_sparse_csr()
    buffer_u, buffer_i = torch.empty(users, dim), torch.empty(items, dim)

    def split(r):
        return r[:users], r[users:]

    def index_add():
        buffer_u.zero_().index_add_(0, user_row, zi[uc])
        buffer_i.zero_().index_add_(0, item_row, zu[ic])
        return buffer_u / user_degree[:, None], buffer_i / item_degree[:, None]

    def bag(uoff, ucol, ioff, icol, mode, wu=None, wi=None):
        return (F.embedding_bag(ucol, zi, uoff, mode=mode, per_sample_weights=wu, include_last_offset=True),
                F.embedding_bag(icol, zu, ioff, mode=mode, per_sample_weights=wi, include_last_offset=True))

    def bag_sum(uoff, ucol, ioff, icol):
        a, b = bag(uoff, ucol, ioff, icol, "sum")
        return a.div_(user_degree[:, None]), b.div_(item_degree[:, None])

    return {
        "COO whole": lambda: split(torch.sparse.mm(whole, z)),
        "COO halves": lambda: (torch.sparse.mm(coo_u, zi), torch.sparse.mm(coo_i, zu)),
        "CSR whole": lambda: split(csr_whole @ z),
        "CSR halves": lambda: (csr_u @ zi, csr_i @ zu),
        "gather + index_add": index_add,
        "embedding_bag mean, int64": lambda: bag(uo, uc, io, ic, "mean"),
        "embedding_bag sum, int64": lambda: bag_sum(uo, uc, io, ic),
        "embedding_bag sum, int32": lambda: bag_sum(uo32, uc32, io32, ic32),
        "embedding_bag weighted, int64": lambda: bag(uo, uc, io, ic, "sum", user_value, item_value),
        "embedding_bag weighted, int32": lambda: bag(uo32, uc32, io32, ic32, "sum", user_value, item_value),
    }


def run_ours(program, data, threads):
    done = subprocess.run([program, data, "15", str(threads), "inmo"], env={**os.environ, "GOMP_SPINCOUNT": "10000"},
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["ways"]["inmo"]["ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--inmo", metavar="PROGRAM")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    graph = torch_data.load(args.data)
    print(f"{graph['users']} users, {graph['items']} items, {graph['edges']} interactions, dim {args.dim}, "
          f"{args.threads} threads, PyTorch {torch.__version__}")
    candidates, times, first = ways(graph, args.dim), {}, None
    for name in list(candidates):
        try:
            result = torch.cat(candidates[name]())
        except RuntimeError as error:
            print(f"{name:30s}  not available: {str(error).splitlines()[0]}")
            del candidates[name]
            continue
        first = result if first is None else first
        if not torch.allclose(result, first, atol=1e-4):
            raise SystemExit(f"torch_spmm: {name} gives other numbers")
        times[name] = []
    ours = []
    for _ in range(args.rounds):
        if args.inmo:
            ours.append(run_ours(args.inmo, args.data, args.threads))
        for name, run in candidates.items():
            begin = time.perf_counter()
            run()
            times[name].append(1e3 * (time.perf_counter() - begin))
    if ours:
        print(f"{'inmo':30s}  {statistics.median(ours):8.1f} ms  ({min(ours):.1f} .. {max(ours):.1f})")
    for name, found in sorted(times.items(), key=lambda pair: statistics.median(pair[1])):
        print(f"{name:30s}  {statistics.median(found):8.1f} ms  ({min(found):.1f} .. {max(found):.1f})", end="")
        ratio = [a / b for a, b in zip(found, ours)]
        print(f"  {statistics.median(ratio):.2f} ({min(ratio):.2f} .. {max(ratio):.2f}) times inmo" if ratio else "")


if __name__ == "__main__":
    main()
