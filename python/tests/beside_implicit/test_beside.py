"""The real implicit from PyPI beside inmo.implicit: the same arguments, shapes, types, kinds of exceptions, and similarities."""

import inspect
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix

pytest.importorskip("implicit")

import implicit.als  # noqa: E402
import implicit.bpr  # noqa: E402
import implicit.cpu.als  # noqa: E402
import implicit.cpu.bpr  # noqa: E402
import implicit.nearest_neighbours as theirs_near  # noqa: E402

import inmo.implicit.als  # noqa: E402
import inmo.implicit.bpr  # noqa: E402
import inmo.implicit.nearest_neighbours as ours_near  # noqa: E402

PAIRS = {
    "als": (implicit.als.AlternatingLeastSquares, inmo.implicit.als.AlternatingLeastSquares, {"factors": 8, "iterations": 4}),
    "bpr": (implicit.bpr.BayesianPersonalizedRanking, inmo.implicit.bpr.BayesianPersonalizedRanking, {"factors": 8, "iterations": 4}),
    "cosine": (theirs_near.CosineRecommender, ours_near.CosineRecommender, {"K": 20}),
    "tfidf": (theirs_near.TFIDFRecommender, ours_near.TFIDFRecommender, {"K": 20}),
    "bm25": (theirs_near.BM25Recommender, ours_near.BM25Recommender, {"K": 20}),
}
CLASSES = {"als": implicit.cpu.als.AlternatingLeastSquares, "bpr": implicit.cpu.bpr.BayesianPersonalizedRanking}


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(4)
    dense = rng.random((80, 40)) < np.where(np.arange(80)[:, None] % 4 == np.arange(40)[None] % 4, 0.4, 0.05)
    dense[np.arange(40), np.arange(40)] = True
    dense[:, 0] = False  # an item without users
    dense[1, :] = False
    dense[1, [4, 8]] = True
    return csr_matrix(dense.astype(np.float32))


@pytest.fixture(scope="module", params=list(PAIRS))
def both(request, matrix):
    theirs, ours, options = PAIRS[request.param]
    models = theirs(num_threads=1, **options), ours(num_threads=1, **options)
    for model in models:
        model.fit(matrix, show_progress=False)
    return (request.param, *models)


def outcome(call):
    try:
        return call()
    except Exception as fault:
        return fault


def same_shape(name, one, other):
    """The same kind of result: shapes and types of arrays, or an exception of the same kind."""
    if isinstance(one, Exception):
        assert isinstance(other, type(one)), (name, one, other)
        return
    assert not isinstance(other, Exception), (name, other)
    for mine, his in zip(other, one):
        assert mine.shape == his.shape and mine.dtype == his.dtype, (name, mine.shape, his.shape, mine.dtype, his.dtype)


def test_calls(both, matrix):
    kind, theirs, ours = both
    by_row = kind in ("cosine", "tfidf", "bm25")
    calls = {
        "one": lambda m: m.recommend(2, matrix[2], N=3),
        "long": lambda m: m.recommend(2, matrix[2], N=300) if not by_row else m.recommend(2, matrix[2], N=2),
        "many": lambda m: m.recommend([2, 3], matrix[[2, 3]], N=300),
        "array": lambda m: m.recommend(np.array([2, 3]), matrix[[2, 3]], N=5),
        "numpy number": lambda m: m.recommend(np.int64(2), matrix[2], N=3),
        "not filtered": lambda m: m.recommend(2, matrix[2], N=3, filter_already_liked_items=False),
        "filter_items": lambda m: m.recommend([2, 3], matrix[[2, 3]], N=5, filter_items=[4, 5]),
        "items": lambda m: m.recommend(2, matrix[2], N=2, items=[5, 6, 9]) if not by_row else m.recommend([2], matrix[2], N=3, items=[5, 6, 9]),
        "items many": lambda m: m.recommend([2, 3], matrix[[2, 3]], N=9, items=[5, 6, 9]),
        "items and filter": lambda m: m.recommend(2, matrix[2], items=[5, 6], filter_items=[9]),
        "bad items": lambda m: m.recommend(2, matrix[2], items=[5, 99]),
        "nobody": lambda m: m.recommend([], matrix[:0], N=4),
        "too few rows": lambda m: m.recommend([2, 3], matrix[2]),
        "no csr": lambda m: m.recommend(2, matrix[2].tocoo()),
        "unknown user": lambda m: m.recommend(800, matrix[2]) if not by_row else m.recommend(800, matrix[2], N=3),
        "recalculate": lambda m: m.recommend([2, 800], matrix[[2, 3]], N=3, recalculate_user=True),
        "similar many": lambda m: m.similar_items([2, 3], N=5),
        "similar users": lambda m: m.similar_users([2, 3], N=5),
        "rank_items": lambda m: m.rank_items(2, matrix[2], [5, 6]) if not by_row else m.recommend([2], matrix[2], N=2, items=[5, 6]),
    }
    if not by_row:
        calls["similar"] = lambda m: m.similar_items(2, N=5)
        calls["similar long"] = lambda m: m.similar_items([2, 3], N=300)
        calls["similar items"] = lambda m: m.similar_items([2, 3], N=2, items=[4, 5, 6])
        calls["similar unknown"] = lambda m: m.similar_items(99)
        calls["similar both"] = lambda m: m.similar_items(2, items=[4], filter_items=[5])
    for name, call in calls.items():
        with np.errstate(all="ignore"), pytest.warns() if name == "rank_items" and not by_row else _quiet():
            one = outcome(lambda: call(theirs))
        with pytest.warns() if name == "rank_items" and not by_row else _quiet():
            other = outcome(lambda: call(ours))
        same_shape(f"{kind}: {name}", one, other)


