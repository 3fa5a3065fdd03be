"""Arrays in and out: checked sparse matrices for the library, and its memory as numpy arrays."""

from __future__ import annotations

import ctypes as c
import threading
from typing import Any, List, Optional

import numpy as np

from ._errors import InputError
from ._library import IdTable, Interactions

MOST = 2**31 - 1


_counting = threading.RLock()  # a finaliser may run inside another


class _Handle:
    """A pointer of the library and how many need it. Counted by hand: the garbage collector runs the finalisers of a cycle in
    any order, and a model must outlive its views."""

    def __init__(self, pointer: Any, free: Any, parent: Optional["_Handle"]) -> None:
        self.pointer, self.free, self.parent, self.count = pointer, free, parent, 1
        if parent:
            with _counting:
                parent.count += 1

    def release(self) -> None:
        with _counting:
            self.count -= 1
            last = self.count == 0
        if last:
            self.free(self.pointer)
            if self.parent:
                self.parent.release()


class Owner:
    """Something of the library that is freed once, after everything that is made from it."""

    def __init__(self, pointer: Any, free: Any, keep: Optional["Owner"] = None) -> None:
        self.pointer, self._keep = pointer, keep
        self._handle: Optional[_Handle] = _Handle(pointer, free, keep._handle if keep else None)

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            handle.release()


class _Memory:
    """A piece of the library's memory, which lives as long as the arrays on it."""

    def __init__(self, address: int, shape: Any, dtype: str, owner: Any) -> None:
        self.__array_interface__ = {"data": (address, True), "shape": shape, "typestr": dtype, "version": 3}
        self.owner = owner


def view_of(address: Optional[int], shape: Any, dtype: str, owner: Any) -> np.ndarray:
    """A read-only array on the library's memory; owner is kept alive by it."""
    if not address or 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(_Memory(address, shape, dtype, owner))


def ids_of_table(table: IdTable) -> List[str]:
    """The ids of a table of the library."""
    if not table.count:
        return []
    offset = np.ctypeslib.as_array(c.cast(table.offset, c.POINTER(c.c_int64)), (table.count + 1,))
    text = c.string_at(table.text, int(offset[-1]))
    return text.decode("utf-8", "replace").split("\0")[: table.count]


def numbers_of_table(table: IdTable) -> Optional[np.ndarray]:
    """The ids as numbers if all of them are: those of matrices."""
    ids = ids_of_table(table)
    if not all(one.isdigit() and len(one) < 11 for one in ids):
        return None
    return np.array(ids, dtype=np.int64)


class Rows:
    """A sparse matrix as the library takes it: int64 offsets, int32 items, without zeros. Copies only what it must."""

    def __init__(self, matrix: Any, what: str = "user_items", positive: bool = True) -> None:
        if not hasattr(matrix, "tocsr"):
            raise TypeError(f"{what}: found {type(matrix).__name__}, expected a sparse matrix of scipy")
        csr = matrix if getattr(matrix, "format", "") == "csr" else matrix.tocsr()
        if len(csr.shape) != 2:
            raise InputError(f"{what}: found {len(csr.shape)} dimensions, expected users by items")
        users, items = csr.shape
        if users > MOST or items > MOST:
            raise InputError(f"{what}: found {users} users and {items} items, expected at most {MOST} of each")
        indptr, indices, values = csr.indptr, csr.indices, csr.data
        if len(indptr) != users + 1 or len(indices) != len(values):
            raise InputError(f"{what}: its indptr, indices and data do not fit its shape {csr.shape}")
        if values.dtype.kind not in "biuf":
            raise InputError(f"{what}: found values of type {values.dtype}, expected numbers")
        self.given = values
        keep = self._check_values(values, what, positive)
        if len(indices) and indices.dtype != np.int32:
            if int(indices.max()) > MOST or int(indices.min()) < 0:
                raise InputError(f"{what}: found an index out of range, expected 0 to {items - 1}")
        if keep is not None:
            counts = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
            indptr, indices = counts[indptr], indices[keep]
        self.users, self.items = users, items
        self.offset = indptr if indptr.dtype == np.int64 else indptr.astype(np.int64)
        self.item = indices if indices.dtype == np.int32 else indices.astype(np.int32)
        if not (self.offset.flags.c_contiguous and self.item.flags.c_contiguous):
            self.offset, self.item = np.ascontiguousarray(self.offset), np.ascontiguousarray(self.item)

    @staticmethod
    def _check_values(values: np.ndarray, what: str, positive: bool) -> Optional[np.ndarray]:
        """Which entries stay, None: all. A stored zero is no interaction, as anywhere in scipy."""
        if values.dtype.kind == "b":
            return None if values.all() else values
        if not len(values):
            return None
        least = values.min()  # NaN if there is one
        if not positive and least > 0:
            return None
        if values.dtype.kind == "f" and not np.isfinite(values.sum()):
            if not np.isfinite(values).all():
                raise InputError(f"{what}: found a value that is not finite, expected positive numbers")
        if positive and least < 0:
            raise InputError(
                f"{what}: found the negative value {least}; interactions are there or not, and dislikes cannot be told"
            )
        return None if least > 0 else values != 0

    def structure(self) -> Interactions:
        return Interactions(self.users, self.items, self.offset.ctypes.data, self.item.ctypes.data, len(self.item))


def int_array(values: Any, what: str) -> np.ndarray:
    """Whole numbers as an int64 array of one dimension."""
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what}: found {array.dtype} values, expected whole numbers")
    if array.ndim != 1:
        raise ValueError(f"{what}: found an array of {array.ndim} dimensions, expected one")
    return np.ascontiguousarray(array, dtype=np.int64)
