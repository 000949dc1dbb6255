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
    """Report an argument of the wrong kind, size or range. The message names the argument."""

    __str__ = _message


class EncodingError(InvalidInputError):
    """Report a row that cannot be encoded.

    A column that is not there, or should not be, has the value None.

    Attributes
    ----------
    reason : str
        What the value must be.
    column : str
        Name of the column.
    value : object
        The value of the column.
    place : str
        Place of the row, if it has one.

    Examples
    --------
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
        """Return the same error with the place of the row.

        Parameters
        ----------
        place : str
            Place of the row, such as "in row 7".

        Returns
        -------
        EncodingError
            A new error.
        """
        return EncodingError(self.reason, self.column, self.value, place, self.got)


def _show(value: object) -> str:
    try:
        return printable(f"{value!r:.80}")
    except Exception:  # an integer of more than 4300 digits, or an object that cannot be shown
        return f"a value of type {type(value).__name__}"


class ForeignTicketError(InvalidInputError):
    """Report a ticket that another agent has issued."""


class StateError(ValueError):
    """Report a state file that is damaged, foreign, too new or not trusted."""

    __str__ = _message


class LedgerError(RuntimeError):
    """Report a ledger that cannot be opened, written or trusted. Nothing was acknowledged."""

    __str__ = _message


class LedgerFencedError(LedgerError):
    """Report an agent that may no longer write its ledger, and has stopped.

    Another agent has opened the ledger on its server, and continues it. Opening it here again would
    stop that one.
    """


class PolicyError(AssertionError):
    """Report a policy that fails checks; the message has one line per reason."""


class PartError(RuntimeError):
    """Report a part of your own that does not run or cannot be compiled.

    The message has class, method, line and cause.

    Attributes
    ----------
    details : str
        The complete message of Python or numba.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message, details)
        self.details = details

    def __str__(self) -> str:
        return str(self.args[0])


class CellError(ValueError):
    """Report the file of a cell that is damaged, or that belongs to another cell."""

    __str__ = _message


class SweepError(RuntimeError):
    """Report a sweep that cannot finish: its folder cannot be written, or some of its cells failed.

    Attributes
    ----------
    failures : list of (Cell, str)
        Every failed cell, and why. The results of the other cells are stored.
    """

    __str__ = _message

    def __init__(self, message: str, failures: Sequence[tuple[Any, str]] = ()) -> None:
        super().__init__(message)
        self.failures = list(failures)


class ReuseWarning(UserWarning):
    """Warn that stored results are not reused, because the code they depend on is unknown."""


class DataError(ValueError):
    """Report a data set that is not installed, or that is not the one that was studied."""

    __str__ = _message


class DeviceError(RuntimeError):
    """Report a device that is not there, or for which a package is not installed."""


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
