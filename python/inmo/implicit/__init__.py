"""The interface of implicit 0.7 (MIT licence, Ben Frederickson) over this library: change the import, keep the rest.

    from inmo.implicit.als import AlternatingLeastSquares      # was: from implicit.als import ...

    model = AlternatingLeastSquares(factors=64)
    model.fit(user_items)
    ids, scores = model.recommend(userids, user_items[userids])

and the models that implicit does not have, with the same methods:

>>> import numpy as np
>>> from scipy.sparse import csr_matrix
>>> from inmo.implicit import INMO
>>> user_items = csr_matrix(np.random.default_rng(1).random((40, 25)) < 0.3, dtype=np.float32)
>>> model = INMO(factors=8, iterations=3)
>>> model.fit(user_items, show_progress=False)
>>> ids, scores = model.recommend(0, csr_matrix(([1.0, 1.0], ([0, 0], [3, 4])), shape=(1, 25)), N=5, recalculate_user=True)
>>> ids.shape, ids.dtype, scores.dtype
((5,), dtype('int32'), dtype('float32'))
"""

from ._base import ModelFitError, ParameterWarning, RecommenderBase
from .als import AlternatingLeastSquares
from .bpr import BayesianPersonalizedRanking
from .models import EASE, GFCF, INMO, INMOMF, MF, NGCF, ItemKNN, LightGCN, MultVAE, Popular
from .nearest_neighbours import BM25Recommender, CosineRecommender, ItemItemRecommender, TFIDFRecommender

ALS = AlternatingLeastSquares
BPR = BayesianPersonalizedRanking

__all__ = [
    "ALS",
    "AlternatingLeastSquares",
    "BM25Recommender",
    "BPR",
    "BayesianPersonalizedRanking",
    "CosineRecommender",
    "EASE",
    "GFCF",
    "INMO",
    "INMOMF",
    "ItemItemRecommender",
    "ItemKNN",
    "LightGCN",
    "MF",
    "ModelFitError",
    "MultVAE",
    "NGCF",
    "ParameterWarning",
    "Popular",
    "RecommenderBase",
    "TFIDFRecommender",
]
