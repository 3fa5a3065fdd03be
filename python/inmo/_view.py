"""A model on everything observed so far: recommend, similar, explain, observe, forget, refresh."""

from __future__ import annotations

import ctypes as c
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library as library
from . import _tables
from ._arrays import Owner, Rows, view_of
from ._data import Log, read
from ._errors import UsageError
from ._library import encode, lib
from ._lists import Entry, Explanation, Recommendations
from ._progress import Watch

if TYPE_CHECKING:
    from ._model import Model

Id = Union[str, int]


def _texts(values: Optional[Iterable[Id]], what: str) -> Tuple[Any, int]:
    if values is None:
        return None, 0
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{what}: found the single string {values!r}, expected a list of ids")
    encoded = [encode(value, what) for value in values]
    return (c.c_char_p * len(encoded))(*encoded), len(encoded)


def _address(array: Optional[np.ndarray]) -> Optional[int]:
    if array is None:
        return None
    address: int = array.__array_interface__["data"][0]  # cheaper than array.ctypes.data
    return address


def _events(events: Any, columns: Optional[str]) -> Any:
    """What observe and observe_seen take, as an array for the library."""
    if isinstance(events, tuple) and len(events) == 2 and not hasattr(events[0], "__len__"):
        events = [events]
    if isinstance(events, tuple) and len(events) in (2, 3, 4) and isinstance(events[0], str):
        events = [events]
    found = _tables.columns_of(events, columns)
    array = (library.Event * len(found.user))()
    for place, (user, item) in enumerate(zip(found.user, found.item)):
        array[place].user, array[place].item = user, item
        if found.time is not None:
            array[place].time = int(found.time[place])
    return array


