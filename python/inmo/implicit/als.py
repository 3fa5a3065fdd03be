"""Alternating least squares: the library's ials."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

from ._base import RecommenderBase, seed_of


class AlternatingLeastSquares(RecommenderBase):
    """Implicit-feedback matrix factorisation by alternating least squares, solved exactly.

    The arguments are implicit's. ``alpha`` is the weight of an interaction beside 1 for a pair without, ``regularization`` that
    of the squared norms; both are turned into the library's weights, which are relative to an interaction's. ``use_native``,
    ``use_cg``, ``dtype`` and ``calculate_training_loss`` are taken and change nothing: the solver is native, exact, in float32,
    and the loss is always there (``model.record``).
    """

    _model_name = "ials"

    def __init__(
        self,
        factors: int = 100,
        regularization: float = 0.01,
        alpha: float = 1.0,
        dtype: Any = np.float32,
        use_native: bool = True,
        use_cg: bool = True,
        use_gpu: bool = False,
        iterations: int = 15,
        calculate_training_loss: bool = False,
        num_threads: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__()
        if use_gpu:
            raise ValueError("use_gpu: inmo works on CPUs only")
        self.factors, self.regularization, self.alpha, self.dtype = factors, regularization, alpha, dtype
        self.use_native, self.use_cg, self.iterations = use_native, use_cg, iterations
        self.calculate_training_loss, self.num_threads, self.random_state = calculate_training_loss, num_threads, random_state

    def _options(self) -> Dict[str, Any]:
        # implicit minimises sum_obs c (1 - s)^2 + sum_others s^2 + l (|x|^2 + |y|^2) with c = alpha, the library
        # sum_obs (1 - s)^2 + a sum_all s^2 + l' (|x|^2 + |y|^2). With s = s' c / (c - 1) they are the same if
        # a = 1 / (c - 1) and l' = l / c. At c = 1 there is no such a; the largest the library has comes near.
        weight = max(float(self.alpha), 1 + 1e-3)
        return {
            "dim": self.factors,
            "epochs": self.iterations,
            "unobserved": min(1 / (weight - 1), 1e3),
            "l2": max(float(self.regularization) / weight, 1e-9),
            "l2_exponent": 0,
            "seed": seed_of(self.random_state),
        }


__all__ = ["AlternatingLeastSquares"]
