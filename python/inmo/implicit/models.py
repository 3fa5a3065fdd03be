"""Models that implicit does not have, with its methods."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ._base import RecommenderBase, seed_of


class _Trained(RecommenderBase):
    """Models trained by gradient steps, with early stopping on a held-out share of each user's items.

    Args:
        factors: size of the vectors; None, here and below: what the recipe has for the model.
        iterations: epochs at most.
        learning_rate: Adam's.
        regularization: weight of the squared norms.
        hold_out: share of each user's items that is held out for early stopping, and observed again for lists; 0: none, and all
            epochs are run.
        num_threads: worker threads; 0: all cores.
        random_state: seed; None is 1.
        options: any other option of ``inmo train``: ``inmo.options("train", model=...)``.
    """

    def __init__(
        self,
        factors: Optional[int] = None,
        iterations: Optional[int] = None,
        learning_rate: Optional[float] = None,
        regularization: Optional[float] = None,
        hold_out: float = 0.1,
        num_threads: int = 0,
        random_state: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.factors, self.iterations = factors, iterations
        self.learning_rate, self.regularization = learning_rate, regularization
        if not 0 <= hold_out < 1:
            raise ValueError(f"hold_out: found {hold_out}, expected a share from 0 to below 1")
        self.hold_out, self.num_threads, self.random_state = hold_out, num_threads, random_state
        self.options = options

    @property
    def _held_out(self) -> float:  # type: ignore[override]
        return self.hold_out

    def _options(self) -> Dict[str, Any]:
        return {
            "dim": self.factors,
            "epochs": self.iterations,
            "learning_rate": self.learning_rate,
            "l2": self.regularization,
            "seed": seed_of(self.random_state),
            **self.options,
        }


class INMO(_Trained):
    """INMO-LightGCN: vectors from histories, so any row of a matrix is served (``recalculate_user=True``)."""

    _model_name = "inmo-lightgcn"


class INMOMF(_Trained):
    """INMO-MF: the same without graph layers."""

    _model_name = "inmo-mf"


class LightGCN(_Trained):
    """LightGCN: a vector for each user and item of the training data, and graph layers."""

    _model_name = "lightgcn"


class MF(_Trained):
    """Matrix factorisation: a vector for each user and item of the training data."""

    _model_name = "mf"


class NGCF(_Trained):
    """Neural graph collaborative filtering."""

    _model_name = "ngcf"


class MultVAE(_Trained):
    """A variational autoencoder with a multinomial likelihood; serves any row."""

    _model_name = "mult-vae"
    _by_row = True


class _ClosedForm(RecommenderBase):
    _by_row = True

    def __init__(self, num_threads: int = 0, **options: Any) -> None:
        super().__init__()
        self.num_threads, self.options = num_threads, options

    def _options(self) -> Dict[str, Any]:
        return dict(self.options)


class EASE(_ClosedForm):
    """A linear autoencoder in closed form; serves any row. ``regularization``: weight of the squared weights."""

    _model_name = "ease"

    def __init__(self, regularization: Optional[float] = None, num_threads: int = 0, **options: Any) -> None:
        super().__init__(num_threads, **options)
        self.regularization = regularization

    def _options(self) -> Dict[str, Any]:
        return {"l2": self.regularization, **self.options}


class ItemKNN(_ClosedForm):
    """Item-item neighbours with the library's own settings: ``neighbours``, ``similarity``, ``shrinkage``."""

    _model_name = "item-knn"

    def __init__(
        self,
        neighbours: Optional[int] = None,
        similarity: Optional[str] = None,
        shrinkage: Optional[float] = None,
        num_threads: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(num_threads, **options)
        self.neighbours, self.similarity, self.shrinkage = neighbours, similarity, shrinkage

    def _options(self) -> Dict[str, Any]:
        own = {"neighbours": self.neighbours, "similarity": self.similarity, "shrinkage": self.shrinkage}
        return {**own, **self.options}


class GFCF(_ClosedForm):
    """Graph filtering in closed form; serves any row."""

    _model_name = "gf-cf"


class Popular(_ClosedForm):
    """The most chosen items, for everybody."""

    _model_name = "popular"


__all__ = ["EASE", "GFCF", "INMO", "INMOMF", "ItemKNN", "LightGCN", "MF", "MultVAE", "NGCF", "Popular"]
