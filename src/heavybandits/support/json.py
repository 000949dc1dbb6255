"""Values as JSON can hold them."""

import math
from collections.abc import Mapping
from typing import Any


def jsonable(value: Any, digits: int | None = None) -> Any:
    """The value in plain JSON; nan and infinity, for which it has no words, become None.

    NumPy's numbers and arrays become Python's; whatever is left becomes text. With `digits`,
    floats are rounded to as many.

    >>> import numpy as np
    >>> jsonable({"a": (1.5, math.inf), "b": np.arange(2), "c": 1 / 3}, digits=3)
    {'a': [1.5, None], 'b': [0, 1], 'c': 0.333}
    """
    if isinstance(value, Mapping):
        return {str(key): jsonable(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item, digits) for item in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist(), digits)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    return value if value is None or isinstance(value, str | int) else str(value)
