"""Check that a device can play the jobs and that there is one: all validation for devices."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._utils.errors import DeviceError, InvalidInputError
from ..core.capabilities import capacity_of
from ..core.part import classes_of, is_part, separate_streams
from ..parts.arms import Fixed, FromArray, PerDecision, PerRound, Storefront
from ..parts.estimators import NewtonEnsemble, RidgeEnsemble
from ..parts.policies import UCB, Uniform
from .batches import Job
from .layout import ALONE, Layout

_ARMS = (Fixed, PerDecision, PerRound, FromArray, Storefront)


def play_on_device(
    jobs: Sequence[Job], advance: Callable[[float], None] = lambda plays: None
) -> list[dict[str, Any]]:
    """Return the results of every job at its checkpoints; see `run.play_jobs`.

    advance: receives, after every piece, the number of plays that were made in it.
    """
    require_device()
    from .run import play_jobs

    separated = [job._replace(policy=separate_streams(job.policy)) for job in jobs]
    return play_jobs(separated, advance)


def compile_one(parts: tuple[Any, ...], differs: list[bool], layout: Layout) -> None:
    """Compile one kernel in a process of its own, which finds numba-cuda as this process did."""
    require_device()
    from .compile import kernel_of

    kernel_of(parts, differs, layout)


def check_supported(policies: Mapping[str, Any], arms: Any) -> None:
    """Raise InvalidInputError, before anything runs, for arms or policies without a device form.

    The message gives the reason.
    """
    if type(arms) not in _ARMS and not getattr(arms, "arm_by_arm", False):
        names = ", ".join(kind.__name__ for kind in _ARMS)
        why = "has infinitely many arms" if arms.size == 0 else "has no cooperative form"
        raise InvalidInputError(f"device='cuda' plays {names}: {type(arms).__name__} {why}")
    for name, policy in policies.items():
        if reason := _obstacle(policy):
            raise InvalidInputError(
                f"policies[{name!r}] cannot be played on device='cuda': {reason}"
            )


def _obstacle(policy: Any) -> str | None:
    """Return the reason why a device cannot play a policy; None if it can."""
    kind = type(policy).__name__
    if isinstance(policy, Uniform):
        return None
    if not isinstance(policy, UCB):
        return f"{kind} has no cooperative form; policies of the family UCB have one"
    estimator = policy.estimator
    if capacity_of(policy) is not None:
        return f"{type(estimator).__name__} keeps its history, which a device has no room for"
    alone = isinstance(estimator, NewtonEnsemble) and policy.plays > ALONE
    if isinstance(estimator, RidgeEnsemble | NewtonEnsemble) and not alone:
        return (
            f"{type(estimator).__name__} keeps one estimate per play, and has no cooperative form"
        )
    kinds = {str(array.dtype) for array in flatten(policy.init())}
    if not kinds <= {"float64", "int64"}:
        return f"its state has arrays of {', '.join(sorted(kinds))}, and may have float64 and int64"
    return None


def flatten(state: Any) -> list[Any]:
    """Return the arrays of a state."""
    return [array for field in state for array in flatten(field)] if is_part(state) else [state]


def own_parts(*parts: Any) -> list[str]:
    """Return the names of the parts that are not of this library."""
    library = __name__.partition(".")[0]
    found = {kind for part in parts for kind in classes_of(part)}
    return sorted(k.__name__ for k in found if k.__module__.partition(".")[0] != library)


def no_form(error: Exception, policy: Any, problem: Any) -> Exception:
    """Return the error for a kernel that does not compile."""
    names = own_parts(policy, *problem)
    reason = "".join(line for line in str(error).splitlines() if "shared(" in line)[:200]
    if not names:
        return error
    return InvalidInputError(
        f"device='cuda': {' or '.join(names)} has no cooperative form: what the lanes of a team "
        f"share may be read by a part, and written by functions of heavybandits.authoring alone"
        f"{f' ({reason.strip()})' if reason else ''}"
    )


def require_device() -> None:
    """Import numba-cuda and find a device; raise DeviceError with what is missing."""
    if not hasattr(np, "row_stack"):  # numba-cuda 0.30 imports it, NumPy 2.5 lacks it
        setattr(np, "row_stack", np.vstack)  # noqa: B010
    try:
        importlib.import_module("numba_cuda")
    except ModuleNotFoundError as error:
        raise DeviceError(
            "device='cuda' needs numba-cuda: pip install \"heavybandits[gpu]\""
        ) from error
    from .numba_cuda_internals import cuda

    if not cuda.is_available():
        raise DeviceError(
            "device='cuda' found no CUDA device: it needs an NVIDIA GPU and its driver, "
            "which `nvidia-smi` would list"
        )
