"""implicit's interface over this library: the same methods, arguments, shapes and types of results, over sparse matrices."""

from __future__ import annotations

import copy
import io
import os
import tempfile
from typing import Any, Dict, Sequence, Set, Union

import numpy as np

from .. import _library as library
from .._arrays import Rows, int_array, view_of
from .._library import lib
from .._model import Model, load
from ._fitted import ModelFitError, ParameterWarning, check_csr, seed_of
from ._ranking import Ranking

__all__ = ["ModelFitError", "ParameterWarning", "RecommenderBase", "check_csr", "seed_of"]


class RecommenderBase(Ranking):
    """The methods of implicit's models.

    A matrix has a row for each user and a column for each item; an entry that is not zero is an interaction, whatever its
    value. Subclasses say which model of the library they are and how their arguments are called there.
    """

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
