"""Every error that the library raises on purpose, how to install what is missing, and warnings."""

import importlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any

_PACKAGE = __name__.partition(".")[0]


def _message(error: Exception) -> str:
    """Return the message of an error, which may quote a file, safe to print on a terminal."""
    return "\n".join(map(printable, Exception.__str__(error).split("\n")))


class InvalidInputError(ValueError):
    """An argument is of the wrong kind, size or range."""

    __str__ = _message


class EncodingError(InvalidInputError):
    """A row that cannot be encoded: `column`, its `value`, and the place of the row if it has one.

    A column that is not there, or should not be, has the value None.

    >>> EncodingError("must be a finite number", "price", "abc").at("in row 7")
    EncodingError("column 'price' must be a finite number, got 'abc' in row 7")
    """

    def __init__(
        self, reason: str, column: str, value: object, place: str = "", got: bool = True
    ) -> None:
        super().__init__(reason, column, value, place, got)
        self.reason, self.column, self.value, self.place = reason, column, value, place
        self.got = got  # whether there is a value to show

    def __str__(self) -> str:
        given = f", got {_show(self.value)}" if self.got else ""
        where = f" {self.place}" if self.place else ""
        return f"column {self.column!r} {self.reason}{given}{where}"

    def __repr__(self) -> str:
        return f"EncodingError({str(self)!r})"

    def at(self, place: str) -> "EncodingError":
        """Return the same error with the place of the row."""
        return EncodingError(self.reason, self.column, self.value, place, self.got)


def _show(value: object) -> str:
    try:
        return printable(f"{value!r:.80}")
    except Exception:  # an integer of more than 4300 digits, or an object that cannot be shown
        return f"a value of type {type(value).__name__}"


class ForeignTicketError(InvalidInputError):
    """A ticket that another agent has issued."""


class StateError(ValueError):
    """A state file that is damaged, foreign, too new or not to be trusted."""

    __str__ = _message


class LedgerError(RuntimeError):
    """A ledger that cannot be opened, written or trusted. Nothing was acknowledged."""

    __str__ = _message


class PolicyError(AssertionError):
    """A policy that does not keep its promises; the message has one line per broken promise."""


class PartError(RuntimeError):
    """A part of your own does not run, or cannot be compiled: class, method, line and cause.

    `details` is all that Python or numba said of it.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message, details)
        self.details = details

    def __str__(self) -> str:
        return str(self.args[0])


class CellError(ValueError):
    """The file of a cell is damaged, or is not that of this cell."""

    __str__ = _message


class SweepError(RuntimeError):
    """A sweep cannot finish: its folder cannot be written, or some of its cells failed.

    `failures` has every failed cell, and why; the results of the other cells are stored.
    """

    __str__ = _message

    def __init__(self, message: str, failures: Sequence[tuple[Any, str]] = ()) -> None:
        super().__init__(message)
        self.failures = list(failures)


class ReuseWarning(UserWarning):
    """Stored results cannot be reused, because nothing tells which code they depend on."""


class DataError(ValueError):
    """A data set that is not there, or not the one that was studied."""

    __str__ = _message


class DeviceError(RuntimeError):
    """A device that is not there, or for which something is not installed."""


def optional(module: str, extra: str) -> Any:
    """Import a module of an extra, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'this needs {module}: pip install "heavybandits[{extra}]"', name=module
        ) from error


def printable(text: object) -> str:
    r"""Return text in which control characters are escaped, safe to print on a terminal.

    >>> printable("a\x1b[31m\tb")
    'a\\x1b[31m\\tb'
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(
        c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in shown
    )


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library, however deep in it this is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


# Tracebacks show the public name, such as heavybandits.InvalidInputError.
for _error in list(vars().values()):
    if isinstance(_error, type) and issubclass(_error, Exception) and _error.__module__ == __name__:
        _error.__module__ = _PACKAGE
