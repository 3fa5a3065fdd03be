#!/usr/bin/python3
"""compare_topk.py - the 20 best of a million items for one query, one core: this library beside faiss.

    /usr/bin/python3 bench/compare_topk.py [build/bench_topk] [--items 1000000] [--dim 64] [--k 20] [--rounds 5]

Ours, both exact: the quantised first pass (src/kernel/quantised.c) and a plain scan in float. Of faiss (Debian's
python3-faiss, compiled for any x86-64): IndexFlatIP, which is exact; a scalar quantiser of 8 bits with its best candidates
scored again in float; inverted lists (IVF) and a graph (HNSW), which look at a part of the items, at the least effort that
reaches the recall asked for. All on one thread, a query at a time, in rounds that are interleaved; the ratio is to our
quantised time of the same round: median, least and most.

Items lie in groups and differ in length, as trained representations do: item = length (centre of its group + noise),
length log-normal; a query is the mean of 20 items of two groups. faiss trains on them as they are; with inner products it
has no shortcut that lengths would break.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import faiss
import numpy


def make(items, dim, queries, seed=1):
    random = numpy.random.default_rng(seed)
    groups = max(2, items // 1000)
    centre = random.standard_normal((groups, dim), dtype=numpy.float32)
    group = random.integers(groups, size=items)
    rows = centre[group]
    rows += random.standard_normal((items, dim), dtype=numpy.float32)
    rows *= random.lognormal(0, 0.3, (items, 1)).astype(numpy.float32) / numpy.float32(dim ** 0.5)
    by_group = numpy.argsort(group, kind="stable")
    begin = numpy.searchsorted(group[by_group], numpy.arange(groups + 1))
    query = numpy.empty((queries, dim), numpy.float32)
    for n in range(queries):
        some = [by_group[random.integers(begin[g], begin[g + 1], 10)]
                for g in random.choice(numpy.flatnonzero(numpy.diff(begin)), 2, replace=False)]
        query[n] = rows[numpy.concatenate(some)].mean(axis=0)
    return rows, query


class Program:
    """bench_topk, which runs all queries once for every line it is given."""

    def __init__(self, program, rows, query, k, folder):
        paths = [os.path.join(folder, name) for name in ("rows", "queries")]
        rows.tofile(paths[0])
        query.tofile(paths[1])
        self.count = len(query)
        self.process = subprocess.Popen([program, *paths, str(rows.shape[1]), str(k)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def answers(self):
        self.process.stdin.write("r\n")
        self.process.stdin.flush()
        found = [[int(word) for word in self.process.stdout.readline().split()] for _ in range(self.count)]
        return numpy.array(found), json.loads(self.process.stdout.readline())

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def ask(index, query, k):
    """A query at a time: milliseconds a query, and the rows found."""
    found = numpy.empty((len(query), k), numpy.int64)
    begin = time.perf_counter()
    for n in range(len(query)):
        found[n] = index.search(query[n:n + 1], k)[1][0]
    return 1e3 * (time.perf_counter() - begin) / len(query), found


def recall(found, exact):
    return numpy.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), exact.tolist())])


def least_effort(set_effort, efforts, index, query, k, exact, wanted):
    """The least effort that reaches the recall, left set; returns the recall it has."""
    reached = 0
    for effort in efforts:
        set_effort(effort)
        reached = recall(ask(index, query, k)[1], exact)
        if reached >= wanted:
            break
    return reached


def indexes(rows, query, k, exact, wanted, with_graph):
    """(name, index, recall) of each way of faiss."""
    dim = rows.shape[1]
    flat = faiss.IndexFlatIP(dim)
    flat.add(rows)
    yield "faiss flat (exact)", flat, recall(ask(flat, query, k)[1], exact)

    coarse = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    refined = faiss.IndexRefineFlat(coarse)
    refined.train(rows)
    refined.add(rows)

    def set_factor(factor):
        refined.k_factor = factor
    yield "faiss SQ8 + refine", refined, least_effort(set_factor, (1, 2, 4, 8), refined, query, k, exact, wanted)

    lists = int(len(rows) ** 0.5)
    quantizer = faiss.IndexFlatIP(dim)
    inverted = faiss.IndexIVFFlat(quantizer, dim, lists, faiss.METRIC_INNER_PRODUCT)
    inverted.cp.niter = 6
    inverted.train(rows[:: max(1, len(rows) // (40 * lists))])
    inverted.add(rows)

    def set_probes(probes):
        inverted.nprobe = probes
    reached = least_effort(set_probes, [p for p in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, lists) if p <= lists], inverted,
                           query, k, exact, wanted)
    yield f"faiss IVF{lists}, nprobe {inverted.nprobe}", inverted, reached

    if with_graph:
        graph = faiss.IndexHNSWFlat(dim, 32, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = 100
        faiss.omp_set_num_threads(os.cpu_count())
        graph.add(rows)
        faiss.omp_set_num_threads(1)

        def set_breadth(breadth):
            graph.hnsw.efSearch = breadth
        reached = least_effort(set_breadth, (20, 40, 80, 160, 320, 640, 1280), graph, query, k, exact, wanted)
        yield f"faiss HNSW32, efSearch {graph.hnsw.efSearch}", graph, reached


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} .. {max(values):.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", nargs="?", default="build/bench_topk")
    parser.add_argument("--items", type=int, default=1000000)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--recall", type=float, default=0.99, help="what the indexes that are not exact must reach")
    parser.add_argument("--hnsw", action="store_true", help="also HNSW, whose index takes minutes to build")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"compare_topk: warning: the load is {load:.1f}; the times are not worth keeping", file=sys.stderr)
    faiss.omp_set_num_threads(1)
    rows, query = make(args.items, args.dim, args.queries)
    with tempfile.TemporaryDirectory() as folder:
        ours = Program(args.program, rows, query, args.k, folder)
        exact, first = ours.answers()
        if not first["same"]:
            raise SystemExit("compare_topk: the quantised pass and the plain scan do not find the same rows")
        theirs = list(indexes(rows, query, args.k, exact, args.recall, args.hnsw))
        times = {"inmo quantised (exact)": [], "inmo plain scan (exact)": [], **{name: [] for name, _, _ in theirs}}
        recalls = {name: 1.0 for name in times} | {name: float(reached) for name, _, reached in theirs}
        for _ in range(args.rounds):
            mine = ours.run()
            times["inmo quantised (exact)"].append(mine["quantised_ms"])
            times["inmo plain scan (exact)"].append(mine["scan_ms"])
            for name, index, _ in theirs:
                times[name].append(ask(index, query, args.k)[0])
        ours.process.stdin.close()
        ours.process.wait()
    if args.json:
        print(json.dumps({"items": args.items, "dim": args.dim, "k": args.k, "kernel": first["kernel"],
                          "scored_in_float": first["scored"], "faiss": faiss.__version__,
                          "faiss_compiled": faiss.get_compile_options().split(), "ms": times, "recall": recalls}))
        return
    print(f"{args.items} items, dim {args.dim}, the {args.k} best, one core, {args.queries} queries a round, {args.rounds} "
          f"rounds; kernel {first['kernel']}, {first['scored']:.0f} items scored in float; faiss {faiss.__version__}, "
          f"{faiss.get_compile_options().strip()}")
    for name, found in times.items():
        ratio = [a / b for a, b in zip(found, times["inmo quantised (exact)"])]
        print(f"{name:34s} recall {recalls[name]:.4f}  {spread(found, 3):26s} ms a query, {spread(ratio)} times ours")


if __name__ == "__main__":
    main()
