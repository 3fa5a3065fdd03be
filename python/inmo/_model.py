"""Models: train, tune, load, and what a model can be asked."""

from __future__ import annotations

import copy
import ctypes as c
import json
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _library as library
from ._arrays import Owner, ids_of_table, view_of
from ._data import Dataset, Log, open_dataset, prepare
from ._errors import UnsupportedError, UsageError
from ._library import encode, encode_path, lib
from ._lists import Evaluation, Explanation, Recommendations, Search, html_table
from ._options import Options, keyword, split_options, table
from ._progress import Callback, Watch
from ._view import View

_METRICS = [name for name, _ in library.Metrics._fields_[1:]]  # type: ignore[misc]


class Model:
    """A trained model. Made by :func:`train` or :func:`load`.

    Questions (:meth:`recommend`, :meth:`similar`, :meth:`explain`) and events (:meth:`observe` ...) go to a view of the model
    that is made on first use; :meth:`view` makes others. Pickling and copying keep the model, not what its view has observed.
    """

    def __init__(self, pointer: Any, report: Optional[Dict[str, Any]] = None) -> None:
        self._owner = Owner(pointer, lib.model_free)
        self._view: Optional[View] = None
        self._ids: Dict[bool, List[str]] = {}
        #: What training reported: epochs, best_epoch, seconds, best_score ...; None for a loaded model.
        self.report = report

    @property
    def _pointer(self) -> Any:
        return self._owner.pointer

    def _info(self) -> library.ModelInfo:
        info = library.ModelInfo()
        lib.model_info(self._pointer, info)
        return info

    @property
    def name(self) -> str:
        """The name of the model, 'inmo-lightgcn'."""
        return str(self._info().name.decode())

    @property
    def info(self) -> Dict[str, Any]:
        """Counts: users, items, templates, parameters, interactions; dim and layers."""
        info = self._info()
        names = ("dim", "layers", "users", "items", "user_templates", "item_templates", "parameters", "interactions")
        return {"name": info.name.decode(), **{name: getattr(info, name) for name in names}}

    @property
    def configuration(self) -> Dict[str, Any]:
        """Every training option that the model was made with."""
        return dict(json.loads(self._info().configuration))

    @property
    def record(self) -> List[Dict[str, Any]]:
        """One dictionary for each epoch: loss and validation score."""
        return [entry for entry in json.loads(self._info().record) if "epoch" in entry]

    @property
    def chosen(self) -> Dict[str, Any]:
        """What training chose by itself, of options that were left to it ("auto")."""
        first: Dict[str, Any] = next(iter(json.loads(self._info().record)), {})
        return dict(first.get("chosen", {}))

    @property
    def origin(self) -> Dict[str, Any]:
        """How its log was read ("reading") and split ("options"), and of a warm start the earlier model ("from"), if known."""
        return dict(json.loads(lib.model_origin(self._pointer) or b"{}"))

    @property
    def refit(self) -> Dict[str, Any]:
        """What became of the interactions that settings were chosen by: how, held-out, epochs, ndcg@20; empty: nothing."""
        first: Dict[str, Any] = next(iter(json.loads(self._info().record)), {})
        return dict(first.get("refit", {}))

    def _id_list(self, of_items: bool) -> List[str]:
        if of_items not in self._ids:
            users, items = library.IdTable(), library.IdTable()
            lib.model_ids(self._pointer, users, items)
            self._ids[of_items] = ids_of_table(items if of_items else users)
        return self._ids[of_items]

    @property
    def users(self) -> List[str]:
        """The ids of the users of the training data, in the order of their vectors."""
        return self._id_list(False)

    @property
    def items(self) -> List[str]:
        """The ids of the items of the training data, in the order of their vectors."""
        return self._id_list(True)

    @property
    def tensors(self) -> Dict[str, np.ndarray]:
        """The tensors of a standalone model (item-knn, ease, ials, gf-cf, mult-vae), read-only, by name."""
        found, info, n = {}, library.TensorInfo(), 0
        types = {"F32": "<f4", "I32": "<i4", "I64": "<i8"}
        while lib.model_tensor(self._pointer, n, info):
            shape = (info.rows, info.columns) if info.columns else (info.rows,)
            found[info.name.decode()] = view_of(info.data, shape, types[info.type.decode()], self._owner)
            n += 1
        return found

    # ---- Questions

    def view(self, observed: Any = None, **options: Any) -> View:
        """A new view: the model on its training interactions and on those in ``observed``, a log or what :func:`read` takes."""
        return View(self, observed, **options)

    @property
    def live(self) -> View:
        """The view that the model's own methods ask."""
        if self._view is None:
            self._view = View(self)
        return self._view

    def recommend(self, *arguments: Any, **keywords: Any) -> Recommendations:
        """The k best items for a user, or for somebody unseen: see :meth:`View.recommend`."""
        return self.live.recommend(*arguments, **keywords)

    def recommend_many(self, *arguments: Any, **keywords: Any) -> Any:
        """Lists for many people in one parallel call: see :meth:`View.recommend_many`."""
        return self.live.recommend_many(*arguments, **keywords)

    def save_lists(self, *arguments: Any, **keywords: Any) -> None:
        """Writes the lists of many users as a Parquet file: see :meth:`View.save_lists`."""
        self.live.save_lists(*arguments, **keywords)

    def title(self, item: Any) -> Optional[str]:
        """What people call an item, if the model was trained with ``titles``; else None."""
        found = lib.titles_of(lib.model_titles(self._pointer), encode(item, "item"))
        return None if found is None else found.decode()

    def similar(self, *arguments: Any, **keywords: Any) -> Recommendations:
        """The nearest items or users: see :meth:`View.similar`."""
        return self.live.similar(*arguments, **keywords)

    def explain(self, *arguments: Any, **keywords: Any) -> Explanation:
        """Why an item has its score: see :meth:`View.explain`."""
        return self.live.explain(*arguments, **keywords)

    def observe(self, *arguments: Any, **keywords: Any) -> View:
        """Takes in events: see :meth:`View.observe`. Returns the view that has observed them."""
        return self.live.observe(*arguments, **keywords)

    def observe_seen(self, *arguments: Any, **keywords: Any) -> View:
        """Takes in what users have seen but not chosen: see :meth:`View.observe_seen`. Returns the view."""
        return self.live.observe_seen(*arguments, **keywords)

    def forget(self, *arguments: Any, **keywords: Any) -> View:
        """Forgets a user, an item, or one interaction: see :meth:`View.forget`."""
        return self.live.forget(*arguments, **keywords)

    def refresh(self, *arguments: Any, **keywords: Any) -> View:
        """Lets all events count for everybody: see :meth:`View.refresh`."""
        return self.live.refresh(*arguments, **keywords)

    def evaluate(self, data: Any, k: Any = None, progress: Optional[bool] = None, **options: Any) -> Evaluation:
        """Ranks all items for every user with test items: a dictionary of metrics, ``.table()`` for people.

        Options are those of ``inmo evaluate`` (``inmo.options("eval")``): ``part``, ``without_new`` ...; ``k`` is a number or a
        list of them. ``data`` is a :class:`Dataset` or a prepared directory.
        """
        (given,) = split_options(options, "eval")
        if k is not None:
            given["k"] = k if isinstance(k, (list, tuple, str, np.ndarray)) else [k]
        data = data if isinstance(data, Dataset) else open_dataset(data)
        filled = Options("eval", given)
        pointer = c.POINTER(library.Report)()
        with Watch(progress) as watch:
            lib.evaluate(self._pointer, data._pointer, filled.block, watch.hooks, pointer)
        try:
            report = pointer.contents
            groups, users = {}, {}
            for n in range(report.group_count):
                group = report.group[n]
                name = group.name.decode()
                users[name] = int(group.users)
                groups[name] = {
                    f"{metric}@{group.at[m].k}": float(getattr(group.at[m], metric))
                    for m in range(report.k_count)
                    for metric in _METRICS
                }
            each = view_of(report.user_ndcg, (data.info["users"],), "<f4", None).copy()
            return Evaluation(groups, users, each, report.seconds, report.inference_seconds)
        finally:
            lib.report_free(pointer)

    # ---- Files

    def save(self, path: Any, force: bool = False) -> None:
        """Writes the model file, the same as the program's."""
        lib.model_save(self._pointer, encode_path(path), int(force))

    def export(self, path: Any, what: str = "items", force: bool = False) -> None:
        """Writes representations as ``.npy`` and their ids, one per line, beside them as ``.ids``, as ``inmo export`` does."""
        if what not in ("items", "users"):
            raise UsageError(f"`what`: found {what!r}, expected items or users")
        vectors = self.live.item_vectors if what == "items" else self.live.user_vectors
        if not vectors.shape[1]:
            raise UnsupportedError(f"{self.name} has no representations to export; Model.tensors has its numbers")
        path = os.fspath(path)
        path = path if "." in os.path.basename(path) else path + ".npy"
        beside = (path[:-4] if path.endswith(".npy") else path) + ".ids"
        for name in (path, beside):
            if os.path.exists(name) and not force:
                raise FileExistsError(f"{name} exists already; `force` replaces it")
        with open(path, "wb") as file:
            np.save(file, vectors)
        with open(beside, "w", encoding="utf-8") as text:
            text.writelines(one + "\n" for one in (self.items if what == "items" else self.users))

    def __reduce__(self) -> Any:
        from ._files import bytes_of_model

        return _model_from_bytes, (bytes_of_model(self), self.report)

    def __deepcopy__(self, memo: Any) -> "Model":
        made, arguments = self.__reduce__()
        copied: Model = made(*copy.deepcopy(arguments, memo))
        return copied

    def __repr__(self) -> str:
        info = self.info
        vectors = f", dim {info['dim']}" if info["dim"] else ""
        return f"<inmo.Model {info['name']}: {info['users']:,} users, {info['items']:,} items{vectors}>"

    def _repr_html_(self) -> str:
        return html_table(["", ""], list(self.info.items()), caption=self.name)


