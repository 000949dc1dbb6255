"""Keep compiled kernels of a device on disk, in files that core/cache.py writes and checks."""

import hashlib
import sys
from typing import Any

import numba
from numba import cuda

from .._utils.errors import InvalidInputError
from ..core.cache import (
    UnsafePlaceError,
    folders,
    read_checked,
    spell,
    write_checked,
)
from ..core.compile import is_cacheable, reach_parts
from ..core.part import classes_of, own_classes
from ..core.sources import digest, edited
from .numba_cuda_internals import VERSION, can_cache, dump_kernel, load_kernel


class DeviceCache:
    """Load and save one kernel for numba-cuda. No failure to read or write raises an error."""

    cache_path = None

    def __init__(self, text: str, parts: tuple[Any, ...]) -> None:
        kinds = classes_of(parts)
        modules = {base.__module__ for kind in kinds for base in kind.__mro__}
        reached = reach_parts(own_classes(parts))
        modules |= {f"{__package__}.compile", *reached.modules}
        kept = can_cache() and all(map(is_cacheable, kinds)) and not edited(modules)
        self._text, self._stamp = text, digest(modules) + reached.values if kept else None
        self.works, self.found = can_cache(), False  # found: the kernel was loaded from disk

    def _place(self, signature: Any) -> tuple[str, bytes]:
        """Return the name of the file and the key that it is written for."""
        versions = (sys.version, numba.__version__, VERSION)
        device = tuple(cuda.get_current_device().compute_capability)
        kinds = [spell(kind) for kind in signature]
        key = repr((self._text, self._stamp, versions, device, kinds)).encode()
        return f"cuda-{hashlib.sha256(key).hexdigest()[:24]}.nbc", key

    def stored(self, signature: Any) -> tuple[str, bool] | None:
        """Return the name of the file and True if it exists; None if the kernel cannot be kept."""
        if self._stamp is None:
            return None
        name, _ = self._place(signature)
        return name, any((folder / name).is_file() for folder in folders())

    def load_overload(self, signature: Any, context: Any) -> Any:
        if self._stamp is None:
            return None
        name, key = self._place(signature)
        for folder in folders():
            try:
                content = read_checked(folder / name, key)
            except (OSError, UnsafePlaceError):
                continue
            if content is not None:
                context.refresh()
                self.found = True
                return load_kernel(content)
        return None

    def save_overload(self, signature: Any, kernel: Any) -> None:
        if self._stamp is None:
            return
        name, key = self._place(signature)
        content = dump_kernel(kernel)
        for folder in folders():
            try:
                return write_checked(folder / name, key, content)
            except (OSError, InvalidInputError, UnsafePlaceError):
                continue

    def flush(self) -> None:
        pass
