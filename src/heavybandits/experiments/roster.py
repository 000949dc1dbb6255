"""The algorithms of the experiments, by the names that tables and figures use."""

from typing import Any

from ..algorithms.catalogue import ALGORITHMS, RANDOM, Setting, make_setting
from ..core.protocols import Policy
from ..parts.links import Logistic

__all__ = ["LINK", "RANDOM", "Setting", "make_policy", "make_setting"]

LINK = Logistic()  # of all the paper's experiments

# name: (algorithm, its projection). These have a projection of their own, whatever the variant of
# an experiment uses for OL2M, GLOC and their _mom versions.
VARIANTS = {
    "CRTM": ("CRTM", "exact"),
    "CRMM": ("CRMM", "exact"),
    "CRTM, rescaled": ("CRTM", "euclidean"),
    "CRMM, rescaled": ("CRMM", "euclidean"),
}


def make_policy(
    name: str, given: Setting, constant: float | None, projection: str = "exact", **more: Any
) -> Policy:
    """Make the algorithm of this name; `constant` is the value of its tuned argument, if any.

    `projection` is that of OL2M, GLOC and their _mom versions; `more` are arguments of the
    algorithm that the setting does not fix.

    >>> from heavybandits.noises import StudentT
    >>> make_policy("CRMM", make_setting(StudentT(3.0), 10, 10**6), 0.01).plays
    317
    """
    algorithm, own = VARIANTS.get(name, (name, projection))
    row = ALGORITHMS[algorithm]
    if "projection" in row.parameters:
        more = {"projection": own} | more
    if constant is not None and row.tuning:
        more = more | {row.tuning: constant}
    return row.make(**given._asdict(), **more)
