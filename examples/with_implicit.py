"""A script in implicit's interface. It runs with implicit and with inmo, unchanged but for the import:

    python examples/with_implicit.py implicit ratings.tsv
    python examples/with_implicit.py inmo.implicit ratings.tsv

ratings.tsv has a user, an item and maybe more on each line. A fifth of each user's items is held out; recall at 20 says how many of
them the lists find. Models that only one of the two has are left out for the other.
"""

import importlib
import sys

import numpy as np
from scipy.sparse import csr_matrix


def read(path):
    pairs = [line.split("\t")[:2] for line in open(path, encoding="utf-8").read().splitlines()]
    users, items = ({name: n for n, name in enumerate(dict.fromkeys(column))} for column in zip(*pairs))
    row, column = np.array([(users[u], items[i]) for u, i in pairs]).T
    matrix = csr_matrix((np.ones(len(row), np.float32), (row, column)))
    matrix.data[:] = 1
    held = np.random.default_rng(1).random(matrix.nnz) < 0.2
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    parts = [csr_matrix((matrix.data[kept], (row[kept], matrix.indices[kept])), shape=matrix.shape) for kept in (~held, held)]
    return parts


def recall(model, train, test, N=20):
    users = np.flatnonzero(np.diff(test.indptr))
    ids, scores = model.recommend(users, train[users], N=N)
    assert ids.shape == scores.shape == (len(users), N) and ids.dtype == np.int32 and scores.dtype == np.float32
    found = [len(set(row) & set(test[user].indices)) / test[user].nnz for user, row in zip(users, ids)]
    return float(np.mean(found))


def main(package, path):
    train, test = read(path)
    als = importlib.import_module(package + ".als")
    bpr = importlib.import_module(package + ".bpr")
    near = importlib.import_module(package + ".nearest_neighbours")
    models = {
        "ALS": als.AlternatingLeastSquares(factors=64, regularization=10.0, alpha=10.0, iterations=15, random_state=1),
        "BPR": bpr.BayesianPersonalizedRanking(factors=64, iterations=100, random_state=1),
        "cosine": near.CosineRecommender(K=100),
        "TF-IDF": near.TFIDFRecommender(K=100),
        "BM25": near.BM25Recommender(K=100),
    }
    if package.startswith("inmo"):
        models["INMO"] = importlib.import_module(package).INMO(factors=64, random_state=1)
    for name, model in models.items():
        model.fit(train, show_progress=False)
        ids, scores = model.recommend(0, train[0], N=5)
        like, cosine = model.similar_items(int(ids[0]), N=5)
        assert like[0] == ids[0] and len(ids) == len(scores) == 5
        print(f"{name:8s} recall@20 {recall(model, train, test):.4f}   user 0: {' '.join(map(str, ids))}")
        if name in ("ALS", "INMO"):
            total, parts, _ = model.explain(0, train, int(ids[0]), N=3)
            print(f"{'':8s} item {ids[0]}: {total:.3f}, of which {', '.join(f'{part:.3f} by {item}' for item, part in parts)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
