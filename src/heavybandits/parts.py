"""What parts of your own are made of: array helpers, regions, streams, views and verbs.

A part is a `typing.NamedTuple`: its fields are constants, its methods are equations. In compiled
code a method calls another part through a verb, never by attribute, and randomness comes from
`uniform`, addressed by play. Everything here runs compiled and uncompiled to the same bits.

>>> import numpy as np
>>> float(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
11.0
"""

__all__ = [name for name in dir() if not name.startswith("_")]
