"""libinmo itself: where it is, its structures, its calls.

What a structure of options holds is not declared here: the library's tables of settings say it (``_options``). The
structures that the library hands out are declared, and their sizes are compared with the library's own when it is loaded.
"""

from __future__ import annotations

import ctypes as c
import os
import sys
from typing import Any, Dict, Type

from ._errors import error_of

ABI = 1  # INMO_ABI of the inmo.h that the structures below follow


class ErrorRecord(c.Structure):
    _fields_ = [("code", c.c_int), ("message", c.c_char * 1024)]


class Progress(c.Structure):
    _fields_ = [
        ("stage", c.c_char_p),
        ("done", c.c_double),
        ("total", c.c_double),
        ("unit", c.c_char_p),
        ("seconds", c.c_double),
        ("loss", c.c_double),
        ("score", c.c_double),
        ("best_score", c.c_double),
    ]


LogHook = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p)
ProgressHook = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Progress))
InterruptedHook = c.CFUNCTYPE(c.c_int, c.c_void_p)


class Hooks(c.Structure):
    _fields_ = [("context", c.c_void_p), ("log", LogHook), ("progress", ProgressHook), ("interrupted", InterruptedHook)]


class Setting(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("type", c.c_char),
        ("offset", c.c_size_t),
        ("least", c.c_double),
        ("most", c.c_double),
        ("choices", c.c_char_p),
        ("group", c.c_char_p),
        ("value", c.c_char_p),
        ("help", c.c_char_p),
    ]


class DatasetInfo(c.Structure):
    _fields_ = [
        ("users", c.c_int32),
        ("items", c.c_int32),
        ("new_users", c.c_int32),
        ("new_items", c.c_int32),
        ("train", c.c_int64),
        ("valid", c.c_int64),
        ("test", c.c_int64),
        ("later", c.c_int64),
        ("aside", c.c_int64),
        ("scenario", c.c_char_p),
        ("description", c.c_char_p),
    ]


class Interactions(c.Structure):
    _fields_ = [
        ("users", c.c_int64),
        ("items", c.c_int64),
        ("offset", c.c_void_p),
        ("item", c.c_void_p),
        ("count", c.c_int64),
    ]


class IdTable(c.Structure):
    _fields_ = [("count", c.c_int64), ("offset", c.c_void_p), ("text", c.c_void_p)]


class TrainReport(c.Structure):
    _fields_ = [
        ("epochs", c.c_int),
        ("best_epoch", c.c_int),
        ("steps", c.c_int64),
        ("seconds", c.c_double),
        ("seconds_per_epoch", c.c_double),
        ("best_score", c.c_double),
        ("final_loss", c.c_double),
        ("stopped", c.c_char_p),
    ]


class ModelInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("dim", c.c_int),
        ("layers", c.c_int),
        ("users", c.c_int32),
        ("items", c.c_int32),
        ("user_templates", c.c_int32),
        ("item_templates", c.c_int32),
        ("parameters", c.c_int64),
        ("interactions", c.c_int64),
        ("configuration", c.c_char_p),
        ("record", c.c_char_p),
    ]


class TuneTrial(c.Structure):
    _fields_ = [
        ("number", c.c_int),
        ("value", c.POINTER(c.c_char_p)),
        ("epochs", c.c_int),
        ("score", c.c_double),
        ("deviation", c.c_double),
        ("error", c.c_char_p),
        ("model", c.c_char_p),
        ("seconds", c.c_double),
    ]


class Metrics(c.Structure):
    _fields_ = [("k", c.c_int)] + [
        (name, c.c_double) for name in ("recall", "precision", "ndcg", "hit_rate", "mrr", "map", "coverage", "novelty", "diversity")
    ]


class Group(c.Structure):
    _fields_ = [("name", c.c_char_p), ("users", c.c_int64), ("at", c.POINTER(Metrics))]


class Report(c.Structure):
    _fields_ = [
        ("k_count", c.c_size_t),
        ("group_count", c.c_size_t),
        ("group", c.POINTER(Group)),
        ("user_ndcg", c.c_void_p),
        ("seconds", c.c_double),
        ("inference_seconds", c.c_double),
    ]


class Event(c.Structure):
    _fields_ = [("user", c.c_char_p), ("item", c.c_char_p), ("time", c.c_int64)]


class Freshness(c.Structure):
    _fields_ = [
        ("events", c.c_uint64),
        ("pending", c.c_uint64),
        ("refreshes", c.c_uint64),
        ("seconds", c.c_double),
        ("newest_time", c.c_int64),
        ("refreshing", c.c_int),
        ("background", c.c_int),
    ]