class View:
    """A model applied to its training interactions and to everything observed since; nothing is retrained.

    Made by :meth:`Model.view`; a model's own methods ask a view of it that is made on first use. Any number of threads may
    use a view at the same time, and no Python code is locked out meanwhile.
    """

    def __init__(self, model: "Model", observed: Any = None, **options: Any) -> None:
        log = None
        if observed is not None:
            log = observed if isinstance(observed, Log) else read(observed, False, **options)
        elif options:
            raise UsageError(f"`{next(iter(options))}` applies to `observed`, which is not given")
        pointer = c.c_void_p()
        lib.view_create(model._pointer, log._pointer if log else None, pointer)
        self._owner = Owner(pointer, lib.view_free, keep=model._owner)
        self.model = model

    @property
    def _pointer(self) -> Any:
        return self._owner.pointer

    # ---- Questions

    def _query(
        self,
        user: Optional[Id],
        items: Optional[Iterable[Id]],
        k: int,
        include_seen: bool,
        allow: Optional[Iterable[Id]],
        deny: Optional[Iterable[Id]],
    ) -> library.Query:
        if user is None and items is None:
            raise UsageError("expected `user`, or the `items` of somebody unseen, or both")
        query = library.Query()
        lib.query_init_sized(query, c.sizeof(query))
        query.user = None if user is None else encode(user, "user")
        query.items, query.item_count = _texts(items, "items")
        query.allow, query.allow_count = _texts(allow, "allow")
        query.deny, query.deny_count = _texts(deny, "deny")
        query.k, query.include_seen = _length(k), int(include_seen)
        return query

    def recommend(
        self,
        user: Optional[Id] = None,
        items: Optional[Iterable[Id]] = None,
        k: int = 20,
        include_seen: bool = False,
        allow: Optional[Iterable[Id]] = None,
        deny: Optional[Iterable[Id]] = None,
        explain: int = 0,
    ) -> Recommendations:
        """The k best items for a user, or for somebody unseen who has chosen ``items``.

        ``allow`` and ``deny`` limit what is listed; ``explain`` gives the so many strongest reasons for each item.
        """
        query = self._query(user, items, k, include_seen, allow, deny)
        pointer = c.POINTER(library.List)()
        lib.recommend(self._pointer, query, pointer)
        title = f"for {user}" if user is not None else f"for somebody with {query.item_count} items"
        found = _list(pointer, title)
        if explain:
            found.because = [self._explain(query, entry.id, int(explain)) for entry in found]
        return found

    def recommend_many(
        self,
        users: Optional[Sequence[Id]] = None,
        rows: Any = None,
        k: int = 20,
        include_seen: bool = False,
        progress: Optional[bool] = False,
    ) -> Tuple[np.ndarray, np.ndarray]:
        """Lists for many people in one parallel call: numbers of items (people, k) and their scores.

        ``users`` are ids; ``rows`` is a sparse matrix whose columns are :attr:`Model.items`, a row for each person, seen or
        not. Numbers are places in :attr:`Model.items`; -1 where a list is shorter than k.
        """
        if (users is None) == (rows is None):
            raise UsageError("expected either `users` or `rows`")
        if users is not None:
            numbers = np.array([lib.view_user_row(self._pointer, encode(user, "user")) for user in users], np.int64)
            if len(numbers) and numbers.min() < 0:
                unknown = users[int(np.argmin(numbers))]
                self.recommend(user=unknown, k=1)  # the library's own sentence
            nothing = np.zeros(len(numbers) + 1, np.int64), np.empty(0, np.int32)
            return self.rank(numbers, *nothing, k, include_seen, not include_seen, progress=progress)
        given = Rows(rows, "rows")
        if given.items != len(self.model.items):
            raise UsageError(f"rows: found {given.items} columns, expected the {len(self.model.items)} of Model.items")
        return self.rank(None, given.offset, given.item, k, include_seen, progress=progress)

    def save_lists(
        self, path: Any, users: Optional[Sequence[Id]] = None, k: int = 20, include_seen: bool = False
    ) -> None:
        """Writes the lists of these users (default: all of the model) as a Parquet file.

        A line for each place of a list: user, rank (from 1), item, score, and title if the model has titles. Needs pyarrow.
        For CSV and JSON there is ``inmo recommend --all-users -o lists.csv``.
        """
        _tables.write_parquet(path, self._lists(self.model.users if users is None else users, k, include_seen))

    def _lists(self, users: Sequence[Id], k: int, include_seen: bool) -> Dict[str, Any]:
        items, scores = self.recommend_many(users=users, k=k, include_seen=include_seen)
        places = items >= 0
        names = [self.item_id(number) for number in range(int(items.max(initial=-1)) + 1)]
        columns: Dict[str, Any] = {
            "user": [str(user) for user, count in zip(users, places.sum(1)) for _ in range(count)],
            "rank": (np.nonzero(places)[1] + 1).astype(np.int32),
            "item": [names[number] for number in items[places]],
            "score": scores[places],
        }
        titles = [self.model.title(name) for name in names]
        if any(titles):
            columns["title"] = [titles[number] for number in items[places]]
        return columns

    def item_id(self, number: int) -> str:
        """The id of an item by its number in the lists of :meth:`recommend_many`."""
        found: str = lib.view_item_id(self._pointer, number).decode()
        return found

    def rank(
        self,
        users: Optional[np.ndarray],
        offset: np.ndarray,
        item: np.ndarray,
        k: int,
        include_seen: bool = False,
        exclude_past: bool = False,
        allow: Optional[np.ndarray] = None,
        deny: Optional[np.ndarray] = None,
        progress: Optional[bool] = False,
    ) -> Tuple[np.ndarray, np.ndarray]:
        """The call behind the batches: everything by number (``inmo_recommend_rows`` in inmo.h)."""
        count = len(offset) - 1
        query = library.RowsQuery(
            c.sizeof(library.RowsQuery),
            count,
            _address(users),
            _address(offset),
            _address(item),
            len(item),
            _length(k),
            int(include_seen),
            int(exclude_past),
            _address(allow),
            0 if allow is None else len(allow),
            _address(deny),
            0 if deny is None else len(deny),
        )
        items = np.empty((count, k), np.int32)
        scores = np.empty((count, k), np.float32)
        if count <= 64 and not progress:  # too short to be interrupted
            lib.recommend_rows(self._pointer, query, None, _address(items), _address(scores))
        else:
            with Watch(progress) as watch:
                lib.recommend_rows(self._pointer, query, watch.hooks, items.ctypes.data, scores.ctypes.data)
        return items, scores

    def similar(self, item: Optional[Id] = None, user: Optional[Id] = None, k: int = 20) -> Recommendations:
        """The k nearest items of an item, or users of a user."""
        if (item is None) == (user is None):
            raise UsageError("expected either `item` or `user`")
        pointer = c.POINTER(library.List)()
        lib.similar(
            self._pointer,
            None if item is None else encode(item, "item"),
            None if user is None else encode(user, "user"),
            _length(k),
            pointer,
        )
        return _list(pointer, f"like {item if item is not None else user}")

    def explain(self, item: Id, user: Optional[Id] = None, items: Optional[Iterable[Id]] = None) -> Explanation:
        """Why the item has its score for a user or for a history: parts that sum to the score."""
        return self._explain(self._query(user, items, 1, True, None, None), item, None)

    def _explain(self, query: library.Query, item: Id, most: Optional[int]) -> Explanation:
        pointer = c.POINTER(library.Explanation)()
        lib.explain(self._pointer, query, encode(item, "item"), pointer)
        try:
            found = pointer.contents
            count = found.count if most is None else min(most, found.count)
            parts = [Entry(found.part[n].id.decode(), found.part[n].score) for n in range(count)]
            return Explanation(str(item), found.score, parts)
        finally:
            lib.explanation_free(pointer)

    # ---- What happens

    def observe(self, events: Any, columns: Optional[str] = None) -> "View":
        """Takes in events of known and new users and items: pairs, a table, or what else :func:`inmo.read` takes but files.

        They count in the next list of their users; for everybody else from the next :meth:`refresh` on.
        """
        array = _events(events, columns)
        lib.view_observe(self._pointer, array, len(array))
        return self

    def observe_seen(self, events: Any, columns: Optional[str] = None) -> "View":
        """Takes in what users have seen but not chosen (views, low ratings, returns), given as for :meth:`observe`.

        From the next list on it is never recommended to the same user, and it counts for nothing else.
        """
        array = _events(events, columns)
        lib.view_observe_seen(self._pointer, array, len(array))
        return self

    def forget(self, user: Optional[Id] = None, item: Optional[Id] = None) -> "View":
        """Forgets a user, an item, or one interaction."""
        lib.view_forget(
            self._pointer,
            None if user is None else encode(user, "user"),
            None if item is None else encode(item, "item"),
        )
        return self

    def refresh(self, background: bool = False) -> "View":
        """Lets everything observed and forgotten count for everybody. Questions meanwhile are answered as before."""
        if background:
            lib.view_refresh_in_background(self._pointer)
        else:
            with Watch(False) as watch:
                lib.view_refresh(self._pointer, watch.hooks)
        return self

    def warm(self) -> "View":
        """Computes now what the first questions would otherwise compute."""
        with Watch(False) as watch:
            lib.view_warm(self._pointer, watch.hooks)
        return self

    @property
    def freshness(self) -> Dict[str, Any]:
        """How many events were told, how many wait for a refresh, and how long the last one took."""
        found = library.Freshness()
        lib.view_freshness(self._pointer, found)
        return {name: getattr(found, name) for name, _ in library.Freshness._fields_}  # type: ignore[misc]

    # ---- The numbers themselves

    def _vectors(self, of_items: bool) -> np.ndarray:
        users, items = library.Matrix(), library.Matrix()
        held = lib.view_hold(self._pointer, users, items)
        owner = Owner(c.c_void_p(held), lib.snapshot_release, keep=self._owner)
        matrix = items if of_items else users
        return view_of(matrix.value, (matrix.rows, matrix.columns), "<f4", owner)

    @property
    def user_vectors(self) -> np.ndarray:
        """Representations (users, dim), as of the last refresh: a read-only view on the library's memory."""
        return self._vectors(False)

    @property
    def item_vectors(self) -> np.ndarray:
        """Representations (items, dim). The score is their product with a user's, plus walks where a model has them."""
        return self._vectors(True)

    def user_row(self, user: Id) -> int:
        """The row of a user's vector; -1 if unknown."""
        return int(lib.view_user_row(self._pointer, encode(user, "user")))

    def item_row(self, item: Id) -> int:
        """The row of an item's vector; -1 if unknown."""
        return int(lib.view_item_row(self._pointer, encode(item, "item")))

    def __repr__(self) -> str:
        fresh = self.freshness
        return f"<inmo.View of {self.model.name}: {fresh['events']} events observed, {fresh['pending']} of them not refreshed>"

    def __reduce__(self) -> Any:
        raise TypeError("a view cannot be pickled: it lives on events; pickle its model, and observe again")


def _length(k: Any) -> int:
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise TypeError(f"k: found {type(k).__name__}, expected a whole number")
    if not 1 <= k.__index__() < 2**31:
        raise UsageError(f"`k`: found {k}, expected a number of at least 1")
    return int(k)


def _list(pointer: Any, title: str) -> Recommendations:
    try:
        found = pointer.contents
        entries = [Entry(found.entry[n].id.decode(), found.entry[n].score) for n in range(found.count)]
        measure = found.measure.decode() if found.measure else None
        return Recommendations(
            entries, found.coverage, found.unknown_items, bool(found.fallback), measure, None, title
        )
    finally:
        lib.list_free(pointer)
