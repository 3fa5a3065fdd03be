"""What a caller can get wrong: a clear exception each, never a crash. Also run under AddressSanitizer (tests/CMakeLists.txt)."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

import inmo
from inmo.implicit import ALS, INMO, INMOMF, CosineRecommender


def crooked(matrix, **parts):
    """A CSR matrix that scipy would not have made."""
    made = matrix.copy()
    for name, value in parts.items():
        setattr(made, name, value)
    return made


@pytest.fixture(scope="module")
def fitted(matrix):
    model = INMOMF(factors=8, iterations=2)
    model.fit(matrix, show_progress=False)
    return model


def test_values(matrix):
    for bad, words in ((-1.0, "negative"), (np.nan, "not finite"), (np.inf, "not finite")):
        worse = matrix.copy()
        worse.data[5] = bad
        with pytest.raises(inmo.InputError, match=words):
            ALS(factors=4).fit(worse, show_progress=False)
    with pytest.raises(inmo.InputError, match="complex"):
        inmo.dataset(matrix.astype(np.complex64))
    objects = crooked(matrix, data=np.array([object()] * matrix.nnz, dtype=object))
    with pytest.raises(inmo.InputError, match="object"):
        inmo.dataset(objects)


def test_zeros_order_and_repeats_change_nothing(matrix):
    expected = inmo.dataset(matrix).part("train")
    zeros = matrix.tolil()
    zeros = zeros.tocsr()
    extra = csr_matrix((np.append(matrix.data, 0), np.append(matrix.indices, 0), np.append(matrix.indptr[:-1], matrix.nnz + 1)), shape=matrix.shape)
    assert (extra.data == 0).sum() == 1
    rng = np.random.default_rng(1)
    shuffled = matrix.copy()
    for u in range(matrix.shape[0]):
        rng.shuffle(shuffled.indices[shuffled.indptr[u] : shuffled.indptr[u + 1]])
    shuffled.has_sorted_indices = False
    doubled = csr_matrix(
        (np.repeat(matrix.data, 2), np.repeat(matrix.indices, 2), 2 * matrix.indptr.astype(np.int64)), shape=matrix.shape
    )
    for other in (extra, shuffled, doubled, matrix.astype(np.int8), matrix.astype(bool), csr_array(matrix), matrix.astype(np.float64)):
        found = inmo.dataset(other).part("train")
        assert (found != expected).nnz == 0 and found.nnz == expected.nnz
    assert zeros.nnz == matrix.nnz


def test_shapes(matrix):
    for bad in (csr_matrix((0, 5)), csr_matrix((5, 0)), csr_matrix((5, 5))):
        with pytest.raises(inmo.InputError):
            inmo.dataset(bad)
    wide = csr_matrix((np.ones(1), np.array([5], np.int64), np.array([0, 1])), shape=(1, 2**31))
    with pytest.raises(inmo.InputError, match="2147483648 items"):
        ALS(factors=4).fit(wide, show_progress=False)
    with pytest.raises(inmo.InputError, match="do not fit"):
        inmo.dataset(crooked(matrix, indptr=matrix.indptr[:-3]))
    with pytest.raises(inmo.InputError, match="do not fit"):
        inmo.dataset(crooked(matrix, indices=matrix.indices[:-3]))
    high = matrix.indices.copy()
    high[7] = 60
    with pytest.raises(inmo.InputError, match="has item 60"):
        inmo.dataset(crooked(matrix, indices=high))
    high[7] = -3
    with pytest.raises(inmo.InputError, match="has item -3"):
        inmo.dataset(crooked(matrix, indices=high))
    with pytest.raises(inmo.InputError, match="out of range"):
        inmo.dataset(crooked(matrix, indices=high.astype(np.int64)))
    beyond = matrix.indptr.copy()
    beyond[5] = 10**8
    with pytest.raises(inmo.InputError, match="row 4 ends"):
        inmo.dataset(crooked(matrix, indptr=beyond))
    with pytest.raises(TypeError, match="ndarray"):
        inmo.dataset(matrix.toarray())
    with pytest.raises(AttributeError, match="tocsr"):
        ALS(factors=4).fit(matrix.toarray(), show_progress=False)
    with pytest.raises(inmo.InputError, match="61 items"):
        inmo.dataset(matrix, test=csr_matrix((90, 61)) + csr_matrix(([1.0], ([0], [60])), shape=(90, 61)))
    with pytest.raises(inmo.InputError, match="in the test and in the training"):
        inmo.dataset(matrix, test=matrix)


def test_rows(fitted, matrix):
    high = matrix[:2].copy()
    high.indices[0] = 60
    with pytest.raises(ValueError, match="0 to 59"):
        fitted.recommend([0, 1], high)
    high.indices[0] = -7
    with pytest.raises(ValueError, match="-7"):
        fitted.recommend([0, 1], high)
    bad = matrix[:2].copy()
    bad.indptr = np.array([0, 10**9, bad.indptr[2]])
    with pytest.raises(ValueError, match="row 0"):
        fitted.recommend([0, 1], bad)
    with pytest.raises(TypeError, match="whole numbers"):
        fitted.recommend(np.array([0.5, 1.5]), matrix[:2])
    with pytest.raises((TypeError, ValueError)):
        fitted.recommend(np.array([[0, 1]]), matrix[:1])
    with pytest.raises(TypeError):
        fitted.recommend("0", matrix[0])
    with pytest.raises(TypeError):
        fitted.recommend(0, matrix[0], N=2.5)
    assert fitted.recommend(0, matrix[0], N=0)[0].shape == (0,)
    wider = csr_matrix(([1.0, 1.0], ([0, 0], [3, 99])), shape=(1, 100))
    assert 3 not in fitted.recommend(0, wider, recalculate_user=True)[0]  # item 99 is unknown and skipped
    empty = fitted.recommend(0, csr_matrix((1, 60)), recalculate_user=True)[0]
    assert len(set(empty)) == 10  # by popularity


def test_ids(data, model):
    for bad, words in ((None, "expected `user`"), ("", "user"), ("no one", "neither the model")):
        with pytest.raises(inmo.Error, match=words):
            model.recommend(bad)
    for bad in (1.5, object(), True, ["a"]):
        with pytest.raises(TypeError):
            model.recommend(bad)
    with pytest.raises(TypeError, match="single string"):
        model.recommend(items="jazz-001")
    with pytest.raises(ValueError, match="NUL"):
        model.recommend("a\0b")
    with pytest.raises(ValueError, match="UTF-8"):
        model.recommend("\ud800")
    for bad in (0, -1, 2**31):
        with pytest.raises(inmo.UsageError, match="`k`"):
            model.recommend(items=["x"], k=bad)
    with pytest.raises(inmo.UnknownIdError):
        model.similar(item="no such item")
    with pytest.raises(inmo.UsageError):
        model.similar()
    for bad in ([("a", "")], [("", "b")], [("a", "x" * 5000)]):
        with pytest.raises(inmo.UsageError, match="event 0"):
            model.observe(bad)
    for bad in ([("a",)], [], [("a", "b"), ("a", "b", 3)], ["ab"], [(None, "b")], [("a", 1.5)]):
        with pytest.raises(inmo.InputError):
            model.observe(bad)
    with pytest.raises(TypeError):
        model.observe(3)


def test_options(data):
    with pytest.raises(TypeError, match="did you mean 'dropout'"):
        inmo.train(data, dropuot=0.3)
    with pytest.raises(inmo.UsageError, match="`dim`: found '0', expected .*whole number from 1 to 4096"):
        inmo.train(data, dim=0)
    with pytest.raises(inmo.UsageError, match="`dim`"):
        inmo.train(data, dim="many")
    with pytest.raises(inmo.UsageError, match="`dim`"):
        inmo.train(data, dim={})
    with pytest.raises(inmo.UsageError, match="`loss`"):
        inmo.train(data, loss="none")
    with pytest.raises(inmo.UsageError):
        inmo.train(data, model="no such model")
    with pytest.raises(inmo.UsageError, match="recipe"):
        inmo.train(data, recipe="quick")
    with pytest.raises(inmo.UsageError, match="prepared already"):
        inmo.train(data, k_core=3)
    with pytest.raises(inmo.UsageError, match="found no search|search|dim"):
        inmo.tune(data, {"dim": "x..y"}, model="mf")
    with pytest.raises(inmo.UsageError, match="command"):
        inmo.options("fly")
    for bad in ("2", 1.5, -1, 10**6):
        with pytest.raises(ValueError):
            inmo.set_threads(bad)


def test_files(data, model, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.inmo"):
        inmo.load(tmp_path / "nothing.inmo")
    (tmp_path / "bad.inmo").write_bytes(b"no model" * 100)
    with pytest.raises(inmo.FormatError):
        inmo.load(tmp_path / "bad.inmo")
    with pytest.raises(FileNotFoundError):
        inmo.read(tmp_path / "nothing.tsv")
    (tmp_path / "bad.tsv").write_text("a\tb\nc\n")
    with pytest.raises(inmo.InputError, match="line 2|bad.tsv:2|2"):
        inmo.read(tmp_path / "bad.tsv", columns="user,item")
    with pytest.raises(inmo.FileError):
        model.save(tmp_path / "no folder" / "model.inmo")
    with pytest.raises(TypeError):
        inmo.load(3)
    with pytest.raises(ValueError, match="NUL"):
        inmo.load("a\0b")
    with pytest.raises(inmo.InputError, match="no user and item"):
        inmo.prepare({"a": [1], "b": [2]})
    with pytest.raises(inmo.InputError, match="pair 2"):
        inmo.prepare([("a", "b"), ("c",)])
    with pytest.raises(inmo.InputError, match="pair 2"):
        inmo.prepare({"user": ["a", None], "item": ["b", "c"]})
    with pytest.raises(inmo.InputError, match="pair 2"):
        inmo.prepare({"user": ["a", "b"], "item": ["b", "c"], "rating": [4.0, np.nan]})
    with pytest.raises(inmo.InputError, match="nothing is left"):
        inmo.prepare([("a", "b")], k_core=5)


def test_missing_or_old_library(tmp_path):
    code = "import inmo"

    def failing(path):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "INMO_LIBRARY": str(path)}, capture_output=True, text=True
        )
        assert done.returncode == 1, done.stderr
        return done.stderr.strip().split("\n")[-1]

    assert failing(tmp_path / "none.so").startswith("ImportError: cannot load libinmo")
    (tmp_path / "text.so").write_text("no library")
    assert failing(tmp_path / "text.so").startswith("ImportError: cannot load libinmo")
    compiler = next((one for one in ("cc", "gcc", "clang") if subprocess.call(["which", one], stdout=subprocess.DEVNULL) == 0), None)
    if not compiler or "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("there is no C compiler to make a too old library with")
    for source, words in (
        ("int x;", "has no inmo_abi"),
        ('int inmo_abi(void){return 7;} const char *inmo_version(void){return "9.9";}', "libinmo 9.9 with ABI 7"),
        (f'int inmo_abi(void){{return {inmo._library.ABI};}} const char *inmo_version(void){{return "0.0.1";}}', "too old: it has no inmo_"),
    ):
        (tmp_path / "old.c").write_text(source)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(tmp_path / "old.so"), str(tmp_path / "old.c")], check=True)
        assert words in failing(tmp_path / "old.so")


def test_eight_threads_and_events(matrix):
    model = INMO(factors=8, iterations=2)
    model.fit(matrix, show_progress=False)
    view = model._live
    faults, done = [], threading.Event()

    def ask(seed):
        try:
            rng = np.random.default_rng(seed)
            while not done.is_set():
                users = rng.integers(0, 90, 40)
                ids, scores = view.rank(users, matrix.indptr[:41].astype(np.int64), matrix.indices[: matrix.indptr[40]], 5)
                assert ids.shape == (40, 5)
                view.recommend(items=[int(one) for one in rng.integers(0, 60, 3)], k=5)
                assert np.isfinite(view.item_vectors).all()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for step in range(60):
        view.observe([(f"late {step % 9}", str(step % 60)), (str(step % 90), f"fresh {step % 7}")])
        if step % 20 == 19:
            view.refresh()
    done.set()
    for thread in threads:
        thread.join()
    assert not faults


def _in_child(model, matrix, queue):
    ids, _ = model.recommend(np.arange(90), matrix, N=5)
    queue.put(ids.tolist())
    try:
        inmo.set_threads(2)
    except RuntimeError as fault:
        queue.put(str(fault))


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer does not survive a fork of threads")
def test_fork_after_training(matrix):
    model = INMO(factors=8, iterations=2)
    model.fit(matrix, show_progress=False)
    expected = model.recommend(np.arange(90), matrix, N=5)[0].tolist()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(model, matrix, queue))
    child.start()
    assert queue.get(timeout=60) == expected
    assert "spawn" in queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0


def test_arrays_of_a_freed_view(matrix):
    model = CosineRecommender(K=5)
    model.fit(matrix, show_progress=False)
    kept = model.similarity
    other = ALS(factors=4, iterations=2, alpha=3)
    other.fit(matrix, show_progress=False)
    factors = other.user_factors
    before, total = factors.copy(), kept.sum()
    other.fit(matrix[:, ::-1], show_progress=False)
    del model, other
    assert np.array_equal(factors, before) and kept.sum() == total