class Query(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("user", c.c_char_p),
        ("items", c.POINTER(c.c_char_p)),
        ("item_count", c.c_size_t),
        ("k", c.c_int),
        ("include_seen", c.c_int),
        ("allow", c.POINTER(c.c_char_p)),
        ("allow_count", c.c_size_t),
        ("deny", c.POINTER(c.c_char_p)),
        ("deny_count", c.c_size_t),
        ("rules", c.c_void_p),
    ]


class RowsQuery(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("count", c.c_size_t),
        ("user", c.c_void_p),
        ("offset", c.c_void_p),
        ("item", c.c_void_p),
        ("item_count", c.c_int64),
        ("k", c.c_int),
        ("include_seen", c.c_int),
        ("exclude_past", c.c_int),
        ("allow", c.c_void_p),
        ("allow_count", c.c_size_t),
        ("deny", c.c_void_p),
        ("deny_count", c.c_size_t),
        ("rules", c.c_void_p),
    ]


class Entry(c.Structure):
    _fields_ = [("id", c.c_char_p), ("score", c.c_double)]


class List(c.Structure):
    _fields_ = [
        ("count", c.c_size_t),
        ("entry", c.POINTER(Entry)),
        ("coverage", c.c_double),
        ("unknown_items", c.c_int),
        ("fallback", c.c_int),
        ("measure", c.c_char_p),
        ("status", c.c_int),
        ("problem", c.c_char_p),
    ]


class Explanation(c.Structure):
    _fields_ = [("score", c.c_double), ("count", c.c_size_t), ("part", c.POINTER(Entry))]


class Matrix(c.Structure):
    _fields_ = [("rows", c.c_int64), ("columns", c.c_int), ("value", c.c_void_p)]


class TensorInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("type", c.c_char_p),
        ("rows", c.c_int64),
        ("columns", c.c_int64),
        ("data", c.c_void_p),
    ]


STRUCTURES: Dict[str, Type[c.Structure]] = {
    "inmo_error": ErrorRecord,
    "inmo_progress": Progress,
    "inmo_hooks": Hooks,
    "inmo_setting": Setting,
    "inmo_dataset_info": DatasetInfo,
    "inmo_interactions": Interactions,
    "inmo_id_table": IdTable,
    "inmo_train_report": TrainReport,
    "inmo_model_info": ModelInfo,
    "inmo_tune_trial": TuneTrial,
    "inmo_metrics": Metrics,
    "inmo_group": Group,
    "inmo_report": Report,
    "inmo_event": Event,
    "inmo_freshness": Freshness,
    "inmo_query": Query,
    "inmo_rows_query": RowsQuery,
    "inmo_entry": Entry,
    "inmo_list": List,
    "inmo_explanation": Explanation,
    "inmo_matrix": Matrix,
    "inmo_tensor_info": TensorInfo,
}

_pointer, _text, _size, _int, _int64 = c.c_void_p, c.c_char_p, c.c_size_t, c.c_int, c.c_int64
_error, _hooks, _texts = c.POINTER(ErrorRecord), c.POINTER(Hooks), c.POINTER(c.c_char_p)

