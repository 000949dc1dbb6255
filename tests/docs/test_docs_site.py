"""The built site: no warnings, no dead links, and quiet in a real browser."""

import fcntl
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import api_pages
from browser import find_browser
from check_site import check_site
from look import look_at, open_browser, open_page, wait
from paths import DOCS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(
            importlib.util.find_spec(name)
            for name in ("sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx-mathjax-offline")
        ),
        reason="the docs group is not installed: pip install --group docs",
    ),
]
BROKEN = "document.querySelectorAll('[data-mjx-error], mjx-container [fill=red]').length"  # TeX
FORMULA = re.compile(r'<(?:span|div) class="math notranslate[^>]*>.*?\\[)\]]<', re.DOTALL)
MAIN = (
    "index.html",
    "explore.html",
    "own_csv.html",
    "compare.html",
    "choose_policy.html",
    "diagnose_rewards.html",
    "get_started.html",
    "algorithms.html",
    "architecture.html",
    "peers.html",
    "gallery.html",
    "maths/newton.html",
    "reference.html",
    "search.html",
    "api/filters.html",
    "api/heavybandits.crtm.html",
    "api/heavybandits.theory.truncation_region.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once for all processes of a test run."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if root.name.startswith("popen-") else root
    folder, done = root / "site", root / "site.done"
    with open(root / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            build(folder)
            done.touch()
    return folder


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    made = subprocess.run(
        [*command, "-d", f"{folder}-doctrees", str(DOCS), str(folder)],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr


@pytest.fixture(scope="module")
def browser():
    if find_browser() is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with open_browser() as opened:
        yield opened


def test_no_link_is_dead_and_no_picture_is_mute(site):
    assert check_site(site) == []


def test_every_public_name_has_its_anchor(site):
    names = api_pages.find_names()
    for kind in api_pages.KINDS:
        for full in names[kind.page]:
            page = site / "api" / f"{api_pages.page_of(kind, full)}.html"
            assert f'id="{full}"' in page.read_text()


def test_parameters_and_examples_render_as_such(site):
    page = (site / "api" / "heavybandits.Agent.html").read_text()
    assert '<p class="rubric">Examples</p>' in page
    assert page.index("Parameters") < page.index("Examples") < page.index("&gt;&gt;&gt;")
    assert "<dt><strong>max_pending</strong>" in page
    assert "<dt><strong>An agent" not in page


def test_the_sidebar_is_not_empty(site):
    for name in ("own_csv.html", "architecture.html", "delayed_rewards.html", "api/filters.html"):
        sidebar = (site / name).read_text().partition('class="bd-links')[2].partition("</nav>")[0]
        assert sidebar.count("<li") >= 3, name


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wrong_with_the_main_pages(browser, site, width, dark):
    """All pages, and pictures of them: `make look`."""
    found = {name: look_at(browser, site / name, width, dark) for name in MAIN}
    assert {name: problems for name, problems in found.items() if problems} == {}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<p style="color: #999">pale</p>', "has a contrast of 2.85"),
        ('<p style="color: rgba(0, 0, 0, 0.5)">pale</p>', "has a contrast of 3.98"),
        ('<svg width="99"><text y="9" fill="#999">pale</text></svg>', "has a contrast of 2.85"),
        ('<div style="width: 2000px">wide</div>', "is 2000 px wide on 1200"),
        ('<div style="overflow: hidden"><p style="width: 2000px">w</p></div>', "leaves the screen"),
        ('<img src="gone.png" alt="a" width="9" height="9">', "cannot be drawn"),
        ('<img alt="a" width="9">', "has no height"),
        ("<h1>another</h1>", "does not have one heading h1"),
        ("<script>console.error(1)</script>", "in the console"),
        (
            '<div id="a" style="height: 0"></div><p>down</p><script>requestAnimationFrame(() => '
            "requestAnimationFrame(() => (a.style.height = '700px')))</script>",
            "shifts by",
        ),
    ],
)
def test_the_look_at_a_page_finds(browser, tmp_path, body, problem):
    page = tmp_path / "page.html"
    text = "<h1>A page</h1>"
    start = '<!doctype html><html lang="en" data-theme="light"><style>body { margin: 0; }</style>'
    page.write_text(f'{start}<body><div class="bd-article">{body}{text}</div></body></html>')
    found = look_at(browser, page, 1200, False)
    assert [line for line in found if problem in line], found


def test_no_formula_of_the_site_is_an_error(browser, site, tmp_path):
    """All formulas of all pages, on one page."""
    texts = "".join(path.read_text() for path in sorted(site.rglob("*.html")))
    found = sorted(set(FORMULA.findall(texts)))
    assert len(found) > 100
    body = "".join(f"<p>{formula[:-1]}</p>" for formula in found)
    script = (site / "_static" / "tex-svg-full.js").as_uri()
    page = tmp_path / "formulas.html"
    page.write_text(f'<meta charset="utf-8">{body}<script src="{script}"></script>')
    open_page(browser, page, 1200, False)
    assert browser.run("document.querySelectorAll('mjx-container').length") >= len(found)
    assert browser.run(BROKEN) == 0


def test_the_header_is_one_line(browser, site):
    open_page(browser, site / "index.html", 1200, False)
    items = "[...document.querySelectorAll('.bd-header .navbar-nav > li')]"
    tops = browser.run(f"{items}.map((item) => item.offsetTop)")
    assert len(tops) >= 5
    assert len(set(tops)) == 1


def test_the_search_finds_a_name(browser, site):
    browser.console.clear()
    browser.show(site / "search.html", 1200)
    browser.run("Search.performSearch('AdaptiveClip')")
    found = "document.querySelectorAll('#search-results li').length"
    for _ in range(200):
        if browser.run(found):
            break
        wait(browser, "new Promise((done) => requestAnimationFrame(done))")
    assert browser.run(found) > 0
    assert browser.console == []
