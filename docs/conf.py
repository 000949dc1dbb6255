"""Sphinx settings: `make docs` builds out/docs/index.html."""

import re

import heavybandits

project = "heavybandits"
author = "The heavybandits developers"
release = version = heavybandits.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["make_tables.py"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
suppress_warnings = ["myst.xref_missing"]  # links to files of the repository, from pages of it

html_theme = "pydata_sphinx_theme"
html_title = "heavybandits"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}


def tidy_docstring(app, what, name, obj, options, lines):
    """Our docstrings as reStructuredText: |y| is a size, and parameters are told, not typed."""
    tidy = []
    for line in lines:
        parameter = re.match(r"([a-z_]+(?:, [a-z_]+)*) : (.*)", line)
        if line.lstrip().startswith((">>>", "...")):
            tidy.append(line)
        elif parameter:
            tidy += [parameter[1], f"    {escape(parameter[2])}"]
        else:
            tidy.append(escape(line))
    lines[:] = tidy


def escape(line):
    return line.replace("|", r"\|")


def setup(app):
    app.connect("autodoc-process-docstring", tidy_docstring, priority=1)
