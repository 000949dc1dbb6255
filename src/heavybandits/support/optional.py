"""Modules of the extras: imported when they are needed, with a word on how to get them."""

from typing import Any


def optional(module: str, extra: str) -> Any:
    """Import a module of an extra, or say how to get it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'this needs {module}: pip install "heavybandits[{extra}]"', name=module
        ) from error
