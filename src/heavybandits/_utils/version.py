"""The version of the library: everything that is written to a disk carries it."""

__version__ = "0.1.0"
