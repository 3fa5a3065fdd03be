"""Interactions in any form that people have them: paths, DataFrames, Arrow tables, arrays, pairs."""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._errors import InputError, UsageError
from ._library import encode, lib

_ROLES = ("user", "item", "rating", "time", "weight")


class Columns(NamedTuple):
    """Interactions as columns of equal length."""

    user: List[bytes]
    item: List[bytes]
    rating: Optional[np.ndarray]
    time: Optional[np.ndarray]
    weight: Optional[np.ndarray] = None


def write_parquet(path: Any, columns: Dict[str, Any]) -> None:
    """Columns by name as a Parquet file, which takes its place when it is whole. Needs pyarrow."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(f"{os.fsdecode(path)}: writing Parquet files needs pyarrow (pip install pyarrow)") from None
    part = os.fsdecode(path) + ".part"
    try:
        parquet.write_table(pyarrow.table(columns), part)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def is_path(data: Any) -> bool:
    return isinstance(data, (str, bytes, os.PathLike))


def is_parquet(path: Any) -> bool:
    return os.fsdecode(path).lower().endswith((".parquet", ".pq"))


def read_parquet(path: Any) -> Any:
    """An Arrow table. Needs pyarrow."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError(f"{os.fsdecode(path)}: reading Parquet files needs pyarrow (pip install pyarrow)") from None
    try:
        return parquet.read_table(path)
    except (OSError, ValueError) as fault:
        raise InputError(f"{os.fsdecode(path)}: {fault}") from None


def is_table(data: Any) -> bool:
    """A DataFrame of pandas or polars, an Arrow table, or a dictionary of columns."""
    return isinstance(data, dict) or hasattr(data, "columns") or hasattr(data, "column_names")


def _names(data: Any) -> List[str]:
    if hasattr(data, "column_names"):  # an Arrow table, whose columns are its data
        return [str(name) for name in data.column_names]
    return [str(name) for name in (data.keys() if isinstance(data, dict) else data.columns)]


def _column(data: Any, place: int) -> Any:
    if hasattr(data, "column_names"):
        return data.column(place).to_numpy()
    if isinstance(data, dict):
        return np.asarray(list(data.values())[place])
    if hasattr(data, "iloc"):
        return data.iloc[:, place].to_numpy()
    return data[data.columns[place]].to_numpy()


def _roles(names: Sequence[str], columns: Optional[str]) -> Dict[str, int]:
    """Which column is which: as told, or by the names that the reader of logs looks for."""
    if columns is not None:
        told = [word.strip() for word in columns.split(",")]
        bad = [word for word in told if word not in _ROLES + ("-",)]
        if bad:
            raise UsageError(f"`columns` {columns}: found {bad[0]}, expected user, item, rating, time, weight or -")
        if len(told) > len(names):
            raise UsageError(f"`columns` {columns}: names {len(told)} columns, the table has {len(names)}")
        found = {word: place for place, word in reversed(list(enumerate(told))) if word != "-"}
    else:
        found = {}
        for place, name in enumerate(names):
            role = lib.column_role(encode(name, "column"))
            if role is not None and role.decode() not in found:
                found[role.decode()] = place
    if "user" not in found or "item" not in found:
        raise InputError(
            f"the table has the columns {', '.join(names)}: found no user and item among them; "
            "`columns` says which they are ('user,item,-,time')"
        )
    if "split" in found and columns is None:
        raise UsageError(
            f"the column {names[found['split']]} is a split, which a table in memory cannot have; "
            "`columns` leaves it out, and inmo.dataset takes the parts as matrices"
        )
    return found


def ids_of(values: Any, what: str) -> List[bytes]:
    """A column of ids."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise InputError(f"{what}: found an array of {array.ndim} dimensions, expected a column")
    if array.dtype.kind in "iu":
        return [b"%d" % number for number in array.tolist()]
    found = []
    for place, value in enumerate(array.tolist()):
        try:
            if isinstance(value, float) and value.is_integer():  # pandas has floats where ids are missing
                value = int(value)
            found.append(encode(value, what))
        except (TypeError, ValueError) as fault:
            raise InputError(f"pair {place + 1}: {fault}") from None
    return found


def _numbers(values: Any, what: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind == "M":  # seconds since 1970
        return array.astype("datetime64[s]").astype(np.int64)
    kind = np.int64 if what == "time" else np.float64
    try:
        return np.ascontiguousarray(array, dtype=kind)
    except (TypeError, ValueError):
        raise InputError(f"the column {what}: found {array.dtype} values that are not numbers") from None


def columns_of(data: Any, columns: Optional[str] = None, weight: Optional[str] = None) -> Columns:
    """The columns of a table, or of an iterable of (user, item[, rating[, time]]). weight: the name of a column."""
    weights = None
    if is_table(data):
        names = _names(data)
        places = _roles(names, columns)
        user = ids_of(_column(data, places["user"]), "user")
        item = ids_of(_column(data, places["item"]), "item")
        rating = _numbers(_column(data, places["rating"]), "rating") if "rating" in places else None
        time = _numbers(_column(data, places["time"]), "time") if "time" in places else None
        if weight is not None and weight in names:
            weights = _numbers(_column(data, names.index(weight)), weight)
        elif "weight" in places:
            weights = _numbers(_column(data, places["weight"]), "weight")
    else:
        user, item, rating, time = _columns_of_pairs(data)
    for name, column in (("item", item), ("rating", rating), ("time", time)):
        if column is not None and len(column) != len(user):
            raise InputError(f"found {len(user)} users and {len(column)} values of {name}")
    return Columns(user, item, rating, time, None if weights is None else weights.astype(np.float64))


def _columns_of_pairs(data: Any) -> Tuple[List[bytes], List[bytes], Optional[np.ndarray], Optional[np.ndarray]]:
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or not 2 <= data.shape[1] <= 4:
            raise InputError(f"found an array of shape {data.shape}, expected rows of user, item[, rating[, time]]")
        rows: Any = data.tolist()
        if data.dtype.kind == "f":
            rows = [(int(row[0]), int(row[1]), *row[2:]) for row in rows]
    else:
        try:
            rows = list(data)
        except TypeError:
            raise TypeError(
                f"found {type(data).__name__}, expected a path, a table, or pairs of user and item"
            ) from None
    if not rows:
        raise InputError("found no interactions")
    for place, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not hasattr(row, "__len__") or not 2 <= len(row) <= 4:
            raise InputError(f"pair {place + 1}: found {row!r}, expected user, item[, rating[, time]]")
        if len(row) != len(rows[0]):
            raise InputError(f"pair {place + 1}: found {len(row)} fields, expected {len(rows[0])} as before")
    columns: List[Any] = [list(column) for column in zip(*rows)]
    rating = _numbers(columns[2], "rating") if len(columns) > 2 else None
    time = _numbers(columns[3], "time") if len(columns) > 3 else None
    objects = [np.empty(len(rows), dtype=object) for _ in range(2)]
    for place in range(2):
        objects[place][:] = columns[place]
    return ids_of(objects[0], "user"), ids_of(objects[1], "item"), rating, time
