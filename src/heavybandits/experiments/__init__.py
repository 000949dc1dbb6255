"""The experiments of the paper and our own, one folder each, and their report.

An experiment has

    TITLE and PROFILES                    data: what to run in each profile
    collect(settings, compute) -> rows    cells made, computed and unfolded into tidy rows
    analyse(rows) -> Findings             pure: tables, figures and verdicts

`compute(cells, alone=False)` returns the results of cells in their order. To add an experiment,
add a folder and its name in run.py.
"""
