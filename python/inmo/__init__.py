"""inmo: collaborative filtering for users and items the model has never seen.

The program's whole way, with its options as keywords::

    data = inmo.prepare("log.tsv", k_core=10, seed=1)
    model = inmo.train(data)
    print(model.evaluate(data, k=[5, 20]).table())
    print(model.recommend(items=["jazz-004", "jazz-011"], k=10, explain=2))
    model.save("model.inmo")

``inmo.implicit`` has the classes and methods of implicit, over sparse matrices.
"""

from ._data import Dataset, Log, dataset, open_dataset, prepare, read, synth
from ._errors import (
    Error,
    BusyError,
    ExistsError,
    FileError,
    FormatError,
    InputError,
    Interrupted,
    MissingFileError,
    NotEnoughMemoryError,
    NumericError,
    UnknownIdError,
    UnsupportedError,
    UsageError,
)
from ._library import lib as _lib
from ._library import set_threads
from ._lists import Entry, Evaluation, Explanation, Recommendations, Search
from ._model import Model, load, train, tune
from ._options import Option, options
from ._view import View

__version__: str = _lib.version().decode()

__all__ = [
    "Dataset",
    "Entry",
    "Error",
    "Evaluation",
    "BusyError",
    "ExistsError",
    "Explanation",
    "FileError",
    "FormatError",
    "InputError",
    "Interrupted",
    "Log",
    "MissingFileError",
    "Model",
    "NotEnoughMemoryError",
    "NumericError",
    "Option",
    "Recommendations",
    "Search",
    "UnknownIdError",
    "UnsupportedError",
    "UsageError",
    "View",
    "dataset",
    "load",
    "open_dataset",
    "options",
    "prepare",
    "read",
    "set_threads",
    "synth",
    "train",
    "tune",
]
