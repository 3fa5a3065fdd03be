"""Bayesian personalised ranking: the library's mf with the bpr loss."""

from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np

from ._base import RecommenderBase, seed_of


class BayesianPersonalizedRanking(RecommenderBase):
    """Matrix factorisation with the pairwise loss of BPR.

    ``learning_rate`` and ``regularization`` are those of Adam and of the library's loss, which have another scale than implicit's
    stochastic gradient descent; None, the default, is what the library's recipe has. ``verify_negative_samples`` is taken; drawn
    negatives are always verified. There is no bias, so vectors have ``factors`` columns, not one more.
    """

    _model_name = "mf"

    def __init__(
        self,
        factors: int = 100,
        learning_rate: Optional[float] = None,
        regularization: Optional[float] = None,
        dtype: Any = np.float32,
        iterations: int = 100,
        use_gpu: bool = False,
        num_threads: int = 0,
        verify_negative_samples: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__()
        if use_gpu:
            raise ValueError("use_gpu: inmo works on CPUs only")
        self.factors, self.learning_rate, self.regularization, self.dtype = factors, learning_rate, regularization, dtype
        self.iterations, self.num_threads = iterations, num_threads
        self.verify_negative_samples, self.random_state = verify_negative_samples, random_state

    def _options(self) -> Dict[str, Any]:
        return {
            "dim": self.factors,
            "epochs": self.iterations,
            "learning_rate": self.learning_rate,
            "l2": self.regularization,
            "loss": "bpr",
            "seed": seed_of(self.random_state),
        }


__all__ = ["BayesianPersonalizedRanking"]
