"""Sphinx settings: `make docs` builds out/docs/index.html."""

import importlib.resources
import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.inspect import object_description

import heavybandits

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "making"))

import api_pages  # noqa: E402
import command_line  # noqa: E402
import docstrings  # noqa: E402
import gallery  # noqa: E402
import pictures  # noqa: E402
import writing  # noqa: E402

project = "heavybandits"
author = "The heavybandits developers"
release = version = heavybandits.__version__

api_pages.write_pages(HERE / "api")
writing.renew(HERE / "gallery.md", gallery.make_page(HERE / "images"))
writing.renew(HERE / "command_line.md", command_line.make_page())

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["making", "make_tables.py"]
templates_path = ["_templates"]
myst_heading_anchors = 3
nb_execution_mode = "force"  # notebooks are stored without outputs
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_merge_streams = True
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# MathJax comes with the site: pages work without a network.
mathjax_path = "tex-svg-full.js"
mathjax_file = importlib.resources.files("sphinx-mathjax-offline") / "static/mathjax" / mathjax_path
mathjax3_config = {"options": {"enableMenu": False}}

html_theme = "pydata_sphinx_theme"
html_title = "heavybandits"
html_show_sourcelink = False
html_copy_source = False
html_domain_indices = False
html_show_search_summary = False  # they are fetched, which no browser does for a file
html_static_path = ["_static", str(mathjax_file)]
html_css_files = ["site.css"]
html_sidebars: dict[str, list[str]] = {page: [] for page in ("index", "explore", "gallery")}
html_context = {"default_mode": "auto"}
html_show_copyright = False
aside: dict[str, list[str]] = {
    "*": ["page-toc"],
    "maths/*": ["page-toc"],
    **{page: [] for page in ("index", "explore", "gallery", "algorithms", "peers", "literature")},
}
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": aside,
    "footer_start": ["footer"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# Formulas change the height of lines: a page that has some is shown once they are set (site.css).
TYPESET = """<script>
document.documentElement.classList.add("typesetting");
addEventListener("load", () => MathJax.startup.promise.finally(() =>
  document.documentElement.classList.remove("typesetting")));
</script>"""
# The page's own contents stand behind its text in the source, and take their room from it.
CONTENTS = "<style>:root { --contents: 13rem; --place: start; }</style>"

targets = api_pages.link_targets()
mark = docstrings.marker(targets, docstrings.papers(HERE / "literature.md"))


def tidy_docstring(app, what, name, obj, options, lines):
    """Names, papers and formulas in docstrings become links and TeX."""
    lines[:] = docstrings.arrange(lines, targets, mark)


def tidy_signature(app, what, name, obj, options, signature, returned):
    """Annotations as people write them."""
    short = docstrings.shorten
    signature = "()" if getattr(obj, "_is_protocol", False) else signature
    signature = signature and signature.replace("<factory>", "...")  # no Python otherwise
    for default in getattr(obj, "_field_defaults", {}).values():
        if hasattr(default, "_fields"):  # Sphinx shows a part as the tuple that it is
            shown, made = object_description(default), type(default).__name__
            signature = signature and signature.replace(f"= {shown}", f"= {made}()")
    return signature and short(signature), returned and short(returned)


def skip_fields(app, what, name, obj, skip, options):
    """The fields of a NamedTuple are in its signature already."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def tidy_types(app, doctree):
    """The types of properties, which no other event shows."""
    for node in doctree.findall(addnodes.desc_annotation):
        short = docstrings.shorten(node.astext())
        if short != node.astext():
            node.children = [nodes.Text(short)]


def link_names(app, doctree):
    """The first mention of a public name on a page leads to its own page."""
    seen = set()
    for node in list(doctree.findall(nodes.literal)):
        target = targets.get(node.astext().removeprefix("hb.").split("(")[0])
        inside = isinstance(node.parent, (nodes.reference, nodes.title, addnodes.pending_xref))
        if target and target not in seen and not inside:
            seen.add(target)
            kind = {"refdomain": "py", "reftype": "obj", "reftarget": target, "refexplicit": True}
            node.replace_self(addnodes.pending_xref("", node.deepcopy(), **kind))


def size_pictures(app, page, template, context, doctree):
    """Every picture says how large it is, so that nothing jumps when it arrives."""
    if "body" in context:
        folders = {Path(app.srcdir, source).parent for source in app.builder.images}  # of notebooks
        context["body"] = pictures.with_sizes(context["body"], HERE / "images", *folders)


def keep_still(app, page, template, context, doctree):
    """Nothing jumps when the formulas of a page are set, nor when its contents arrive."""
    has_contents = bool(aside.get(page, True) and context.get("display_toc"))
    has_formulas = doctree is not None and any(doctree.findall(is_formula))
    context["metatags"] = context.get("metatags", "") + (
        has_contents * CONTENTS + has_formulas * TYPESET
    )


def is_formula(node):
    return isinstance(node, (nodes.math, nodes.math_block))


def setup(app):
    app.connect("autodoc-process-docstring", tidy_docstring, priority=1)
    app.connect("autodoc-process-signature", tidy_signature)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("doctree-read", tidy_types)
    app.connect("doctree-read", link_names)
    app.connect("html-page-context", size_pictures)
    app.connect("html-page-context", keep_still)
