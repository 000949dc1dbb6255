"""Adapters for other libraries: Gymnasium and coba."""
