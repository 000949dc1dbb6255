"""The report: one HTML file that needs nothing, figures, tables and rows beside it."""

from .pipeline import Run, make_report, run_experiments

__all__ = ["Run", "make_report", "run_experiments"]