def _model_from_bytes(content: bytes, report: Optional[Dict[str, Any]]) -> Model:
    from ._files import in_folder

    model: Model = in_folder({"model.inmo": content}, lambda folder: load(os.path.join(folder, "model.inmo")))
    model.report = report
    return model


def load(path: Any) -> Model:
    """Opens a model file, of the program or of :meth:`Model.save`."""
    pointer = c.c_void_p()
    lib.model_load(encode_path(path), pointer)
    return Model(pointer)


def _data_for_training(data: Any, options: Dict[str, Any], progress: Optional[bool], split: str) -> Dataset:
    """As the program: a prepared directory, or a raw log that is split like this."""
    if isinstance(data, Dataset):
        for word in options:
            raise UsageError(f"`{word.replace('_', '-')}` has no effect: the data set is prepared already")
        return data
    if isinstance(data, (str, bytes, os.PathLike)) and os.path.isdir(data):
        return _data_for_training(open_dataset(data), options, progress, split)
    if hasattr(data, "tocsr"):
        from ._data import dataset

        return dataset(data, **{"split": split, **options})
    return prepare(data, progress, **{"split": split, **options})


def training_options(
    model: str, recipe: str, like: Optional[str], given: Dict[str, Any], data: Optional[Dataset] = None
) -> Options:
    """The options of training: the recipe's defaults for the model, then what is given."""
    if like is not None and recipe != "paper":
        raise UsageError("`like` is for `recipe` paper: the fast recipe is the same for every data set")
    if recipe == "paper" and data is not None:
        info = data.info
        count = sum(info[name] for name in ("train", "valid", "test", "later", "aside"))
        found = lib.recipe_for(None if like is None else encode(like), info["users"], info["items"], count)
        if found is None and like is not None:
            raise UsageError(f"`like`: found {like!r}, expected gowalla, yelp or amazon-book")
        recipe = found.decode() if found else recipe
    given = dict(given)
    split_options(given, "train", also=("templates", "lr"), beside=("templates", "lr"))  # unknown ones
    for both, words in (("templates", ("user_templates", "item_templates")), ("lr", ("learning_rate",))):
        if both in given:
            value = given.pop(both)
            given.update({word: value for word in words if word not in given})
    return Options("train", given, model=model, recipe=recipe)


