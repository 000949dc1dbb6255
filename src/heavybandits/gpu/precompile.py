"""Compile kernels in parallel, in processes of their own that store them on disk.

One kernel takes seconds to compile, and a comparison of policies needs many kernels.
"""

import importlib.util
import os
import pickle
from collections.abc import Sequence
from typing import Any

from .._utils.progress import announce_compilation
from .batches import Job
from .compile import NUMBA_ERRORS, is_stored
from .launch import varying
from .layout import Layout
from .supported import compile_one

FEW = 2  # so few missing kernels are not worth a process each


def compile_all(groups: Sequence[tuple[Sequence[Job], Layout]]) -> None:
    """Compile the kernels that these groups of jobs need and that are not on disk yet.

    Other processes compile the kernels and store them on disk. Without joblib, or if a part cannot
    be sent to another process, this process compiles the kernel when it needs it.
    """
    missing: dict[Any, tuple[Any, list[bool], Layout]] = {}
    for jobs, layout in groups:
        kernel = jobs[0].parts, varying(jobs), layout
        stored = is_stored(*kernel)
        if stored is not None and not stored[1]:
            missing[stored[0]] = kernel
    if not missing:
        return
    announce_compilation()
    if len(missing) <= FEW or importlib.util.find_spec("joblib") is None:
        return
    from joblib.externals.loky import ProcessPoolExecutor

    with ProcessPoolExecutor(min(len(missing), os.cpu_count() or 1)) as pool:
        for done in [pool.submit(compile_one, *given) for given in missing.values()]:
            try:
                done.result()
            except (pickle.PicklingError, *NUMBA_ERRORS):
                pass  # this process compiles the kernel later, and reports its errors
