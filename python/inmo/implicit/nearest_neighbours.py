"""Item-item neighbours: the library's item-knn with implicit's similarities."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np
from scipy.sparse import csr_matrix

from ._base import RecommenderBase


class ItemItemRecommender(RecommenderBase):
    """Base of the models by item-item neighbours. ``K`` is the number of neighbours of an item, itself not counted.

    A candidate is scored from those of its own K neighbours that the row has; implicit adds up the neighbours of the row's items.
    """

    _model_name = "item-knn"
    _by_row = True
    _similarity = "cosine"

    def __init__(self, K: int = 20, num_threads: int = 0) -> None:
        super().__init__()
        self.K, self.num_threads = K, num_threads

    def _options(self) -> Dict[str, Any]:
        return {"neighbours": self.K, "similarity": self._similarity, "shrinkage": 0}

    @property
    def similarity(self) -> Any:
        """The neighbours as a sparse matrix (items, items): row j has the items that have j among their nearest."""
        if self._model is None:
            return None
        found = self._model.tensors
        offset, item, weight = (found["item-knn." + part] for part in ("offset", "item", "weight"))
        if self._item_of_row is not None:  # the model has no rows for items without users
            length = np.zeros(self._items, np.int64)
            length[self._item_of_row] = np.diff(offset)
            offset, item = np.concatenate(([0], np.cumsum(length))), self._item_of_row[item]
        matrix = csr_matrix((self._items, self._items), dtype=np.float32)
        matrix.indptr, matrix.indices, matrix.data = offset, item, weight
        return matrix


class CosineRecommender(ItemItemRecommender):
    """Neighbours by the cosine of two items' users."""


class TFIDFRecommender(ItemItemRecommender):
    """Neighbours by the cosine of two items' users, who count less the more they have chosen."""

    _similarity = "tf-idf"


class BM25Recommender(ItemItemRecommender):
    """Neighbours by the product of two items' users weighted by BM25."""

    _similarity = "bm25"

    def __init__(self, K: int = 20, K1: float = 1.2, B: float = 0.75, num_threads: int = 0) -> None:
        super().__init__(K, num_threads)
        self.K1, self.B = K1, B

    def _options(self) -> Dict[str, Any]:
        return {**super()._options(), "bm25_k1": self.K1, "bm25_b": self.B}


__all__ = ["BM25Recommender", "CosineRecommender", "ItemItemRecommender", "TFIDFRecommender"]
