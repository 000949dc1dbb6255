"""Draw the layers of the library: python docs/making/layers.py writes docs/images/layers.svg.

The layers are those that import-linter enforces (pyproject.toml). The description of a package is
the first sentence of its docstring.
"""

import ast
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "layers.svg"
SOURCE = ROOT / "src" / "heavybandits"
WIDTH, ROW, GAP, NAME = 760, 42, 8, 150  # pixels; NAME is where descriptions begin
COLOURS = {"experiments": "top", "cli": "top", "parts": "part", "core": "low", "_utils": "low"}
STYLE = """
    .layers { --ink: #1c2530; --soft: #4c5967; --line: #8b98a5; }
    .layers { font-family: system-ui, sans-serif; }
    .layers text { fill: var(--ink); }
    .layers .name { font-size: 15px; font-weight: 600; }
    .layers .what { font-size: 13.5px; fill: var(--soft); }
    .layers rect { stroke: var(--line); stroke-width: 1; }
    .layers .top { fill: #f3e9d9; } .layers .mid { fill: #dcebf5; }
    .layers .part { fill: #ddefe4; } .layers .low { fill: #e9e6ef; }
    html[data-theme="dark"] .layers { --ink: #eef2f6; --soft: #c3ccd5; --line: #6b7885; }
    html[data-theme="dark"] .layers .top { fill: #4a3c25; }
    html[data-theme="dark"] .layers .mid { fill: #1f3d52; }
    html[data-theme="dark"] .layers .part { fill: #20452f; }
    html[data-theme="dark"] .layers .low { fill: #3a3448; }
"""


def read_layers() -> list[list[str]]:
    """Return the packages of each layer, top first, as import-linter enforces them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = project["tool"]["importlinter"]["contracts"][0]
    layers = [layer.replace("|", ":").split(":") for layer in contract["layers"]]
    named = [[name.strip() for name in layer] for layer in layers]
    return [[name for name in layer if (SOURCE / name).is_dir()] for layer in named]


def describe(package: str) -> str:
    """Return the first sentence of the docstring of a package."""
    text = ast.get_docstring(ast.parse((SOURCE / package / "__init__.py").read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).rstrip(".").replace("`", "")


def draw_row(package: str, y: int) -> str:
    """Return one bar with the name of a package and what it is."""
    colour = COLOURS.get(package, "mid")
    return (
        f'  <rect class="{colour}" x="10" y="{y}" width="{WIDTH - 20}" height="{ROW}" rx="5"/>\n'
        f'  <text class="name" x="24" y="{y + 27}">{escape(package)}</text>\n'
        f'  <text class="what" x="{NAME}" y="{y + 27}">{escape(describe(package))}</text>\n'
    )


def draw() -> str:
    """Return the picture as SVG."""
    packages = [name for layer in read_layers() for name in layer]
    rows = [draw_row(name, 10 + (ROW + GAP) * place) for place, name in enumerate(packages)]
    height = 12 + (ROW + GAP) * len(packages)
    title = f"The packages of heavybandits, each above those it may import: {', '.join(packages)}."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-labelledby="layers-title" class="layers">\n'
        f'  <title id="layers-title">{title}</title>\n  <style>{STYLE}  </style>\n'
        f"{''.join(rows)}</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(draw())
