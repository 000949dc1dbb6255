"""Import everything that the library uses of numba-cuda and that numba-cuda does not document.

Kernels on a device need all of it except the disk cache. Without the rest there is no kernel, or a
kernel that rounds differently from the CPU. So the library raises DeviceError, which names what is
missing. If only the cache of numba-cuda has changed, every process compiles its kernels.
"""

import functools
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from threading import Lock
from typing import Any

import numba

from .._utils.errors import DeviceError

VERSION, TESTED = version("numba-cuda"), "numba-cuda==0.30.4 numba==0.68.1"


def unknown_version(missing: object) -> DeviceError:
    """Return the error for a numba-cuda that lacks something or has changed it."""
    return DeviceError(
        f"device='cuda' does not know numba-cuda {VERSION} with numba {numba.__version__} "
        f"({missing}): run `pip install --upgrade heavybandits numba-cuda`, or install what was "
        f"tested, `pip install {TESTED}`"
    )


try:
    from numba import cuda
    from numba.cuda import types
    from numba.cuda.core.errors import NumbaError as CudaError
    from numba.cuda.core.errors import NumbaPerformanceWarning, TypingError
    from numba.cuda.cudadrv import nvvm
    from numba.cuda.cudadrv.driver import binding, driver
    from numba.cuda.datamodel.models import ArrayModel
    from numba.cuda.extending import intrinsic, overload, register_model
    from numba.cuda.np.arrayobj import populate_array
    from numba.cuda.typing.templates import signature
    from numba.cuda.typing.typeof import typeof
except (ImportError, AttributeError) as error:
    raise unknown_version(error) from error

__all__ = [
    "VERSION",
    "ArrayModel",
    "CudaError",
    "NumbaPerformanceWarning",
    "TypingError",
    "allow_shared_memory",
    "can_cache",
    "cuda",
    "dump_kernel",
    "intrinsic",
    "load_kernel",
    "overload",
    "populate_array",
    "register_model",
    "rewrite_code",
    "signature",
    "typeof",
    "types",
    "unknown_version",
]

_patching = Lock()


@contextmanager
def rewrite_code(rewrite: Callable[[str], str]) -> Iterator[list[str]]:
    """Rewrite all LLVM code that is compiled in this context, and fuse no product with a sum.

    numba-cuda has no option for that. The context yields the list of rewritten codes. If a kernel
    was compiled and the list is empty, numba-cuda no longer calls the function replaced here.
    """
    compile_ir, rewritten = nvvm.compile_ir, []

    def compile_rewritten(ir: Any, **options: Any) -> Any:
        texts = [rewrite(text) for text in ([ir] if isinstance(ir, str) else ir)]
        rewritten.extend(texts)
        return compile_ir(texts, **{"fma": False, **options})

    with _patching:
        nvvm.compile_ir = compile_rewritten
        try:
            yield rewritten
        finally:
            nvvm.compile_ir = compile_ir


def allow_shared_memory(dispatcher: Any, size: int) -> None:
    """Allow a block of these kernels `size` bytes of shared memory; 48 kB need no permission."""
    try:
        most = binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        for kernel in dispatcher.overloads.values():
            found = kernel._codelibrary.get_cufunc()
            driver.cuKernelSetAttribute(most, size, found.handle, found.device.id)
    except AttributeError as error:
        raise unknown_version(error) from error


# ---- kernels as bytes


@functools.cache
def can_cache() -> bool:
    """Return True if this numba-cuda has the functions that keep kernels on disk."""
    try:
        from numba.cuda.dispatcher import _Kernel
        from numba.cuda.serialize import dumps
    except ImportError:
        return False
    has_cache = hasattr(cuda.jit(lambda: None), "_cache") and callable(dumps)
    return has_cache and hasattr(_Kernel, "_rebuild") and hasattr(_Kernel, "_reduce_states")


def dump_kernel(kernel: Any) -> bytes:
    """Return a compiled kernel as bytes."""
    from numba.cuda.serialize import dumps

    return bytes(dumps(kernel._reduce_states()))


def load_kernel(content: bytes) -> Any:
    """Return the kernel that `dump_kernel` turned into these bytes."""
    from numba.cuda.dispatcher import _Kernel

    return _Kernel._rebuild(**pickle.loads(content))
