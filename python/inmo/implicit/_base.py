"""implicit's interface over this library: the same methods, arguments, shapes and types of results, over sparse matrices."""

from __future__ import annotations

import copy
import ctypes as c
import io
import logging
import os
import tempfile
import warnings
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple, Union

import numpy as np
from scipy.sparse import csr_matrix

from .. import _library as library
from .._arrays import Rows, int_array, numbers_of_table, view_of
from .._data import Dataset, dataset
from .._errors import UnsupportedError
from .._library import lib
from .._model import Model, load, training_options
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


class _Threads:
    """Sets the number of worker threads for one call; 0 leaves it alone."""

    def __init__(self, threads: int) -> None:
        self.threads = 0 if library.forked else int(threads or 0)

    def __enter__(self) -> None:
        if self.threads:
            lib.set_threads(self.threads)

    def __exit__(self, *about: Any) -> None:
        if self.threads:
            lib.set_threads(library.threads_set)


class RecommenderBase:
    """The methods of implicit's models.

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

    def set_params(self, **params: Any) -> "RecommenderBase":
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
        options = self._options()
        recipe = options.pop("recipe", "fast")
        filled = training_options(options.pop("model", self._model_name), recipe, None, options, data)
        pointer = c.c_void_p()
        report = library.TrainReport()
        watching = _Epochs(callback) if callback else None
        with _Threads(self.num_threads), Watch(show_progress and None, watching, quiet=not self._held_out) as watch:
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

    # ---- Lists

    def recommend(
        self,
        userid: Any,
        user_items: Any,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: Optional[Sequence[int]] = None,
        recalculate_user: bool = False,
        items: Optional[Sequence[int]] = None,
    ) -> Tuple[np.ndarray, np.ndarray]:
        """The N best items for a user or for an array of them: item ids and scores.

        ``user_items`` has a row for each of these users; with ``recalculate_user`` the row, seen before or not, is all that
        counts. Arrays of users are ranked in parallel, in one call. Where a list is shorter than N, ids are -1.
        """
        single = np.isscalar(userid)
        count = 1 if single else len(userid)
        self.model  # raises unless fitted
        needs_rows = filter_already_liked_items or recalculate_user or self._by_row
        if needs_rows:
            if not isinstance(user_items, csr_matrix) and getattr(user_items, "format", "") != "csr":
                raise ValueError("user_items needs to be a CSR sparse matrix")
            if user_items.shape[0] != count:
                raise ValueError("user_items must contain 1 row for every user in userids")
        if items is not None and filter_items is not None and len(filter_items):
            raise ValueError(
                "Can't specify both filter_items and items"
                if self._by_row
                else "Can't set both items and filter_items in recommend call"
            )
        length = min(N, len(items)) if items is not None and not self._by_row else N
        offset, item = self._matrix_rows(user_items if needs_rows else None, count)
        users = None
        if not self._by_row and not recalculate_user:
            users = self._user_rows(np.array([userid]) if single else userid)
        allow = None if items is None else self._item_rows(items, "items")
        deny = None if filter_items is None else self._item_rows(filter_items, "filter_items", strict=False)
        if length < 1 or count == 0:
            ids, scores = np.empty((count, max(length, 0)), np.int32), np.empty((count, max(length, 0)), np.float32)
        else:
            include = not filter_already_liked_items
            with _Threads(self.num_threads if count > 1 else 0):
                ids, scores = self._rank(users, offset, item, length, include, allow, deny, recalculate_user)
        ids = self._items_of(ids)
        if self._by_row:
            return self._end_by_row(ids, scores, single, items)
        if items is not None:
            ids = ids.astype(np.int64)
        return (ids[0], scores[0]) if single else (ids, scores)

    def _rank(
        self,
        users: Optional[np.ndarray],
        offset: np.ndarray,
        item: np.ndarray,
        length: int,
        include: bool,
        allow: Optional[np.ndarray],
        deny: Optional[np.ndarray],
        recalculate: bool,
    ) -> Tuple[np.ndarray, np.ndarray]:
        lost = None
        if users is not None and self._user_row is not None and not self._serves_unseen() and users.min() < 0:
            lost = users < 0  # a lookup model has nothing for somebody without interactions: an empty list
            users = np.where(lost, users.max() if not lost.all() else 0, users)
        try:
            ids, scores = self._live.rank(users, offset, item, length, include, False, allow, deny)
        except UnsupportedError as fault:
            if recalculate:
                raise NotImplementedError(f"recalculate_user is not supported with this model: {fault}") from None
            raise
        if lost is not None:
            ids[lost], scores[lost] = -1, LOWEST
        return ids, scores

    def _end_by_row(
        self, ids: np.ndarray, scores: np.ndarray, single: bool, items: Optional[Sequence[int]]
    ) -> Tuple[np.ndarray, np.ndarray]:
        """As implicit's item-item models: one list is as long as it is, and has all of ``items``."""
        if not single:
            return ids, scores
        one, its = ids[0], scores[0].astype(np.float64)
        if len(one) and one[-1] < 0:
            kept = one >= 0
            one, its = one[kept], its[kept]
        if items is not None:
            missing = np.setdiff1d(np.asarray(items), one)
            if missing.size:
                one = np.append(one, missing)
                its = np.append(its, np.full(missing.size, -np.finfo(its.dtype).max))
        return one, its

    def _matrix_rows(self, matrix: Any, count: int) -> Tuple[np.ndarray, np.ndarray]:
        """A matrix in the view's numbers."""
        if matrix is None:
            return np.zeros(count + 1, np.int64), np.empty(0, np.int32)
        rows = Rows(matrix, positive=False)
        item = rows.item
        if len(item) and int(item.view(np.uint32).max()) >= self._items:  # negative ones are high then
            if int(item.min()) < 0 or int(item.max()) >= rows.items:
                raise ValueError(f"user_items: found item {item.min()} to {item.max()}, expected 0 to {rows.items - 1}")
            item = np.where(item < self._items, item, -1).astype(np.int32)  # wider than the model: unknown items
            if self._item_row is not None:
                item = np.where(item >= 0, self._item_row[item], -1).astype(np.int32)
        elif self._item_row is not None:
            item = self._item_row[item]
        return rows.offset, item

    def _user_rows(self, userid: Any) -> np.ndarray:
        ids = int_array(userid, "userid")
        if len(ids) and (ids.max() >= self._users or ids.min() < 0):
            bad = int(ids.max()) if ids.max() >= self._users else int(ids.min())
            raise IndexError(f"index {bad} is out of bounds for axis 0 with size {self._users}")
        if self._user_row is None:
            return ids
        rows: np.ndarray = self._user_row[ids].astype(np.int64)  # negative: without interactions
        return rows

    def _item_rows(self, items: Any, what: str, strict: bool = True) -> np.ndarray:
        ids = int_array(items, what)
        good = (ids >= 0) & (ids < self._items)
        if strict and not good.all():
            raise IndexError(
                "Some of selected itemids are not in the model"
                if self._by_row
                else f"Some itemids in the {what} parameter in are not in the model"
            )
        ids = ids[good]
        return np.ascontiguousarray(ids if self._item_row is None else self._item_row[ids], dtype=np.int32)

    def _items_of(self, rows: np.ndarray) -> np.ndarray:
        if self._item_of_row is None:
            return rows
        found: np.ndarray = self._item_of_row[rows]
        if rows.size and rows[:, -1].min() < 0:  # lists that are shorter
            found = np.where(rows >= 0, found, -1).astype(np.int32)
        return found

    def rank_items(
        self, userid: Any, user_items: Any, selected_items: Sequence[int], recalculate_user: bool = False
    ) -> Tuple[np.ndarray, np.ndarray]:
        """Deprecated in implicit: recommend with ``items``."""
        warnings.warn(
            "rank_items is deprecated. Use recommend with the 'items' parameter instead", DeprecationWarning, stacklevel=2
        )
        return self.recommend(
            userid,
            user_items,
            recalculate_user=recalculate_user,
            items=selected_items,
            filter_already_liked_items=False,
        )

    def recommend_all(
        self,
        user_items: Any,
        N: int = 10,
        recalculate_user: bool = False,
        filter_already_liked_items: bool = True,
        filter_items: Optional[Sequence[int]] = None,
        users_items_offset: int = 0,
    ) -> np.ndarray:
        """Deprecated in implicit: recommend with an array of users."""
        warnings.warn(
            "recommend_all is deprecated. Use recommend with an array of userids instead", DeprecationWarning, stacklevel=2
        )
        users = np.arange(user_items.shape[0]) + users_items_offset
        ids, _ = self.recommend(users, user_items, N, filter_already_liked_items, filter_items, recalculate_user)
        return ids

    # ---- Neighbours

    def _similar(
        self, ids: Any, N: int, of_users: bool, allow: Any, deny: Any, name: str
    ) -> Tuple[np.ndarray, np.ndarray]:
        single = np.isscalar(ids)
        self._refresh()
        size = self._users if of_users else self._items
        row, back = (self._user_row, self._user_of_row) if of_users else (self._item_row, self._item_of_row)
        numbers = int_array(np.array([ids]) if single else ids, name)
        if len(numbers) and (numbers.max() >= size or numbers.min() < 0):
            bad = int(numbers.max()) if numbers.max() >= size else int(numbers.min())
            raise IndexError(f"index {bad} is out of bounds for axis 0 with size {size}")

        def limit(values: Any, what: str, strict: bool) -> Optional[np.ndarray]:
            if values is None:
                return None
            found = int_array(values, what)
            good = (found >= 0) & (found < size)
            if strict and not good.all():
                raise IndexError(f"Some ids in the {what} parameter are not in the model")
            found = found[good] if row is None else row[found[good]].astype(np.int64)
            return np.ascontiguousarray(found[found >= 0], dtype=np.int32)

        allowed, denied = limit(allow, "users" if of_users else "items", True), limit(deny, "filter", False)
        rows = numbers if row is None else row[numbers].astype(np.int64)
        near = np.full((len(rows), N), -1, np.int32)
        score = np.full((len(rows), N), LOWEST, np.float32)
        known = np.flatnonzero(rows >= 0)  # nobody without interactions is like anybody
        if len(known) and N > 0:
            found, its = np.empty((len(known), N), np.int32), np.empty((len(known), N), np.float32)
            asked = np.ascontiguousarray(rows[known])
            with _Threads(self.num_threads if len(known) > 1 else 0):
                lib.similar_rows(
                    self._live._pointer,
                    int(of_users),
                    asked.ctypes.data,
                    len(asked),
                    N,
                    None if allowed is None else allowed.ctypes.data,
                    0 if allowed is None else len(allowed),
                    None if denied is None else denied.ctypes.data,
                    0 if denied is None else len(denied),
                    found.ctypes.data,
                    its.ctypes.data,
                )
            near[known], score[known] = found, its
        if back is not None:
            near = np.where(near >= 0, back[near], -1).astype(np.int32)
        if allow is not None:
            near = near.astype(np.int64)
        return (near[0], score[0]) if single else (near, score)

    def similar_items(
        self,
        itemid: Any,
        N: int = 10,
        recalculate_item: bool = False,
        item_users: Any = None,
        filter_items: Optional[Sequence[int]] = None,
        items: Optional[Sequence[int]] = None,
    ) -> Tuple[np.ndarray, np.ndarray]:
        """The N nearest items of an item or of an array of them, each itself among them: ids and scores."""
        if recalculate_item:
            raise NotImplementedError(
                "recalculate_item is not supported; partial_fit_items takes an item's users in, and then it has neighbours"
            )
        if filter_items is not None and len(filter_items) and items is not None:
            raise ValueError("Can't set both items and filter_items in similar_items call")
        ids, scores = self._similar(itemid, N, False, items, filter_items, "itemid")
        if self._by_row and np.isscalar(itemid):
            return self._end_by_row(ids[None], scores[None], True, items)
        return ids, scores

    def similar_users(
        self,
        userid: Any,
        N: int = 10,
        filter_users: Optional[Sequence[int]] = None,
        users: Optional[Sequence[int]] = None,
    ) -> Tuple[np.ndarray, np.ndarray]:
        """The N nearest users of a user or of an array of them, each itself among them: ids and scores."""
        if self._by_row:
            raise NotImplementedError("similar_users isn't implemented for item-item recommenders")
        if filter_users is not None and len(filter_users) and users is not None:
            raise ValueError("Can't set both users and filter_users in similar_users call")
        return self._similar(userid, N, True, users, filter_users, "userid")

    # ---- Reasons

    def explain(
        self, userid: int, user_items: Any, itemid: int, user_weights: Any = None, N: int = 10
    ) -> Tuple[float, List[Tuple[int, float]], Any]:
        """Why an item has its score for the row ``userid`` of ``user_items``: the score, the N largest contributions of
        items of the row, and ``user_weights`` as it was given (nothing has to be kept here)."""
        matrix = check_csr(user_items)
        if not 0 <= userid < matrix.shape[0]:
            raise IndexError(f"index {userid} is out of bounds for axis 0 with size {matrix.shape[0]}")
        if not 0 <= itemid < self._items:
            raise IndexError(f"index {itemid} is out of bounds for axis 0 with size {self._items}")
        row = [int(one) for one in matrix[userid].indices if one < self._items]
        found = self._live.explain(int(itemid), items=row)
        parts = [(int(part.id), part.score) for part in found.parts if part.id.isdigit()]
        return found.score, parts[:N], user_weights

    # ---- Taking in users and items

    def _grow(self, of_users: bool, ids: np.ndarray) -> None:
        """Makes room for new users or items, and looks up their rows."""
        size = self._users if of_users else self._items
        top = max(size, int(ids.max()) + 1)
        row = self._user_row if of_users else self._item_row
        grown = np.full(top, -1, np.int32)
        grown[:size] = np.arange(size, dtype=np.int32) if row is None else row
        find = lib.view_user_row if of_users else lib.view_item_row
        for one in np.unique(ids):
            grown[one] = find(self._live._pointer, b"%d" % one)
        known = np.flatnonzero(grown >= 0)
        back = np.full(int(grown.max()) + 1, -1, np.int32)
        back[grown[known]] = known
        if of_users:
            self._users, self._user_row, self._user_of_row = top, grown, back
        else:
            self._items, self._item_row, self._item_of_row = top, grown, back

    def _refresh(self) -> None:
        if self._stale:
            self._live.refresh()
            self._stale = False

    def _partial_fit(self, ids: Any, matrix: Any, of_users: bool) -> None:
        numbers = int_array(ids, "userids" if of_users else "itemids")
        name = "user_items" if of_users else "item_users"
        rows = Rows(check_csr(matrix), name)
        if rows.users != len(numbers):
            raise ValueError(f"{name} must contain 1 row for every user in {'userids' if of_users else 'itemids'}")
        if len(numbers) == 0:
            return
        if numbers.min() < 0 or numbers.max() >= 2**31 - 1:
            raise IndexError(f"found id {numbers.min()} to {numbers.max()}, expected 0 to {2**31 - 2}")
        view, events, gone = self._live, [], []
        for place, one in enumerate(numbers):
            now = {int(other) for other in rows.item[rows.offset[place] : rows.offset[place + 1]]}
            past = self._past(int(one), of_users)
            events += [(int(one), other) if of_users else (other, int(one)) for other in sorted(now - past)]
            gone += [(int(one), other) if of_users else (other, int(one)) for other in sorted(past - now)]
        if events:
            view.observe(events)
        for user, item in events:
            self._note(user, item, True)
        for user, item in gone:
            view.forget(user, item)
            self._note(user, item, False)
        self._stale = True
        for side, these in ((of_users, numbers), (not of_users, np.unique(rows.item).astype(np.int64))):
            if len(these):
                self._grow(side, these)

    def _past(self, one: int, of_users: bool) -> Set[int]:
        """What a user or item has now: of the model's interactions, and of the partial fits since."""
        train, valid = library.Interactions(), library.Interactions()
        lib.model_interactions(self.model._pointer, train, valid)
        row, back = (self._user_row, self._item_of_row) if of_users else (self._item_row, self._user_of_row)
        place = one if row is None and one < (train.users if of_users else train.items) else -1
        if row is not None and one < len(row):
            place = int(row[one])
        found: Set[int] = set()
        for part in (train, valid):
            if not 0 <= place < (part.users if of_users else part.items) or not part.count:
                continue
            offset = view_of(part.offset, (part.users + 1,), "<i8", self.model._owner)
            item = view_of(part.item, (part.count,), "<i4", self.model._owner)
            if of_users:
                rows = item[offset[place] : offset[place + 1]]
            else:
                rows = np.searchsorted(offset, np.flatnonzero(item == place), side="right") - 1
            found.update(int(other) for other in (rows if back is None else back[rows]))
        for other, there in self._delta[of_users].get(one, {}).items():
            if there:
                found.add(other)
            else:
                found.discard(other)
        return found

    def _note(self, user: int, item: int, there: bool) -> None:
        self._delta[True].setdefault(user, {})[item] = there
        self._delta[False].setdefault(item, {})[user] = there

    def partial_fit_users(self, userids: Sequence[int], user_items: Any) -> None:
        """Takes in rows of users, known or new: from now on a user's past is that row. Nothing is retrained."""
        if not self._serves_unseen():
            raise NotImplementedError("partial_fit_users is not supported with this model: it has a vector per trained user")
        self._partial_fit(userids, user_items, True)

    def partial_fit_items(self, itemids: Sequence[int], item_users: Any) -> None:
        """Takes in items, known or new, by their users. Nothing is retrained."""
        if not self._offers_unseen():
            raise NotImplementedError("partial_fit_items is not supported with this model: it has a vector per trained item")
        self._partial_fit(itemids, item_users, False)

    def _serves_unseen(self) -> bool:
        return self._model_name not in ("mf", "lightgcn", "ngcf", "neumf")

    def _offers_unseen(self) -> bool:
        return self._model_name.startswith(("inmo", "imc", "idcf", "gf-cf", "popular"))

    # ---- Numbers

    def _factors(self, of_users: bool) -> np.ndarray:
        self._refresh()
        vectors = self._live.user_vectors if of_users else self._live.item_vectors
        row = self._user_row if of_users else self._item_row
        if row is None:
            return vectors
        found = np.zeros((len(row), vectors.shape[1]), np.float32)
        known = row >= 0
        found[known] = vectors[row[known]]
        return found

    @property
    def user_factors(self) -> np.ndarray:
        """Vectors (users, factors): read-only, on the library's memory if every user has interactions."""
        if self._by_row:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'user_factors'")
        return self._factors(True)

    @property
    def item_factors(self) -> np.ndarray:
        """Vectors (items, factors): read-only, on the library's memory if every item has interactions."""
        if self._by_row:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'item_factors'")
        return self._factors(False)

    @property
    def user_norms(self) -> np.ndarray:
        """Lengths of the users' vectors; tiny instead of 0."""
        found = np.linalg.norm(self.user_factors, axis=-1)
        return np.where(found == 0, 1e-10, found)

    @property
    def item_norms(self) -> np.ndarray:
        """Lengths of the items' vectors; tiny instead of 0."""
        found = np.linalg.norm(self.item_factors, axis=-1)
        return np.where(found == 0, 1e-10, found)

    def recalculate_user(self, userid: Any, user_items: Any) -> np.ndarray:
        """Not supported: recommend with recalculate_user folds rows in."""
        raise NotImplementedError("recalculate_user is not supported with this model; recommend takes it as an argument")

    def recalculate_item(self, itemid: Any, item_users: Any) -> np.ndarray:
        """Not supported; partial_fit_items takes items in."""
        raise NotImplementedError("recalculate_item is not supported with this model")

    # ---- Files

    def save(self, file: Union[str, "os.PathLike[str]", io.IOBase]) -> None:
        """Saves to a file (``.npz`` is added to a name, as numpy does): the library's model file and the arguments."""
        import json

        state: Dict[str, Any] = {"params": json.dumps(self._plain_params()), "class": type(self).__name__}
        if self._model is not None:
            state["shape"] = np.array([self._users, self._items], np.int64)
            state["model"] = np.frombuffer(_content(self._model), np.uint8)
        np.savez(file, **state)  # type: ignore[arg-type]

    def _plain_params(self) -> Dict[str, Any]:
        plain = {}
        for name, value in self.get_params().items():
            if isinstance(value, (np.integer, np.floating)):
                value = value.item()
            if isinstance(value, (str, int, float, bool, dict, type(None))):
                plain[name] = value
            elif name == "dtype":
                plain[name] = np.dtype(value).name
        return plain

    @classmethod
    def load(cls, fileobj_or_path: Any) -> "RecommenderBase":
        """Loads what :meth:`save` has written."""
        import json

        if isinstance(fileobj_or_path, str) and not fileobj_or_path.endswith(".npz"):
            fileobj_or_path += ".npz"
        with np.load(fileobj_or_path, allow_pickle=False) as found:
            if "class" not in found:
                raise ValueError(f"{fileobj_or_path}: this is no file that inmo.implicit has saved")
            if str(found["class"]) != cls.__name__:
                raise ValueError(f"{fileobj_or_path}: found a {found['class']}, expected a {cls.__name__}")
            made = cls()
            for name, value in json.loads(str(found["params"])).items():
                setattr(made, name, np.dtype(value) if name == "dtype" else value)
            if "model" in found:
                made._take(_loaded(found["model"].tobytes()), *(int(one) for one in found["shape"]))
        return made

    def __getstate__(self) -> Dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("_model", "_view")}
        state["_content"] = _content(self._model) if self._model is not None else None
        if self._delta[True]:
            raise TypeError("partial fits are not pickled: pickle before them, or fit again")
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        content = state.pop("_content")
        vars(self).update(state)
        self._model, self._view = (None if content is None else _loaded(content)), None

    def __deepcopy__(self, memo: Any) -> "RecommenderBase":
        made = type(self).__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made


def _content(model: Model) -> bytes:
    from .._files import bytes_of_model

    return bytes_of_model(model)


def _loaded(content: bytes) -> Model:
    with tempfile.TemporaryDirectory(prefix="inmo-") as folder:
        path = os.path.join(folder, "model.inmo")
        with open(path, "wb") as file:
            file.write(content)
        return load(path)


class _Epochs:
    """implicit's callback: once for each epoch, with its number, its seconds and the loss."""

    def __init__(self, callback: Any) -> None:
        self.callback, self.epoch, self.seconds = callback, 0, 0.0

    def __call__(self, stage: str, done: float, total: float, seconds: float, loss: float, score: float) -> None:
        while stage.startswith("training") and int(done) > self.epoch:
            self.callback(self.epoch, seconds - self.seconds, None if loss != loss else loss)
            self.epoch, self.seconds = self.epoch + 1, seconds


__all__ = ["ModelFitError", "ParameterWarning", "RecommenderBase", "dataset"]