# name: (result, arguments). A result of "status" means that the last argument is the error; call() checks it.
_CALLS: Dict[str, Any] = {
    "version": (_text, []),
    "abi": (_int, []),
    "size": (_size, [_text]),
    "status_name": (_text, [_int]),
    "set_threads": (_int, [_int]),
    "blas_advice": (_text, []),
    "setting_set": (_int, [c.POINTER(Setting), _pointer, _text]),
    "setting_text": (None, [c.POINTER(Setting), _pointer, _text, _size]),
    "setting_expected": (None, [c.POINTER(Setting), _text, _size]),
    "column_role": (_text, [_text]),
    "recipe_for": (_text, [_text, _int64, _int64, _int64]),
    "train_options_init_sized": ("status", [_pointer, _size, _text, _text]),
    "query_init_sized": (None, [c.POINTER(Query), _size]),
    "rows_query_init_sized": (None, [c.POINTER(RowsQuery), _size]),
    "log_read": ("status", [_texts, _size, _pointer, _hooks, c.POINTER(_pointer)]),
    "log_from_weights": ("status", [_size, _texts, _texts, _pointer, _pointer, _pointer, _pointer, c.POINTER(_pointer)]),
    "log_free": (None, [_pointer]),
    "log_count": (_int64, [_pointer]),
    "dataset_prepare": ("status", [_pointer, _pointer, c.POINTER(_pointer)]),
    "dataset_from_matrices": (
        "status",
        [c.POINTER(Interactions), c.POINTER(Interactions), c.POINTER(Interactions), _pointer, c.POINTER(_pointer)],
    ),
    "dataset_save": ("status", [_pointer, _text, _int]),
    "dataset_open": ("status", [_text, c.POINTER(_pointer)]),
    "dataset_free": (None, [_pointer]),
    "dataset_info": (None, [_pointer, c.POINTER(DatasetInfo)]),
    "dataset_part": (_int, [_pointer, _text, c.POINTER(Interactions)]),
    "dataset_ids": (None, [_pointer, c.POINTER(IdTable), c.POINTER(IdTable)]),
    "synth": ("status", [_pointer, _text, _int, _hooks]),
    "train": ("status", [_pointer, _pointer, _hooks, c.POINTER(_pointer), c.POINTER(TrainReport)]),
    "model_free": (None, [_pointer]),
    "model_info": (None, [_pointer, c.POINTER(ModelInfo)]),
    "model_interactions": (None, [_pointer, c.POINTER(Interactions), c.POINTER(Interactions)]),
    "model_ids": (None, [_pointer, c.POINTER(IdTable), c.POINTER(IdTable)]),
    "model_tensor": (_int, [_pointer, _size, c.POINTER(TensorInfo)]),
    "model_save": ("status", [_pointer, _text, _int]),
    "model_origin": (_text, [_pointer]),
    "titles_read": ("status", [_text, _text, c.POINTER(_pointer)]),
    "titles_free": (None, [_pointer]),
    "titles_of": (_text, [_pointer, _text]),
    "model_keep_titles": ("status", [_pointer, _pointer]),
    "model_titles": (_pointer, [_pointer]),
    "model_load": ("status", [_text, c.POINTER(_pointer)]),
    "tune_models": ("status", [_pointer, _pointer, _size, _pointer, _text, _hooks, c.POINTER(_pointer)]),
    "tune_model": (_text, [_size]),
    "tune_report_free": (None, [_pointer]),
    "evaluate": ("status", [_pointer, _pointer, _pointer, _hooks, c.POINTER(c.POINTER(Report))]),
    "report_free": (None, [c.POINTER(Report)]),
    "view_create": ("status", [_pointer, _pointer, c.POINTER(_pointer)]),
    "view_free": (None, [_pointer]),
    "view_observe": ("status", [_pointer, c.POINTER(Event), _size]),
    "view_observe_seen": ("status", [_pointer, c.POINTER(Event), _size]),
    "view_forget": ("status", [_pointer, _text, _text]),
    "view_refresh": ("status", [_pointer, _hooks]),
    "view_refresh_in_background": ("status", [_pointer]),
    "view_warm": ("status", [_pointer, _hooks]),
    "view_freshness": (None, [_pointer, c.POINTER(Freshness)]),
    "view_user_id": (_text, [_pointer, _int64]),
    "view_item_id": (_text, [_pointer, _int64]),
    "view_user_row": (_int64, [_pointer, _text]),
    "view_item_row": (_int64, [_pointer, _text]),
    "view_hold": (_pointer, [_pointer, c.POINTER(Matrix), c.POINTER(Matrix)]),
    "snapshot_release": (None, [_pointer]),
    "recommend": ("status", [_pointer, c.POINTER(Query), c.POINTER(c.POINTER(List))]),
    "recommend_rows": ("status", [_pointer, c.POINTER(RowsQuery), _hooks, _pointer, _pointer]),
    "similar": ("status", [_pointer, _text, _text, _int, c.POINTER(c.POINTER(List))]),
    "similar_rows": (
        "status",
        [_pointer, _int, _pointer, _size, _int, _pointer, _size, _pointer, _size, _pointer, _pointer],
    ),
    "list_free": (None, [c.POINTER(List)]),
    "explain": ("status", [_pointer, c.POINTER(Query), _text, c.POINTER(c.POINTER(Explanation))]),
    "explanation_free": (None, [c.POINTER(Explanation)]),
}
for _name in ("read", "prepare", "synth", "train", "tune", "eval"):
    _CALLS[_name + "_settings"] = (c.POINTER(Setting), [c.POINTER(_size)])
    if _name != "train":
        _CALLS[_name + "_options_init_sized"] = (None, [_pointer, _size])

OPTIONS = {name: f"inmo_{name}_options" for name in ("read", "prepare", "synth", "train", "tune", "eval")}


