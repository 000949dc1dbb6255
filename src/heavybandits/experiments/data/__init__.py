"""Real data with heavy tails, read from packages that carry it. Extra `data`.

Nothing is downloaded and nothing is copied here: each set is a file of an installed package, found
by its metadata (the package itself is not imported) and checked against a SHA-256.
"""

from collections.abc import Callable

from ..._utils.errors import DataError
from .cdnow import load_cdnow
from .rand import load_rand
from .sets import Dataset
from .stocks import load_nyse_new, load_nyse_old, load_sp500

LOADERS: dict[str, Callable[[], Dataset]] = {
    "rand": load_rand,
    "cdnow": load_cdnow,
    "nyse_n": load_nyse_new,
    "nyse_o": load_nyse_old,
    "sp500": load_sp500,
}

__all__ = ["LOADERS", "DataError", "Dataset", "load_data"]


def load_data(name: str) -> Dataset:
    """Load a data set by name: rand, cdnow, nyse_n, nyse_o or sp500.

    Parameters
    ----------
    name : str
        Name of the data set.

    Returns
    -------
    Dataset
        Columns, features, reward and protocols.

    Raises
    ------
    DataError
        There is no such data set, or the package with its file is not installed.

    Examples
    --------
    >>> load_data("films")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    heavybandits.DataError: name must be one of rand, cdnow, ...; got 'films'
    """
    if name not in LOADERS:
        raise DataError(f"name must be one of {', '.join(LOADERS)}; got {name!r}")
    return LOADERS[name]()