def _report(found: library.TrainReport) -> Dict[str, Any]:
    report = {name: getattr(found, name) for name, _ in library.TrainReport._fields_}  # type: ignore[misc]
    report["stopped"] = found.stopped.decode() if found.stopped else None
    return report


def _as_earlier(path: str, model: str, options: Dict[str, Any]) -> Tuple[str, Dict[str, Any]]:
    """Options of a warm start: those of the earlier model where nothing else is given. What was weighed is weighed again."""
    earlier = load(path)
    settings = earlier.configuration
    weighed = ("walks", "links", "link-ridge", "link-popularity", "prior")
    settings.update({name: "auto" for name in weighed if name in earlier.chosen})
    name = settings.pop("model")
    given = {keyword(word): value for word, value in settings.items() if value is not None}
    return (name if model == "inmo-lightgcn" else model), {**given, **options}


def train(
    data: Any,
    model: str = "inmo-lightgcn",
    recipe: str = "fast",
    like: Optional[str] = None,
    progress: Optional[bool] = None,
    callback: Optional[Callback] = None,
    titles: Any = None,
    **options: Any,
) -> Model:
    """Trains a model on a :class:`Dataset`, a prepared directory, a sparse matrix, or anything that :func:`prepare` takes.

    Options are those of ``inmo train``, with underscores: ``inmo.options("train", model=...)`` lists them with their defaults for
    a model. Raw data is all for training, and takes the options of reading and preparing, too. Data without a validation
    part have one held out meanwhile (``hold_out``), and in the end the model has everything (``refit``). Ctrl-C stops with a
    KeyboardInterrupt; with ``checkpoint="file"``, the same call with ``resume=True`` goes on. ``callback`` is told stage, done,
    total, seconds, loss and validation score now and then; what it raises ends the training. ``titles`` is a file with ids, titles
    and any further columns of items, which the model keeps. ``from_="file"`` is a warm start: the parameters of that model, matched
    by id, are the start, and its options the defaults.

    >>> import inmo
    >>> pairs = [(user, item) for user in range(40) for item in range(30) if (user * item) % 7 < 3]
    >>> model = inmo.train(pairs, model="inmo-mf", dim=8, epochs=3, seed=1)
    >>> model
    <inmo.Model inmo-mf: 40 users, 30 items, dim 8>
    >>> len(model.recommend(items=[3, 4, 5], k=5))
    5
    """
    if options.get("from_"):
        model, options = _as_earlier(str(options["from_"]), model, options)
    aliases: Dict[str, Any] = {word: options.pop(word) for word in ("templates", "lr") if word in options}
    to_train, to_read, to_prepare = split_options(options, "train", "read", "prepare", also=("model", "recipe", "like"))
    training_options(model, recipe, None, {**aliases, **to_train})  # faults before the data is read
    names = c.c_void_p()
    if titles is not None:
        lib.titles_read(os.fsencode(titles), None, names)
    keeper = Owner(names, lib.titles_free)
    data = _data_for_training(data, {**to_read, **to_prepare}, progress, "100/0/0")
    filled = training_options(model, recipe, like, {**aliases, **to_train}, data)
    pointer, report = c.c_void_p(), library.TrainReport()
    with Watch(progress, callback) as watch:
        lib.train(data._pointer, filled.block, watch.hooks, pointer, report)
    trained = Model(pointer, _report(report))
    if titles is not None:
        lib.model_keep_titles(trained._pointer, keeper.pointer)
    return trained


