"""Exceptions: one class for each status of the library, each also the built-in exception that it is."""

from __future__ import annotations

from typing import Dict, Type


class Error(Exception):
    """Base of all exceptions of this package. Its text is the library's sentence."""


class UsageError(Error, ValueError):
    """An invalid option or argument."""


class InputError(Error, ValueError):
    """Invalid input data."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there."""


class FormatError(Error, ValueError):
    """A damaged file, or a file of another version."""


class UnknownIdError(Error, LookupError):
    """A user or item that neither the model nor the observed interactions have."""


class UnsupportedError(Error, NotImplementedError):
    """Something that this model cannot do."""


class ExistsError(Error, FileExistsError):
    """The output exists already; ``force=True`` replaces it."""


class NotEnoughMemoryError(Error, MemoryError):
    """Not enough memory."""


class NumericError(Error, ArithmeticError):
    """Training produced numbers that are not finite."""


class BusyError(Error, BlockingIOError):
    """Another process is making this output."""


class Interrupted(KeyboardInterrupt):
    """Stopped by Ctrl-C. A KeyboardInterrupt, so that ``except Exception`` lets it pass."""


BY_STATUS: Dict[str, Type[BaseException]] = {
    "USAGE": UsageError,
    "INPUT": InputError,
    "IO": FileError,
    "FORMAT": FormatError,
    "UNKNOWN": UnknownIdError,
    "UNSUPPORTED": UnsupportedError,
    "EXISTS": ExistsError,
    "MEMORY": NotEnoughMemoryError,
    "NUMERIC": NumericError,
    "INTERRUPTED": Interrupted,
    "BUSY": BusyError,
}


def error_of(status: str, sentence: str) -> BaseException:
    """The exception for a status of the library."""
    kind = BY_STATUS.get(status, Error)
    if kind is FileError and "No such file" in sentence:
        kind = MissingFileError
    return kind(sentence)
