"""Options as keywords. Names, types, bounds, defaults and help come from the library's tables of settings."""

from __future__ import annotations

import ctypes as c
import difflib
from keyword import iskeyword
from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from ._errors import UsageError
from ._library import OPTIONS, Setting, encode, lib

_TYPES = {"i": "int", "u": "int", "r": "float", "s": "str", "b": "bool"}


class Option(NamedTuple):
    """A row of a table of settings."""

    name: str
    type: str
    default: Optional[str]
    expected: str
    group: str
    help: str


def keyword(name: str) -> str:
    """The keyword of a setting: learning-rate is learning_rate, and from, a word of the language, is from_."""
    return name + "_" if iskeyword(name) else name.replace("-", "_")


class Table:
    """One of the library's tables of settings."""

    def __init__(self, name: str) -> None:
        self.name = name
        count = c.c_size_t()
        first = getattr(lib, name + "_settings")(count)
        self.rows: Dict[str, Setting] = {keyword(first[n].name.decode()): first[n] for n in range(count.value)}
        self.size: int = lib.size(OPTIONS[name].encode())

    def fresh(self, model: str = "inmo-lightgcn", recipe: Optional[str] = None) -> "c.Array[c.c_char]":
        """A structure with the defaults."""
        block = c.create_string_buffer(self.size)
        if self.name == "train":
            lib.train_options_init_sized(block, self.size, encode(model), None if recipe is None else encode(recipe))
        else:
            getattr(lib, self.name + "_options_init_sized")(block, self.size)
        return block


_tables: Dict[str, Table] = {}


def table(name: str) -> Table:
    if name not in _tables:
        _tables[name] = Table(name)
    return _tables[name]


def as_text(value: Any) -> str:
    """A value as on the command line."""
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:
        return ",".join(as_text(one) for one in value)
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "__float__"):
        return repr(float(value))
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    raise TypeError(f"found {type(value).__name__}, expected a number, a string or a list of them")


class Options:
    """A structure of options of the library, filled by keywords."""

    def __init__(self, name: str, given: Dict[str, Any], **start: Any) -> None:
        self.table = table(name)
        self.block = self.table.fresh(**start)
        self._kept: List[bytes] = []  # a field of type string points into these, so they live as long as the block
        self.block.kept = self._kept  # type: ignore[attr-defined]
        for word, value in given.items():
            self.set(word, value)

    def set(self, word: str, value: Any) -> None:
        row = self.table.rows[word]
        name = row.name.decode()
        if value is None:  # unset, where that is possible: the default
            return
        try:
            text = as_text(value)
        except TypeError as fault:
            raise UsageError(f"`{name}`: {fault}") from None
        if row.type == b"i" and text.endswith(".0") and isinstance(value, float):
            text = text[:-2]
        if row.type == b"b" and text in ("0", "1"):
            text = "yes" if text == "1" else "no"
        kept = encode(text, name)
        self._kept.append(kept)
        if not lib.setting_set(row, self.block, kept):
            expected = c.create_string_buffer(1024)
            lib.setting_expected(row, expected, len(expected))
            raise UsageError(f"`{name}`: found {text!r}, expected {expected.value.decode()}")

    def get(self, word: str) -> str:
        text = c.create_string_buffer(4096)
        lib.setting_text(self.table.rows[word], self.block, text, len(text))
        return text.value.decode()


def split_options(
    given: Dict[str, Any], *names: str, also: Iterable[str] = (), beside: Iterable[str] = ()
) -> List[Dict[str, Any]]:
    """Deals the keywords out to tables, by the first that has each; an unknown one is a TypeError, as of any function.

    also: further names that are known; beside: those that are left out.
    """
    parts: List[Dict[str, Any]] = [{} for _ in names]
    for word, value in given.items():
        if word in beside:
            continue
        for part, name in zip(parts, names):
            if word in table(name).rows:
                part[word] = value
                break
        else:
            known = [row for name in names for row in table(name).rows] + list(also)
            near = difflib.get_close_matches(word, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; options are {', '.join(sorted(set(known)))}"
            raise TypeError(f"there is no option {word!r}{hint}")
    return parts


def options(command: str, model: str = "inmo-lightgcn", recipe: str = "fast") -> List[Option]:
    """The options of a command: 'read', 'prepare', 'synth', 'train', 'tune' or 'eval'.

    The defaults of training are those of the model and the recipe.

    >>> import inmo
    >>> [option.default for option in inmo.options("prepare") if option.name == "split"]
    ['70/10/20']
    >>> [option.expected for option in inmo.options("train") if option.name == "patience"]
    ['a whole number from 1 to 1000000']
    """
    if command not in OPTIONS:
        raise UsageError(f"command: found {command!r}, expected one of {', '.join(OPTIONS)}")
    start = {"model": model, "recipe": recipe} if command == "train" else {}
    filled = Options(command, {}, **start)
    found = []
    for word, row in filled.table.rows.items():
        expected = c.create_string_buffer(1024)
        lib.setting_expected(row, expected, len(expected))
        found.append(
            Option(
                word,
                _TYPES[row.type.decode()],
                filled.get(word) or None,
                expected.value.decode(),
                row.group.decode(),
                row.help.decode(),
            )
        )
    return found