def find_library() -> str:
    """The path of libinmo.so: what INMO_LIBRARY names, or the one in this package."""
    given = os.environ.get("INMO_LIBRARY")
    if given:
        return given
    folder = os.path.dirname(os.path.abspath(__file__))
    for name in (f"libinmo.so.{ABI}", "libinmo.so"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return f"libinmo.so.{ABI}"  # the system's


def load_library(path: str) -> Dict[str, Any]:
    """The library's calls by name, without inmo_. Raises ImportError if it is missing or of another version."""
    # Idle OpenMP threads sleep instead of spinning (inmo.h, inmo_set_threads). Read when the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        library = c.CDLL(path)
    except OSError as fault:
        raise ImportError(f"cannot load libinmo: {fault}; INMO_LIBRARY names another file") from None
    try:
        abi, version = library.inmo_abi, library.inmo_version
    except AttributeError:
        raise ImportError(f"{path} is not libinmo, or too old: it has no inmo_abi") from None
    abi.restype, version.restype = _int, _text
    found = version().decode()
    if abi() != ABI:
        raise ImportError(f"{path} is libinmo {found} with ABI {abi()}; this package needs ABI {ABI}")
    calls = {}
    for name, (result, arguments) in _CALLS.items():
        try:
            call = getattr(library, "inmo_" + name)
        except AttributeError:
            raise ImportError(f"{path} is libinmo {found}, which is too old: it has no inmo_{name}") from None
        call.restype = _int if result == "status" else result
        call.argtypes = arguments + [_error] if result == "status" else arguments
        calls[name] = call
    for name, structure in STRUCTURES.items():
        size = calls["size"](name.encode())
        if size != c.sizeof(structure):
            raise ImportError(
                f"{path} is libinmo {found}: its struct {name} has {size} bytes, this package declares "
                f"{c.sizeof(structure)}; they are of different versions"
            )
    return calls


class _Library:
    """The calls as attributes; status calls raise the exception for what they return."""

    def __init__(self, calls: Dict[str, Any]) -> None:
        self._calls = calls
        for name, (result, _) in _CALLS.items():
            setattr(self, name, self._checked(calls[name]) if result == "status" else calls[name])

    def _checked(self, call: Any) -> Any:
        def checked(*arguments: Any) -> None:
            error = ErrorRecord()
            status = call(*arguments, error)
            if status:
                raise self.error(status, error)

        return checked

    def error(self, status: int, error: ErrorRecord) -> BaseException:
        name = self._calls["status_name"](status).decode()
        return error_of(name, error.message.decode("utf-8", "replace"))

    def __getattr__(self, name: str) -> Any:  # for type checkers; all calls are set by __init__
        raise AttributeError(name)


lib = _Library(load_library(find_library()))


def _after_fork() -> None:
    # OpenMP's threads do not live on in the child; with one thread the library starts none and waits for none.
    lib.set_threads(1)
    global forked
    forked = True


forked = False
threads_set = 0  # what set_threads was last told
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def set_threads(threads: int = 0) -> int:
    """Sets the number of worker threads of all later calls; 0 means all cores. Returns the number in force.

    >>> import inmo
    >>> inmo.set_threads(2)
    2
    """
    if not isinstance(threads, int) or not 0 <= threads <= 4096:
        raise ValueError(f"threads: found {threads!r}, expected a whole number from 0 to 4096")
    if forked and threads != 1:
        raise RuntimeError(
            "this process was forked from one that had loaded inmo, and the threads did not come along; "
            "it works with one thread. Start processes by 'spawn' to have more"
        )
    global threads_set
    threads_set = threads
    return int(lib.set_threads(threads))


def encode(text: Any, what: str = "id") -> bytes:
    """A string or whole number as the library takes it."""
    if isinstance(text, str):
        if "\0" in text:
            raise ValueError(f"{what}: found a NUL character in {text!r}")
        try:
            return text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{what}: {text!r} cannot be written as UTF-8") from None
    if isinstance(text, bytes):
        if b"\0" in text:
            raise ValueError(f"{what}: found a NUL byte in {text!r}")
        return text
    if isinstance(text, bool) or not hasattr(text, "__index__"):
        raise TypeError(f"{what}: found {type(text).__name__}, expected a string or a whole number")
    return b"%d" % text.__index__()


def encode_path(path: Any) -> bytes:
    """A path as the library takes it."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"path: found {type(path).__name__}, expected a string or a path")
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError(f"path: found a NUL byte in {encoded!r}")
    return encoded


if sys.maxsize < 2**32:  # size_t and pointers are declared as such, but nobody has tried
    raise ImportError("inmo needs a 64-bit Python")
