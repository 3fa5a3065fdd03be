"""Logs and data sets: read, prepare, synth, dataset, open_dataset."""

from __future__ import annotations

import ctypes as c
import json
from typing import Any, Dict, List, Optional

import numpy as np

from . import _tables
from ._arrays import Owner, Rows, ids_of_table, view_of
from ._errors import UsageError
from ._library import DatasetInfo, IdTable, Interactions, encode_path, lib
from ._options import Options, split_options
from ._progress import Watch


def _texts(values: List[bytes]) -> Any:
    return (c.c_char_p * len(values))(*values)


class Log:
    """Interactions as read, before anything is filtered or split. Made by :func:`read`."""

    def __init__(self, pointer: Any) -> None:
        self._owner = Owner(pointer, lib.log_free)

    @property
    def _pointer(self) -> Any:
        return self._owner.pointer

    def __len__(self) -> int:
        return int(lib.log_count(self._pointer))

    def __repr__(self) -> str:
        return f"<inmo.Log: {len(self):,} interactions>"


def read(data: Any, progress: Optional[bool] = None, **options: Any) -> Log:
    """Reads a log: a path or several, a DataFrame (pandas, polars), an Arrow table, or pairs of user and item.

    Options are those of reading (``inmo.options("read")``). Files are read by the library, in all formats of the program;
    ``.parquet`` by pyarrow. In a table, columns are found by their names as in a file's header; ``columns`` says otherwise.

    >>> import inmo
    >>> len(inmo.read([("ann", "tea"), ("ann", "milk"), ("bob", "tea")]))
    3
    >>> len(inmo.read({"userId": [1, 1, 2], "movieId": [7, 8, 7], "rating": [5.0, 1.0, 4.0]}))
    2

    ``weight`` says how much an interaction counts: a column of the table by its name, ``"rating"``, or ``"count"`` for
    the number of repeats.

    >>> len(inmo.read({"user": ["ann", "bob"], "item": ["tea", "tea"], "plays": [3, 40]}, weight="plays"))
    2
    """
    (given,) = split_options(options, "read")
    filled = Options("read", given)
    pointer = c.c_void_p()
    paths = data if isinstance(data, (list, tuple)) and data and all(map(_tables.is_path, data)) else None
    if _tables.is_path(data):
        paths = [data]
    if paths and any(map(_tables.is_parquet, paths)):
        if len(paths) > 1:
            raise UsageError("Parquet files are read one at a time; concatenate their tables")
        data, paths = _tables.read_parquet(paths[0]), None
    if paths:
        encoded = [encode_path(path) for path in paths]
        with Watch(progress) as watch:
            lib.log_read(_texts(encoded), len(encoded), filled.block, watch.hooks, pointer)
    else:
        columns = _tables.columns_of(data, options.get("columns"), options.get("weight"))
        rating = None if columns.rating is None else columns.rating.ctypes.data
        time = None if columns.time is None else columns.time.ctypes.data
        weight = None if columns.weight is None else columns.weight.ctypes.data
        user, item = _texts(columns.user), _texts(columns.item)
        lib.log_from_weights(len(user), user, item, rating, weight, time, filled.block, pointer)
    return Log(pointer)


class Dataset:
    """A filtered and split data set. Made by :func:`prepare`, :func:`dataset` or :func:`open_dataset`."""

    def __init__(self, pointer: Any) -> None:
        self._owner = Owner(pointer, lib.dataset_free)

    @property
    def _pointer(self) -> Any:
        return self._owner.pointer

    @property
    def info(self) -> Dict[str, Any]:
        """Counts, the scenario, and how it was prepared."""
        info = DatasetInfo()
        lib.dataset_info(self._pointer, info)
        found = {name: getattr(info, name) for name, _ in DatasetInfo._fields_}  # type: ignore[misc]
        found["scenario"] = found["scenario"].decode()
        found["description"] = json.loads(found["description"])
        return found

    def _ids(self, of_items: bool) -> List[str]:
        users, items = IdTable(), IdTable()
        lib.dataset_ids(self._pointer, users, items)
        return ids_of_table(items if of_items else users)

    @property
    def users(self) -> List[str]:
        """The ids of the users, in the order of the rows of the parts."""
        return self._ids(False)

    @property
    def items(self) -> List[str]:
        """The ids of the items, in the order of the columns of the parts."""
        return self._ids(True)

    def part(self, name: str) -> Any:
        """A part as a scipy CSR matrix: 'train', 'valid', 'test', 'later' or 'aside'.

        Its indices are views on the library's memory; only the ones are its own.

        >>> import inmo
        >>> data = inmo.prepare([("ann", "tea"), ("ann", "milk"), ("bob", "tea")], split="100/0/0")
        >>> data.part("train").toarray().astype(int).tolist()
        [[1, 1], [1, 0]]
        """
        from scipy.sparse import csr_matrix

        found = Interactions()
        if not lib.dataset_part(self._pointer, name.encode(), found):
            raise UsageError(f"part: found {name!r}, expected train, valid, test, later or aside")
        offset = view_of(found.offset, (found.users + 1,), "<i8", self._owner)
        item = view_of(found.item, (found.count,), "<i4", self._owner)
        matrix = csr_matrix((found.users, found.items), dtype=np.float32)
        matrix.indptr, matrix.indices = offset, item
        matrix.data = np.ones(found.count, dtype=np.float32)
        return matrix

    def save(self, directory: Any, force: bool = False) -> None:
        """Writes a prepared directory, as ``inmo prepare`` does it."""
        lib.dataset_save(self._pointer, encode_path(directory), int(force))

    def __repr__(self) -> str:
        info = self.info
        parts = ", ".join(f"{name} {info[name]:,}" for name in ("train", "valid", "test", "later") if info[name])
        return f"<inmo.Dataset: {info['users']:,} users, {info['items']:,} items; {parts}>"

    def __reduce__(self) -> Any:
        from ._files import bytes_of_dataset

        return _dataset_from_bytes, (bytes_of_dataset(self),)


