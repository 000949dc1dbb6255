"""Look at every page in Chromium: python docs/making/look.py out/docs [pictures]

On a phone and on a desk, light and dark: nothing in the console, nothing fetched from the network,
nothing that leaves the screen, pictures with sizes and alternative texts, formulas without errors,
text with contrast, and a layout that does not shift while a page loads. Problems are listed, and
the exit code is 1 if anything is. With a folder for pictures it leaves one of every page there.
"""

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))

from browser import Browser, find_browser  # noqa: E402

WIDTHS, DARK = (390, 1200), (False, True)
MOST_SHIFT = 0.1  # cumulative layout shift, up to which web.dev calls a page good
EXAMINE = (HERE / "look.js").read_text()
# Pictures below the window load only when they are reached.
LOAD_PICTURES = """Promise.all([...document.images].map((image) => {
  image.loading = "eager";
  return image.decode().catch(() => 0);
})).then(() => 1)"""
WATCH = """window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


def find_pages(site: Path) -> list[Path]:
    """The pages of a site, without what its theme ships."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def open_browser() -> Browser:
    """A browser that measures how much moves while a page loads."""
    browser = Browser()
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    return browser


def open_page(browser: Browser, page: Path, width: int, dark: bool) -> None:
    """Open a page, wait for its formulas and for two frames, and end what fades in or out."""
    browser.console.clear()
    browser.show(page, width, 900, dark)
    if browser.run("typeof MathJax") == "object":
        wait(browser, "MathJax.startup.promise.then(() => 1)")
    wait(browser, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    browser.run("document.getAnimations().forEach((animation) => animation.finish())")


def wait(browser: Browser, promise: str) -> None:
    browser.call("Runtime.evaluate", expression=promise, awaitPromise=True)


def look_at(browser: Browser, page: Path, width: int, dark: bool) -> list[str]:
    """What is wrong with a page, one line each."""
    open_page(browser, page, width, dark)
    found = [f"in the console: {line}" for line in browser.console] + browser.run(EXAMINE)
    theme = browser.run("document.documentElement.dataset.theme")
    if theme != ("dark" if dark else "light"):
        found.append(f"is {theme}")
    shift = browser.run("window.shift")
    return [*found, f"shifts by {shift:.2f}"] if shift > MOST_SHIFT else found


def look_at_all(site: Path, pictures: Path | None = None) -> Iterator[str]:
    """What is wrong with the pages of a site, one line each."""
    with open_browser() as browser:
        for page, width, dark in product(find_pages(site), WIDTHS, DARK):
            name, theme = page.relative_to(site), "dark" if dark else "light"
            for problem in look_at(browser, page, width, dark):
                yield f"{name}, {width} px, {theme}: {problem}"
            if pictures is not None:
                stem = name.with_suffix("").as_posix().replace("/", "_")
                wait(browser, LOAD_PICTURES)
                browser.picture(pictures / f"{stem}-{width}-{theme}.png")


if __name__ == "__main__":
    if find_browser() is None:
        sys.exit("there is no Chromium here: the pages were not looked at")
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    problems = list(look_at_all(Path(sys.argv[1]), folder))
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(bool(problems))