class _TuneOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("search", c.c_char_p), ("keep", c.c_char_p)]  # the rest is in the table


class _TuneReport(c.Structure):
    """The fields before and after the best options, which are as large as the library says."""

    _fields_ = [
        ("setting_count", c.c_size_t),
        ("setting", c.POINTER(c.c_char_p)),
        ("trial_count", c.c_size_t),
        ("trial", c.POINTER(library.TuneTrial)),
    ]


class _TuneEnd(c.Structure):
    _fields_ = [
        ("planned", c.c_int),
        ("trained", c.c_int),
        ("seconds", c.c_double),
        ("stopped", c.c_char_p),
        ("best_model", c.c_char_p),
        ("page", c.c_char_p),
    ]


def _value(row: library.Setting, text: str) -> Any:
    kind = row.type.decode()
    if text == "auto":  # of a number: chosen by training
        return text
    return int(text) if kind in "iu" else float(text) if kind == "r" else text == "yes" if kind == "b" else text


def _models_of(model: Any) -> List[str]:
    if model == "all":
        names: List[str] = []
        while lib.tune_model(len(names)):
            names.append(lib.tune_model(len(names)).decode())
        return names
    return model.split(",") if isinstance(model, str) else list(model)


def tune(
    data: Any,
    search: Any = None,
    directory: Any = None,
    model: Any = "inmo-lightgcn",
    recipe: str = "fast",
    like: Optional[str] = None,
    progress: Optional[bool] = None,
    **options: Any,
) -> Search:
    """Searches for better settings, or for the best model, by validation NDCG@20, as ``inmo tune`` does it.

    ``search`` is a dictionary of ranges and lists ({"dropout": "0.3..0.7:5", "layers": [2, 3]}) or the program's text. Without
    it, what matters for the model is searched for at most 600 seconds (``max_seconds``), beginning with its defaults; options
    that are given stay as they are. ``model`` is a name, a list of names, or ``"all"``. Options are those of the search
    (``inmo.options("tune")``) and of training. With a ``directory`` it can be interrupted and goes on; ``best.inmo`` and
    ``trials.html`` are there.

    >>> import inmo
    >>> pairs = [(user, item) for user in range(40) for item in range(30) if (user * item) % 7 < 3]
    >>> data = inmo.prepare(pairs, split="80/20/0")
    >>> found = inmo.tune(data, {"dim": [4, 8]}, model="inmo-mf", epochs=2, method="grid")
    >>> len(found.trials), found.best["epochs"]
    (2, 2)
    >>> found = inmo.tune(data, model=["popular", "ease", "item-knn"], trials=5)
    >>> found.model.name == found.best["model"]
    True
    """
    import tempfile  # takes a while, and few need it

    if isinstance(search, dict):
        words = []
        for name, values in search.items():
            text = values if isinstance(values, str) else "|".join(str(value) for value in values)
            words.append(f"{name.replace('_', '-')}={text}")
        search = ",".join(words)
    names = _models_of(model)
    to_tune, to_train, to_read, to_prepare = split_options(options, "tune", "train", "read", "prepare")
    for name in names:
        training_options(name, recipe, None, to_train)
    data = _data_for_training(data, {**to_read, **to_prepare}, progress, "90/10/0")
    filled = Options("tune", to_tune)
    fixed = [training_options(name, recipe, like, to_train, data) for name in names]
    blocks = c.create_string_buffer(b"".join(one.block.raw for one in fixed), sum(len(one.block) for one in fixed))
    wanted, keep = None if search is None else encode(search, "search"), ",".join(to_train).replace("_", "-").encode()
    head = c.cast(filled.block, c.POINTER(_TuneOptions)).contents
    head.search, head.keep = wanted, keep
    pointer = c.c_void_p()
    with tempfile.TemporaryDirectory() as temporary, Watch(progress) as watch:
        lib.tune_models(
            data._pointer,
            blocks,
            len(fixed),
            filled.block,
            encode_path(os.path.join(temporary, "search") if directory is None else directory),
            watch.hooks,
            pointer,
        )
        try:
            return _search(pointer.value or 0, fixed[0], directory is not None)
        finally:
            lib.tune_report_free(pointer)


