#!/usr/bin/env python3
"""inmo.implicit beside implicit 0.7 from PyPI, in one run: fit, recommend for everybody, one unseen row; and what Python adds.

    bench/compare_implicit.py [--data FOLDER] [--only NAME,...] [--tune] [--json FILE]

Both packages must be importable (python/requirements-implicit.txt has implicit; tools/python.sh or INMO_LIBRARY and PYTHONPATH give
inmo). Both run with two threads, in turns; times are the least of the repetitions. Settings were chosen for both alike, from grids of
the same size, by validation NDCG@20 on split seed 11 (--tune does it again and prints every trial); what is reported here is the test
part of split seed 1. NDCG is computed by the same code for both, from the lists that recommend returns.
"""

import argparse
import ctypes
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import warnings  # noqa: E402

warnings.simplefilter("ignore")  # implicit converts its own matrices, and says so each time

import implicit.als  # noqa: E402
import implicit.bpr  # noqa: E402
import implicit.nearest_neighbours  # noqa: E402
import numpy as np  # noqa: E402

import inmo  # noqa: E402
import inmo.implicit as ours  # noqa: E402
from inmo._library import RowsQuery, lib  # noqa: E402

THREADS, N = 2, 20
DATA = {"ml-100k": {}, "gowalla": {"columns": "user,item,-"}}

# What is tuned: a grid of equal size for each of the two. The first of each list is what the other arguments stay at.
GRIDS = {
    "ALS": (
        {"factors": [64], "iterations": [15], "alpha": [5.0, 20.0], "regularization": [1.0, 10.0]},
        {"factors": [64], "iterations": [8], "alpha": [5.0, 20.0], "regularization": [1.0, 10.0]},
    ),
    "cosine": ({"K": [20, 50, 100, 200]}, {"K": [20, 50, 100, 200]}),
    "BM25": ({"K": [50, 200], "K1": [1.2], "B": [0.25, 0.75]}, {"K": [50, 200], "K1": [1.2], "B": [0.25, 0.75]}),
    "BPR": (
        {"factors": [64], "iterations": [30, 100], "learning_rate": [0.01, 0.05], "regularization": [0.01]},
        {"factors": [64], "iterations": [10, 20], "learning_rate": [0.005, 0.02]},
    ),
}
# Found by --tune on split seed 11.
FOUND = pathlib.Path(__file__).parent / "compare_implicit.json"
CHOSEN = json.loads(FOUND.read_text()) if FOUND.exists() else {}


def make(name, mine, options):
    options = dict(options, num_threads=THREADS)
    if name in ("ALS", "BPR"):
        options["random_state"] = 1
    if mine:
        kind = {"ALS": ours.ALS, "cosine": ours.CosineRecommender, "BM25": ours.BM25Recommender, "BPR": ours.BPR}[name]
        return kind(**options)
    near = implicit.nearest_neighbours
    kind = {"ALS": implicit.als.AlternatingLeastSquares, "cosine": near.CosineRecommender, "BM25": near.BM25Recommender,
            "BPR": implicit.bpr.BayesianPersonalizedRanking}[name]
    return kind(**options)


def parts(folder, name, seed):
    data = inmo.prepare(folder / f"{name}.tsv.zst", seed=seed, **DATA[name])
    return {part: data.part(part).sorted_indices().copy() for part in ("train", "valid", "test")}, data


def ndcg(ids, held):
    """NDCG@N of lists (users, N) against the held-out items, over users who have some."""
    gain = 1 / np.log2(np.arange(N) + 2)
    best = np.cumsum(gain)
    found = []
    for user, row in enumerate(ids):
        wanted = set(held.indices[held.indptr[user]:held.indptr[user + 1]])
        if wanted:
            hits = np.array([item in wanted for item in row])
            found.append((gain[: len(row)] * hits).sum() / best[min(len(wanted), N) - 1])
    return float(np.mean(found))


def timed(call):
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def quality(model, train, seen, held):
    users = np.arange(train.shape[0])
    return ndcg(model.recommend(users, seen, N=N)[0], held)


def tune(folder, name, only):
    """The best of each grid on the validation part of split seed 11, and every trial."""
    found, _ = parts(folder, name, 11)
    chosen = {}
    for system in only:
        chosen[system] = []
        for mine, grid in enumerate(GRIDS[system]):
            trials = []
            for values in itertools.product(*grid.values()):
                options = dict(zip(grid, values))
                model = make(system, mine, options)
                seconds, _ = timed(lambda: model.fit(found["train"], show_progress=False))
                score = quality(model, found["train"], found["train"], found["valid"])
                trials.append((score, options))
                print(f"tune {name} {system} {'inmo' if mine else 'implicit'}: ndcg@20 {score:.4f} in {seconds:.1f} s {options}", flush=True)
            chosen[system].append(max(trials, key=lambda trial: trial[0])[1])
    return chosen