class _quiet:
    def __enter__(self):
        return self

    def __exit__(self, *about):
        return False


def test_arguments(both):
    """Every argument of implicit's methods is there, in its order and with its default."""
    kind, theirs, ours = both
    pairs = [(CLASSES.get(kind, type(theirs)).__init__, type(ours).__init__)]
    if kind == "bpr":  # implicit.cpu has no signature to look at
        pairs = [(implicit.bpr.BayesianPersonalizedRanking, type(ours))]
    elif kind == "als":
        pairs = [(implicit.als.AlternatingLeastSquares, type(ours))]
    names = ["recommend", "similar_items", "similar_users", "rank_items", "save"] + (["explain", "partial_fit_users", "partial_fit_items"] if kind == "als" else [])
    pairs += [(getattr(theirs, name), getattr(ours, name)) for name in names]
    for his, mine in pairs:
        wanted, found = inspect.signature(his).parameters, list(inspect.signature(mine).parameters.values())
        for place, (name, one) in enumerate(wanted.items()):
            if name in ("file", "fileobj_or_path", "self"):
                continue
            assert found[place].name == name, (his, name, found[place])
            if kind == "bpr" and name in ("learning_rate", "regularization"):
                continue  # another scale; docs/python.md says so
            assert found[place].default == one.default, (his, name)


def test_similarities_are_the_same(both, matrix):
    """Cosine, TF-IDF and BM25 give the numbers of implicit; its first neighbour is the item itself."""
    kind, theirs, ours = both
    if kind in ("als", "bpr"):
        pytest.skip("a matter of training")
    dense, full = theirs.similarity.toarray(), ours.similarity.toarray()
    common = (dense > 0) & (full > 0)
    np.fill_diagonal(common, False)
    if kind == "cosine":
        assert common.sum() > 300 and np.allclose(dense[common], full[common], rtol=1e-5)
    else:  # implicit counts the item without users among all items; the ratio is the same for all
        ratio = dense[common] / full[common]
        assert common.sum() > 300 and ratio.std() / ratio.mean() < 0.05


def test_als_solves_the_same_problem(matrix):
    """With alpha and regularization turned into the library's weights, the same scores come out. With as many factors as items
    there is only one solution."""
    options = {"factors": 40, "regularization": 5.0, "alpha": 20.0, "iterations": 200, "random_state": 3}
    theirs, ours = implicit.als.AlternatingLeastSquares(use_cg=False, num_threads=1, **options), inmo.implicit.als.AlternatingLeastSquares(**options)
    for model in (theirs, ours):
        model.fit(matrix, show_progress=False)
    known = np.flatnonzero(np.diff(matrix.indptr))
    one = theirs.user_factors[known] @ theirs.item_factors[1:].T
    other = ours.user_factors[known] @ ours.item_factors[1:].T * (options["alpha"] / (options["alpha"] - 1))
    assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.999 and np.abs(one - other).max() < 0.05 * np.abs(one).max()


def test_script(tmp_path):
    """examples/with_implicit.py runs with both; ours finds as much, and has INMO besides."""
    root = os.environ.get("INMO_ROOT")
    if not root:
        pytest.skip("the example is with the sources")
    data = pathlib.Path(root).parent / "shared" / "data" / "ml-100k.tsv.zst"
    log = tmp_path / "log.tsv"
    if data.exists():
        log.write_bytes(subprocess.run(["zstd", "-dc", str(data)], check=True, stdout=subprocess.PIPE).stdout)
        lines = [line for line in log.read_text().splitlines() if not line.startswith(("user", "#"))]
        log.write_text("\n".join(lines) + "\n")
    else:
        print("ml-100k is not beside the sources: the script runs on a synthetic log")
        inmo.synth(log, interactions=40000, seed=2)
    script = pathlib.Path(root) / "examples" / "with_implicit.py"
    found = {}
    for package in ("implicit", "inmo.implicit"):
        done = subprocess.run([sys.executable, str(script), package, str(log)], capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        assert done.returncode == 0, done.stderr
        print(done.stdout)
        found[package] = {line.split()[0]: float(line.split()[2]) for line in done.stdout.splitlines() if "recall@20" in line}
    theirs, ours = found["implicit"], found["inmo.implicit"]
    assert set(ours) == set(theirs) | {"INMO"}
    assert all(ours[name] > 0.9 * theirs[name] for name in theirs), found
    assert ours["INMO"] > 0.9 * max(theirs.values()), found
