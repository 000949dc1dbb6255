"""The array types of signatures, named once."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Key = np.uint64  # of a stream of random numbers
