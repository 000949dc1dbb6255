"""Every link of the built site leads somewhere: python docs/making/check_site.py out/docs

Dead links, missing anchors, pictures without a size or an alternative text, and anything that a
page would fetch from the network are listed; the exit code is 1 if there are any.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class Page(HTMLParser):
    """The anchors, links and pictures of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors |= {value for key, value in attributes if key in ("id", "name") and value}
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.fetched.append(str(given["href"]))
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.fetched.append(str(given["src"]))
        if tag == "img":
            self.pictures.append(given)


def check_site(folder: Path) -> list[str]:
    """What is wrong with the pages of a folder, one line each."""
    paths = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in paths}
    if not pages:
        return [f"{folder} has no pages"]
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for link in (*page.links, *page.fetched):
            problem = check_link(link, path, pages, fetched=link in page.fetched)
            if problem:
                found.append(f"{name}: {link}: {problem}")
        found += [f"{name}: {problem}" for each in page.pictures for problem in check_picture(each)]
    return found


def check_link(link: str, path: Path, pages: dict[Path, Page], fetched: bool) -> str:
    """What is wrong with a link of a page, or nothing."""
    address, anchor = urldefrag(link)
    scheme = urlsplit(address).scheme
    if scheme == "data":
        return ""
    if scheme or address.startswith("//"):
        return "would be fetched from the network" if fetched else ""
    target = path.parent / unquote(urlsplit(address).path) if address else path
    target = target.resolve()
    if not target.is_file():
        return "has no target"
    if anchor and target in pages and unquote(anchor) not in pages[target].anchors:
        return "has no such anchor"
    return ""


def check_picture(given: dict[str, str | None]) -> list[str]:
    """What a picture lacks."""
    source = given.get("src")
    wanted = ("alt", "width", "height")
    return [f"picture {source} has no {name}" for name in wanted if not given.get(name)]


if __name__ == "__main__":
    problems = check_site(Path(sys.argv[1]))
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(bool(problems))