def _search(address: int, like: Options, kept: bool) -> Search:
    rows = table("train").rows
    report = _TuneReport.from_address(address)
    best_at = address + c.sizeof(_TuneReport)
    end = _TuneEnd.from_address(best_at + like.table.size)
    settings = [report.setting[n].decode() for n in range(report.setting_count)]
    words = [name.replace("-", "_") for name in settings]
    trials = []
    for n in range(report.trial_count):
        one = report.trial[n]
        found: Dict[str, Any] = {"trial": one.number, "score": one.score, "epochs": one.epochs}
        for m, word in enumerate(words):
            text_of = one.value[m].decode()
            found[word] = _value(rows[word], text_of) if text_of else None
        found["seconds"] = one.seconds
        found["error"] = one.error.decode() if one.error else None
        trials.append(found)
    text = c.create_string_buffer(4096)
    best: Dict[str, Any] = {}
    for word, row in rows.items():
        lib.setting_text(row, c.c_void_p(best_at), text, len(text))
        if text.value or row.type != b"s":
            best[word] = _value(row, text.value.decode())
    run = [word for word in ("checkpoint", "checkpoint_seconds", "resume", "max_seconds") if word in best]
    for word in run:
        del best[word]
    path, page = (text.decode() if text else None for text in (end.best_model, end.page))
    model = load(path) if path else None  # mapped: it outlives a temporary directory
    return Search(
        words,
        trials,
        best,
        end.planned,
        end.stopped.decode() if end.stopped else "",
        model,
        path if kept else None,
        page if kept else None,
    )


__all__ = ["Log", "Model", "load", "train", "tune"]
