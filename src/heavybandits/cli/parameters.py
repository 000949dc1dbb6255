"""What options and arguments may be: names out of a registry, and places that can be written."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from .._utils.errors import InvalidInputError
from .._utils.registry import Entry, make_named

TABLES, PICTURES = (".parquet", ".pq"), (".png", ".svg", ".pdf")


class Number(click.ParamType):  # type: ignore[type-arg]
    """A number within two bounds."""

    def __init__(self, least: float, most: float) -> None:
        self.least, self.most = least, most
        self.kind = click.INT if isinstance(least, int) else click.FLOAT
        self.name = self.kind.name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = self.kind.convert(value, param, ctx)
        if not self.least <= number <= self.most:
            bounds = f"{self.least:.4g} and {self.most:.4g}"
            self.fail(f"{value} is not between {bounds}.", param, ctx)
        return number


COUNT, TWO = Number(1, 10**12), Number(2, 10**9)
REPETITIONS, WORKERS, SEED = Number(1, 10**5), Number(1, 1024), Number(0, 2**63 - 1)


class OneOf(click.ParamType):  # type: ignore[type-arg]
    """A name in a registry, in upper or lower case. Rows added later count too."""

    name = "name"

    def __init__(self, registry: Mapping[str, Any]) -> None:
        self.registry = registry

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        for name in self.registry:
            if name.casefold() == value.casefold():
                return name
        self.fail(f"{value!r} is not one of {', '.join(self.registry)}.", param, ctx)

    def get_metavar(self, param: Any, ctx: Any = None) -> str:
        return f"[{'|'.join(self.registry)}]"

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        start = incomplete.casefold()
        return [CompletionItem(name) for name in self.registry if name.casefold().startswith(start)]


class NamedPart(OneOf):
    """A part by its name and the numbers it takes, such as t:3:0.5."""

    def __init__(self, kind: str, registry: Mapping[str, Entry]) -> None:
        super().__init__(registry)
        self.name = kind

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return make_named(self.name, value, self.registry)
        except InvalidInputError as error:
            self.fail(str(error), param, ctx)


class NewFile(click.ParamType):  # type: ignore[type-arg]
    """A file of a known format that can be written, which is found out before the work starts."""

    name = "file"

    def __init__(self, formats: tuple[str, ...]) -> None:
        self.formats = formats

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = Path(value)
        if path.suffix.lower() not in self.formats:
            self.fail(f"{value!r} must end in one of {', '.join(self.formats)}.", param, ctx)
        try:
            there = path.exists()
            path.open("ab").close()
            if not there:
                path.unlink()
        except OSError as error:
            self.fail(f"{value!r} cannot be written: {error.strerror}.", param, ctx)
        return path


class Folder(click.ParamType):  # type: ignore[type-arg]
    """A folder that can be written, or made."""

    name = "folder"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = Path(value)
        there = next(place for place in (path, *path.parents, Path("/")) if os.path.lexists(place))
        if not (there.is_dir() and os.access(there, os.W_OK)):
            self.fail(f"{value!r} cannot be written: {there} is no such folder.", param, ctx)
        return path