def _dataset_from_bytes(files: Dict[str, bytes]) -> Dataset:
    from ._files import in_folder

    found: Dataset = in_folder(files, open_dataset)
    return found


def prepare(data: Any, progress: Optional[bool] = None, **options: Any) -> Dataset:
    """Filters and splits interactions: a :class:`Log`, or anything that :func:`read` takes.

    Options are those of ``inmo prepare``: ``inmo.options("read")`` and ``inmo.options("prepare")``.

    >>> import inmo
    >>> data = inmo.prepare([(user, item) for user in range(9) for item in range(9) if user != item], seed=3)
    >>> data
    <inmo.Dataset: 9 users, 9 items; train 45, valid 18, test 9>
    """
    to_read, to_prepare = split_options(options, "read", "prepare")
    if isinstance(data, Dataset):
        raise TypeError("data: found a Dataset, which is prepared already")
    if isinstance(data, Log) and to_read:
        raise UsageError(f"`{next(iter(to_read))}` applies to reading, and the log has been read already")
    log = data if isinstance(data, Log) else read(data, progress, **to_read)
    filled = Options("prepare", to_prepare)
    pointer = c.c_void_p()
    lib.dataset_prepare(log._pointer, filled.block, pointer)
    return Dataset(pointer)


def dataset(train: Any, valid: Any = None, test: Any = None, **options: Any) -> Dataset:
    """A data set from scipy sparse matrices, users by items. User n and item n have the id ``str(n)``.

    With ``train`` alone, the options of preparing split it (``split``, ``seed``, ``scenario`` ...); without options all of it
    is for training. Values other than 0 count as 1.

    >>> import inmo
    >>> from scipy.sparse import csr_matrix
    >>> inmo.dataset(csr_matrix([[1, 1, 0], [0, 1, 1]]), test=csr_matrix([[0, 0, 1], [0, 0, 0]]))
    <inmo.Dataset: 2 users, 3 items; train 4, test 1>
    """
    (given,) = split_options(options, "prepare")
    rows = [Rows(matrix, name) if matrix is not None else None for matrix, name in ((train, "train"), (valid, "valid"), (test, "test"))]
    structures = [None if one is None else one.structure() for one in rows]
    filled = Options("prepare", given).block if given else None
    pointer = c.c_void_p()
    lib.dataset_from_matrices(structures[0], structures[1], structures[2], filled, pointer)
    return Dataset(pointer)


def open_dataset(directory: Any) -> Dataset:
    """Opens a directory that ``inmo prepare`` or :meth:`Dataset.save` has written."""
    pointer = c.c_void_p()
    lib.dataset_open(encode_path(directory), pointer)
    return Dataset(pointer)


def synth(path: Any, force: bool = False, progress: Optional[bool] = None, **options: Any) -> Any:
    """Writes a synthetic log, as ``inmo synth`` does it, and returns its path. Options: ``inmo.options("synth")``.

    >>> import inmo, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "log.tsv")
    >>> open(inmo.synth(path, interactions=1000, users=50, items=40, seed=7)).readline().count("\\t")
    1
    """
    (given,) = split_options(options, "synth")
    filled = Options("synth", given)
    with Watch(progress) as watch:
        lib.synth(filled.block, encode_path(path), int(force), watch.hooks)
    return path
