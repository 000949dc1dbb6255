"""Sphinx settings: `make docs` builds out/docs/index.html."""

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


def escape_bars(app, what, name, obj, options, lines):
    """|y| is a size in our docstrings, and a substitution in reStructuredText."""
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else line.replace("|", r"\|")
        for line in lines
    ]


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars, priority=1)
