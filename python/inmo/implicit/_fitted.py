"""A model with implicit's parameters and fit, over sparse matrices: what lists, neighbours and partial fits stand on."""

from __future__ import annotations

import ctypes as c
import logging
import warnings
from typing import Any, Dict, Optional, Tuple

import numpy as np

from .. import _library as library
from .._arrays import Rows, numbers_of_table
from .._data import Dataset
from .._library import lib
from .._model import Model, training_options
from .._progress import Watch
from .._view import View

log = logging.getLogger("inmo")
LOWEST = -np.finfo(np.float32).max


class ModelFitError(Exception):
    """Training produced numbers that are not finite."""


class ParameterWarning(Warning):
    """An argument that is not quite what was expected."""


def check_csr(user_items: Any) -> Any:
    """A CSR matrix; another sparse matrix is converted, with a warning."""
    if getattr(user_items, "format", None) == "csr":
        return user_items
    if not hasattr(user_items, "tocsr"):
        raise AttributeError(f"'{type(user_items).__name__}' object has no attribute 'tocsr': expected a sparse matrix")
    warnings.warn(
        f"Method expects CSR input, and was passed {type(user_items).__name__} instead; converting it",
        ParameterWarning,
        stacklevel=3,
    )
    return user_items.tocsr()


def seed_of(random_state: Any) -> int:
    """A seed from what implicit takes as random_state. None is 1: the same numbers at every run."""
    if random_state is None:
        return 1
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state)
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    if hasattr(random_state, "integers"):
        return int(random_state.integers(2**31 - 1))
    raise ValueError(f"random_state: found {type(random_state).__name__}, expected None, a number or a numpy generator")


class Threads:
    """Sets the number of worker threads for one call; 0 leaves it alone."""

    def __init__(self, threads: int) -> None:
        self.threads = 0 if library.forked else int(threads or 0)

    def __enter__(self) -> None:
        if self.threads:
            lib.set_threads(self.threads)

    def __exit__(self, *about: Any) -> None:
        if self.threads:
            lib.set_threads(library.threads_set)


