"""Lists, neighbours and reasons with implicit's arguments, shapes and types of results."""

from __future__ import annotations

import warnings
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from scipy.sparse import csr_matrix

from .._arrays import Rows, int_array
from .._errors import UnsupportedError
from .._library import lib
from ._fitted import LOWEST, Fitted, Threads, check_csr


class Ranking(Fitted):
    """What is asked of a model."""

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
            with Threads(self.num_threads if count > 1 else 0):
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
            with Threads(self.num_threads if len(known) > 1 else 0):
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