def compare(folder, name, only, repetitions):
    found, _ = parts(folder, name, 1)
    train, test = found["train"], found["test"]
    seen = (train + found["valid"]).astype(np.float32)
    users = np.arange(train.shape[0])
    rng = np.random.default_rng(1)
    results = {}
    for system in only:
        options = CHOSEN.get(name, {}).get(system) or [{key: values[0] for key, values in grid.items()} for grid in GRIDS[system]]
        times = {mine: {"fit": [], "all": [], "one": []} for mine in (0, 1)}
        scores = {}
        for _ in range(repetitions):
            for mine in (0, 1):  # in turns
                model = make(system, mine, options[mine])
                times[mine]["fit"].append(timed(lambda: model.fit(train, show_progress=False))[0])
                seconds, (ids, _) = timed(lambda: model.recommend(users, seen, N=N))
                times[mine]["all"].append(seconds)
                scores[mine] = ndcg(ids, test)
                if mine and system not in ("BPR",) or not mine and system != "BPR":
                    rows = [seen[int(user)] for user in rng.integers(0, len(users), 200)]
                    each = [timed(lambda row=row: model.recommend(0, row, N=N, recalculate_user=True))[0] for row in rows]
                    times[mine]["one"].append(statistics.median(each))
        results[system] = {
            "settings": options,
            "ndcg": scores,
            **{what: {mine: min(times[mine][what]) if times[mine][what] else None for mine in (0, 1)} for what in ("fit", "all", "one")},
        }
        line = results[system]
        print(f"{name} {system}", flush=True)
        for mine, package in enumerate(("implicit", "inmo")):
            one = line["one"][mine]
            print(f"  {package:9s} fit {line['fit'][mine]:8.3f} s   everybody {line['all'][mine]:8.3f} s   one unseen row "
                  f"{'   none' if one is None else f'{1e6 * one:7.0f} us'}   ndcg@20 {line['ndcg'][mine]:.4f}   {options[mine]}", flush=True)
        ratio = [line[what][0] / line[what][1] if line[what][1] and line[what][0] else float("nan") for what in ("fit", "all", "one")]
        print(f"  implicit / inmo: fit {ratio[0]:.2f}, everybody {ratio[1]:.2f}, one row {ratio[2]:.2f}", flush=True)
    return results


def what_python_adds(folder, name, repetitions):
    """The package beside the library's own calls, in the same process: seconds and shares."""
    _, data = parts(folder, name, 1)
    matrix = data.part("train")
    results = {}
    inmo.set_threads(THREADS)
    over = []
    for _ in range(repetitions):
        model = ours.INMO(factors=64, iterations=4, hold_out=0)
        seconds, _ = timed(lambda: model.fit(matrix, show_progress=False))
        inside = model.trained_seconds
        over.append(seconds / inside - 1)
    results["fit over inmo_train"] = min(over)
    print(f"{name} fit adds {100 * min(over):.2f} % to inmo_train (4 epochs of INMO-LightGCN, {inside:.1f} s)", flush=True)

    view = model._live.warm()
    users = np.arange(matrix.shape[0])
    library = ctypes.CDLL(inmo._library.find_library())
    query = inmo._library.Query()
    lib.query_init_sized(query, ctypes.sizeof(query))
    query.k = N
    error = inmo._library.ErrorRecord()
    # inmo_abi takes whatever it is called with and returns 0: a callback that costs nothing.
    def everybody():
        return library.inmo_recommend_all(view._pointer, ctypes.byref(query), None, library.inmo_abi, None, ctypes.byref(error))

    ratios = {"known": [], "unseen": []}
    shown = {"known": [], "unseen": [], "program": []}
    for _ in range(repetitions + 1):
        base, status = timed(everybody)
        assert status == 0
        shown["program"].append(base)
        for kind, recalculate in (("known", False), ("unseen", True)):
            seconds, _ = timed(lambda: model.recommend(users, matrix, N=N, recalculate_user=recalculate))
            ratios[kind].append(seconds / base - 1)
            shown[kind].append(seconds)
    for kind in ("known", "unseen"):
        results[f"batch of {kind} users over inmo_recommend_all"] = min(shown[kind]) / min(shown["program"]) - 1
        print(f"{name} recommend for {len(users):,} {kind} users: {min(shown[kind]):.3f} s, inmo_recommend_all {min(shown['program']):.3f} s: "
              f"{100 * (min(shown[kind]) / min(shown['program']) - 1):+.1f} %", flush=True)

    row = matrix[5]
    offset, item = model._matrix_rows(row, 1)
    rows = RowsQuery()
    rows.size, rows.count, rows.offset, rows.item, rows.item_count, rows.k = ctypes.sizeof(rows), 1, offset.ctypes.data, item.ctypes.data, len(item), N
    ids, scores = np.empty(N, np.int32), np.empty(N, np.float32)
    arguments = view._pointer, rows, None, ids.ctypes.data, scores.ctypes.data
    one = [timed(lambda: model.recommend(0, row, N=N, recalculate_user=True))[0] for _ in range(600)]
    call = [timed(lambda: lib.recommend_rows(*arguments))[0] for _ in range(600)]
    added = statistics.median(one) - statistics.median(call)
    results["one row over the C call, us"] = 1e6 * added
    print(f"{name} one unseen row: {1e6 * statistics.median(one):.0f} us, the C call {1e6 * statistics.median(call):.0f} us: {1e6 * added:+.0f} us", flush=True)
    code = "import time; t = time.perf_counter(); import inmo; print(time.perf_counter() - t)"
    imported = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(5))
    results["import, ms"] = 1e3 * imported
    print(f"import inmo: {1e3 * imported:.0f} ms", flush=True)
    inmo.set_threads(0)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="../shared/data", type=pathlib.Path)
    parser.add_argument("--only", default="ALS,cosine,BM25,BPR,python")
    parser.add_argument("--sets", default="ml-100k,gowalla")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--repetitions", default=3, type=int)
    parser.add_argument("--json")
    given = parser.parse_args()
    only = given.only.split(",")
    results = {}
    for name in given.sets.split(","):
        if not (given.data / f"{name}.tsv.zst").exists():
            print(f"compare_implicit: {name} is not in {given.data}: skipped")
            continue
        systems = [system for system in GRIDS if system in only]
        if given.tune:
            results[name] = tune(given.data, name, systems)
            continue
        results[name] = compare(given.data, name, systems, given.repetitions)
        if "python" in only:
            results[name]["python"] = what_python_adds(given.data, name, given.repetitions)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