class Fitted:
    """Parameters and training of implicit's models.

    A matrix has a row for each user and a column for each item; an entry that is not zero is an interaction, whatever its
    value. Subclasses say which model of the library they are and how their arguments are called there.
    """

    #: The library's name of the model.
    _model_name = "inmo-lightgcn"
    #: Whether lists come from the row of user_items alone, whoever the user is: models without vectors.
    _by_row = False
    #: Share of each user's items held out for early stopping, in percent.
    _held_out = 0.0

    num_threads: int = 0

    def __init__(self) -> None:
        self._model: Optional[Model] = None
        self._view: Optional[View] = None
        self._users = self._items = 0
        self._user_row: Optional[np.ndarray] = None  # (users) row in the view, -1: none; None: row n is user n
        self._item_row: Optional[np.ndarray] = None
        self._item_of_row: Optional[np.ndarray] = None
        self._user_of_row: Optional[np.ndarray] = None
        self._stale = False
        self._seconds = float("nan")
        # what partial fits have changed: of users (True), item -> there or not; of items (False) likewise
        self._delta: Dict[bool, Dict[int, Dict[int, bool]]] = {True: {}, False: {}}

    # ---- Parameters

    def _options(self) -> Dict[str, Any]:
        """The library's options for the arguments of this class."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The arguments of the constructor."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def set_params(self, **params: Any) -> Any:
        """Changes arguments for the next fit."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        state = f"fitted to {self._users:,} users and {self._items:,} items" if self._model else "not fitted"
        return f"<{type(self).__name__}({shown}): {state}>"

    @property
    def model(self) -> Model:
        """The library's model, for everything that implicit has no name for."""
        if self._model is None:
            raise ValueError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self._model

    @property
    def _live(self) -> View:
        if self._view is None:
            self._view = View(self.model)
        return self._view

    # ---- Training

    def fit(self, user_items: Any, show_progress: bool = True, callback: Any = None) -> None:
        """Trains on a matrix of users by items.

        ``callback`` is called after each epoch with its number, the seconds since the last and the loss, as in implicit. Values
        other than 0 count as 1, with a warning where that loses something; negative values are refused.
        """
        rows = Rows(check_csr(user_items))
        if len(rows.given) and rows.given.max() != rows.given.min():
            warnings.warn(
                "the values of user_items differ; inmo's models know only whether there is an interaction",
                ParameterWarning,
                stacklevel=2,
            )
        data = self._dataset(rows)
        options = {"hold_out": 0, **self._options()}  # what is held out here is in the data set
        recipe = options.pop("recipe", "fast")
        filled = training_options(options.pop("model", self._model_name), recipe, None, options, data)
        pointer = c.c_void_p()
        report = library.TrainReport()
        watching = _Epochs(callback) if callback else None
        with Threads(self.num_threads), Watch(show_progress and None, watching, quiet=not self._held_out) as watch:
            try:
                lib.train(data._pointer, filled.block, watch.hooks, pointer, report)
            except ArithmeticError as fault:
                raise ModelFitError(str(fault)) from None
        self._take(Model(pointer), rows.users, rows.items)
        self._seconds = float(report.seconds)

    @property
    def trained_seconds(self) -> float:
        """What the library took to train, without what Python adds to it."""
        return self._seconds

    def _dataset(self, rows: Rows) -> Dataset:
        from .._options import Options

        pointer = c.c_void_p()
        block = None
        if self._held_out:
            share = 100 * float(self._held_out)
            split = f"{100 - share:g}/{share:g}/0"
            block = Options("prepare", {"split": split, "seed": seed_of(getattr(self, "random_state", None))}).block
        lib.dataset_from_matrices(rows.structure(), None, None, block, pointer)
        return Dataset(pointer)

    def _take(self, model: Model, users: int, items: int) -> None:
        """Takes a model over; users and items are the shape of the matrix."""
        self._model, self._view, self._stale = model, None, False
        self._delta = {True: {}, False: {}}
        self._users, self._items = users, items
        tables = library.IdTable(), library.IdTable()
        lib.model_ids(model._pointer, *tables)
        self._user_row, self._user_of_row = self._rows(tables[0], users)
        self._item_row, self._item_of_row = self._rows(tables[1], items)

    @staticmethod
    def _rows(table: library.IdTable, count: int) -> Tuple[Optional[np.ndarray], Optional[np.ndarray]]:
        """Which row of the model is which of the matrix. The model has only those with interactions."""
        if table.count == count:  # everybody is there, and numbers ascend
            return None, None
        numbers = numbers_of_table(table)
        if numbers is None:
            raise ValueError("the model was not trained on a matrix: its ids are no numbers")
        row = np.full(count, -1, np.int32)
        row[numbers] = np.arange(len(numbers), dtype=np.int32)
        return row, numbers.astype(np.int32)

    def _refresh(self) -> None:
        if self._stale:
            self._live.refresh()
            self._stale = False

    def _serves_unseen(self) -> bool:
        return self._model_name not in ("mf", "lightgcn", "ngcf", "neumf")

    def _offers_unseen(self) -> bool:
        return self._model_name.startswith(("inmo", "imc", "idcf", "gf-cf", "popular"))


class _Epochs:
    """implicit's callback: once for each epoch, with its number, its seconds and the loss."""

    def __init__(self, callback: Any) -> None:
        self.callback, self.epoch, self.seconds = callback, 0, 0.0

    def __call__(self, stage: str, done: float, total: float, seconds: float, loss: float, score: float) -> None:
        while stage.startswith("training") and int(done) > self.epoch:
            self.callback(self.epoch, seconds - self.seconds, None if loss != loss else loss)
            self.epoch, self.seconds = self.epoch + 1, seconds
