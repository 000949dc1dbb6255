"""Writing the pages that are made: only what has changed, so that Sphinx builds no page twice."""

from pathlib import Path


def renew(path: Path, text: str) -> None:
    """Write a page if its text is another one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
