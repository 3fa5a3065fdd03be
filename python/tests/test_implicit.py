"""inmo.implicit: shapes, types, padding and errors of implicit 0.7 (compared with the real one in beside_implicit/), and rows that
the model has never seen."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import inmo
from inmo.implicit import (
    ALS,
    BPR,
    EASE,
    GFCF,
    INMO,
    INMOMF,
    MF,
    BM25Recommender,
    CosineRecommender,
    ItemKNN,
    LightGCN,
    MultVAE,
    Popular,
    TFIDFRecommender,
)

LOWEST = -np.finfo(np.float32).max


def make(kind, **more):
    small = {
        ALS: dict(factors=8, iterations=4, alpha=5, regularization=0.1),
        BPR: dict(factors=8, iterations=5),
        INMO: dict(factors=8, iterations=4),
        INMOMF: dict(factors=8, iterations=4),
        LightGCN: dict(factors=8, iterations=4),
        MF: dict(factors=8, iterations=4),
        MultVAE: dict(factors=8, iterations=3),
    }
    return kind(**{**small.get(kind, {}), **more})


VECTORS = [ALS, BPR, INMO, INMOMF, LightGCN, MF]
ROWS = [CosineRecommender, TFIDFRecommender, BM25Recommender, ItemKNN, EASE, GFCF, MultVAE, Popular]
INDUCTIVE = [ALS, INMO, INMOMF] + ROWS


@pytest.fixture(scope="module")
def fitted(matrix):
    kept = {}

    def get(kind):
        if kind not in kept:
            kept[kind] = make(kind)
            kept[kind].fit(matrix, show_progress=False)
        return kept[kind]

    return get


@pytest.mark.parametrize("kind", VECTORS + ROWS)
def test_lists(kind, matrix, fitted):
    model = fitted(kind)
    users = np.arange(40)
    ids, scores = model.recommend(users, matrix[users], N=7)
    assert ids.shape == scores.shape == (40, 7) and ids.dtype == np.int32 and scores.dtype == np.float32
    for user in (0, 17, 39):
        one, its = model.recommend(user, matrix[user], N=7)
        assert one.dtype == np.int32 and one.ndim == 1
        assert np.allclose(its, scores[user][: len(its)], rtol=1e-3, atol=1e-4)
        assert not set(one) & set(matrix[user].indices)
        if kind is not Popular:
            assert (np.diff(its) <= 1e-6).all()
    everything, its = model.recommend(users, matrix[users], N=80)
    assert everything.shape == (40, 80)
    liked = np.diff(matrix[users].indptr)
    assert ((everything == -1).sum(axis=1) >= 20 + liked).all() and (its[everything == -1] == LOWEST).all()


@pytest.mark.parametrize("kind", VECTORS + ROWS)
def test_filters(kind, matrix, fitted):
    model = fitted(kind)
    users = [3, 4, 5]
    top = model.recommend(users, matrix[users], N=4)[0]
    gone = [int(one) for one in np.unique(top[top >= 0])[:2]]
    assert not set(gone) & set(model.recommend(users, matrix[users], N=20, filter_items=gone)[0].ravel())
    chosen = [int(one) for one in range(0, 60, 5)]
    only = model.recommend(users, matrix[users], N=30, items=chosen)[0]
    assert set(only.ravel()) <= set(chosen) | {-1}
    with pytest.raises(ValueError):
        model.recommend(3, matrix[3], items=[1], filter_items=[2])
    with pytest.raises(IndexError):
        model.recommend(3, matrix[3], items=[1, 60])
    with pytest.raises(ValueError, match="1 row for every user"):
        model.recommend([3, 4], matrix[3])
    with pytest.raises(ValueError, match="CSR"):
        model.recommend(3, matrix[3].tocoo())
    seen = model.recommend(3, matrix[3], N=60, filter_already_liked_items=False)[0]
    assert set(matrix[3].indices) & set(seen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning):
            model.rank_items(3, matrix[3], [1, 2])


@pytest.mark.parametrize("kind", INDUCTIVE)
def test_rows_nobody_has_seen(kind, matrix, fitted):
    """One call for many rows gives what each row gets alone, and what the library says of the same history."""
    model = fitted(kind)
    rng = np.random.default_rng(5)
    rows = csr_matrix(rng.random((50, 60)) < 0.1, dtype=np.float64)
    ids, scores = model.recommend(np.zeros(50, int), rows, N=6, recalculate_user=True)
    for place in (0, 23, 49):
        alone = model.recommend(10**6, rows[place], N=6, recalculate_user=True)
        assert np.allclose(alone[1], scores[place][: len(alone[1])], rtol=1e-3, atol=1e-4)
        asked = model.model.recommend(items=[int(one) for one in rows[place].indices], k=6)
        assert np.allclose(asked.scores, alone[1], rtol=1e-3, atol=1e-4)
        assert [int(one) for one in asked.ids] == list(alone[0])


@pytest.mark.parametrize("kind", [BPR, LightGCN, MF])
def test_lookup_models_say_so(kind, matrix, fitted):
    model = fitted(kind)
    with pytest.raises(NotImplementedError, match="recalculate_user"):
        model.recommend(0, matrix[0], recalculate_user=True)
    with pytest.raises(NotImplementedError):
        model.partial_fit_users([0], matrix[0])
    with pytest.raises(IndexError):
        model.recommend(90, matrix[0])
    with pytest.raises(IndexError):
        model.recommend(-1, matrix[0])


@pytest.mark.parametrize("kind", [ALS, INMO, LightGCN])
def test_neighbours(kind, matrix, fitted):
    model = fitted(kind)
    ids, scores = model.similar_items(5, N=4)
    assert ids[0] == 5 and abs(scores[0] - 1) < 1e-5 and ids.shape == (4,) and scores.dtype == np.float32
    factors = model.item_factors
    norms = np.linalg.norm(factors, axis=1)
    cosine = factors @ factors[5] / norms / norms[5]
    assert np.allclose(scores, np.sort(cosine)[::-1][:4], atol=1e-5)
    many, its = model.similar_items([5, 6], N=70)
    assert many.shape == (2, 70) and (many[:, 60:] == -1).all() and list(many[0][:4]) == list(ids)
    assert set(model.similar_items(5, N=9, items=[1, 2, 3])[0]) == {1, 2, 3, -1}
    assert 5 not in model.similar_items(5, N=9, filter_items=[5])[0]
    near, how = model.similar_users([0, 1], N=3)
    assert list(near[:, 0]) == [0, 1] and np.allclose(how[:, 0], 1, atol=1e-5)
    with pytest.raises(IndexError):
        model.similar_items(60)


def test_neighbours_of_neighbours(matrix, fitted):
    model = fitted(CosineRecommender)
    ids, scores = model.similar_items(5, N=6)
    assert ids[0] == 5 and scores.dtype == np.float64
    dense = matrix.toarray()
    cosine = dense.T @ dense[:, 5] / np.sqrt(dense.sum(axis=0) * dense[:, 5].sum())
    assert np.allclose(scores[1:], [cosine[one] for one in ids[1:]], atol=1e-6)
    assert model.similarity.shape == (60, 60)
    with pytest.raises(NotImplementedError):
        model.similar_users(1)


@pytest.mark.parametrize("kind", [ALS, INMO, EASE, CosineRecommender])
def test_explain(kind, matrix, fitted):
    model = fitted(kind)
    item = int(model.recommend(7, matrix[7], N=1)[0][0])
    total, parts, weights = model.explain(7, matrix, item, N=3)
    assert len(parts) <= 3 and {one for one, _ in parts} <= set(matrix[7].indices) and weights is None
    score = model.recommend(7, matrix[7], N=1, recalculate_user=True)[1][0]
    assert abs(total - score) < 1e-4
    assert abs(sum(part for _, part in model.explain(7, matrix, item, N=999)[1]) - total) < 0.6 * abs(total) + 1e-4


@pytest.mark.parametrize("kind", [ALS, INMO])
def test_partial_fit_users(kind, matrix):
    model = make(kind)
    model.fit(matrix, show_progress=False)
    row = csr_matrix(([1.0, 1, 1], ([0, 0, 0], [1, 5, 9])), shape=(1, 60))
    model.partial_fit_users([0, 95], csr_matrix(np.vstack([row.toarray()] * 2)))
    assert model.user_factors.shape == (96, 8) and not model.user_factors[92].any()
    expected = model.recommend(0, row, N=5, recalculate_user=True)
    for user in (0, 95):
        found = model.recommend(user, row, N=5)
        assert np.allclose(found[1], expected[1], rtol=0.02, atol=1e-3)
    with pytest.raises(IndexError):
        model.recommend(96, row)
    with pytest.raises(TypeError):
        pickle.dumps(model)
    with pytest.raises(ValueError):
        model.partial_fit_users([1, 2], row)


def test_partial_fit_items(matrix):
    model = make(INMO)
    model.fit(matrix, show_progress=False)
    model.partial_fit_items([62], csr_matrix(([1.0] * 5, ([0] * 5, [0, 4, 8, 12, 16])), shape=(1, 90)))
    assert model.item_factors.shape == (63, 8) and model.item_factors[62].any() and not model.item_factors[61].any()
    ids = model.recommend(20, matrix[20], N=60)[0]
    assert 62 in ids and 61 not in ids
    with pytest.raises(NotImplementedError):
        make_fitted = make(ALS)
        make_fitted.fit(matrix, show_progress=False)
        make_fitted.partial_fit_items([0], matrix.T.tocsr()[0])


def test_gaps_in_the_matrix():
    """Users and items without interactions keep their numbers."""
    dense = np.zeros((12, 10), np.float32)
    dense[np.ix_([0, 1, 3, 4, 6, 7, 9], [1, 2, 4, 5, 7, 9])] = np.random.default_rng(3).random((7, 6)) < 0.6
    dense[0, :] = [0, 1, 1, 0, 1, 1, 0, 1, 0, 1]
    sparse = csr_matrix(dense)
    for kind in (ALS, INMO, MF, CosineRecommender):
        model = make(kind, **({"hold_out": 0} if kind in (INMO, MF) else {}))
        model.fit(sparse, show_progress=False)
        ids, scores = model.recommend(np.arange(12), sparse, N=10)
        assert not set(ids[0]) & {1, 2, 4, 5, 7, 9}
        if kind is not INMO:
            assert set(ids.ravel()) <= {-1, 1, 2, 4, 5, 7, 9}
        if kind is MF:
            assert (ids[2] == -1).all() and (scores[2] == LOWEST).all()
        if kind in (ALS, MF):
            assert model.user_factors.shape == (12, 8) and not model.user_factors[2].any()
            assert model.similar_items(0, N=3)[0].tolist() == [-1, -1, -1]


def test_save_load_copy_pickle(matrix, fitted, tmp_path):
    for kind in (ALS, INMO, CosineRecommender, EASE):
        model = fitted(kind)
        expected = model.recommend([1, 2], matrix[[1, 2]], N=5)
        stream = io.BytesIO()
        model.save(stream)
        stream.seek(0)
        model.save(str(tmp_path / "model"))
        others = [kind.load(stream), kind.load(str(tmp_path / "model")), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
        for other in others:
            found = other.recommend([1, 2], matrix[[1, 2]], N=5)
            assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])
            assert other.get_params() == model.get_params()
    with pytest.raises(ValueError, match="expected a BayesianPersonalizedRanking"):
        BPR.load(str(tmp_path / "model.npz"))
    assert pickle.loads(pickle.dumps(ALS(factors=3))).factors == 3


def test_factors_are_views(matrix, fitted):
    model = fitted(ALS)
    assert not model.item_factors.flags.owndata and not model.item_factors.flags.writeable
    first, again = model.item_factors, model.item_factors
    assert first.__array_interface__["data"] == again.__array_interface__["data"]
    assert np.allclose(model.recommend(0, matrix[0], N=1)[1][0], (first @ model.user_factors[0])[model.recommend(0, matrix[0], N=1)[0][0]], atol=1e-5)


def test_callback_and_parameters(matrix):
    told = []
    model = ALS(factors=4, iterations=3, alpha=2)
    model.fit(matrix, show_progress=False, callback=lambda epoch, seconds, loss: told.append((epoch, loss)))
    assert [epoch for epoch, _ in told] == [0, 1, 2]
    assert model.set_params(factors=5) is model and model.get_params()["factors"] == 5
    with pytest.raises(ValueError):
        model.set_params(nothing=1)
    assert "factors=5" in repr(model) and "90 users" in repr(model)
    with pytest.raises(RuntimeError, match="enough"):
        ALS(factors=4).fit(matrix, False, callback=_refuse)
    with pytest.raises(inmo.UsageError, match="`dim`"):
        ALS(factors=0).fit(matrix, show_progress=False)
    with pytest.raises(TypeError, match="epochz"):
        INMO(epochz=3).fit(matrix, show_progress=False)
    with pytest.raises(ValueError, match="not fitted"):
        ALS().recommend(0, matrix[0])


def _refuse(epoch, seconds, loss):
    raise RuntimeError("enough")


def test_same_numbers_at_every_run_and_thread_count(matrix):
    first = None
    for threads in (1, 2, 3):
        model = INMO(factors=8, iterations=3, num_threads=threads)
        model.fit(matrix, show_progress=False)
        found = model.recommend(np.arange(90), matrix, N=5)
        first = first or found
        assert np.array_equal(found[0], first[0]) and np.array_equal(found[1], first[1])


def test_weights_are_told_to_be_ignored(matrix):
    weighted = matrix.copy()
    weighted.data = np.arange(1, len(weighted.data) + 1, dtype=np.float32)
    with pytest.warns(inmo.implicit.ParameterWarning, match="differ"):
        ALS(factors=4, iterations=1).fit(weighted, show_progress=False)
    with pytest.warns(inmo.implicit.ParameterWarning, match="CSR"):
        ALS(factors=4, iterations=1).fit(matrix.tocoo(), show_progress=False)
