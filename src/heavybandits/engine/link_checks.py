"""Links at the door."""

from typing import Any

import numpy as np

from ..support.errors import InvalidInput
from ..support.validation import positive


def check_link(link: Any, norm: float) -> float:
    """kappa of the link on [-norm, norm], after a look at its slope there."""
    methods = ("mean", "slope", "kappa", "lipschitz", "bound")
    missing = [name for name in methods if not hasattr(link, name)]
    if missing:
        raise InvalidInput(f"link must have a method {missing[0]}(), got {link!r}")
    for z in np.linspace(-norm, norm, 65):
        slope = link.slope(float(z))
        if not slope > 0.0:
            raise InvalidInput(
                f"link must have a positive slope on [-{norm}, {norm}]; "
                f"{type(link).__name__}.slope({z:.4g}) is {slope}"
            )
    return positive(f"{type(link).__name__}.kappa({norm})", link.kappa(norm))
