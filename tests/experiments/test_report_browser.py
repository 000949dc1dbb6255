"""The report in a real browser: it draws, it answers, it fits on a phone, it is quiet."""

import math
import re

import pytest

from browser import Browser, find_browser
from heavybandits._utils.drawing import Panel, Series, View
from heavybandits._utils.statistics import Estimate
from heavybandits.experiments.outputs import Figure, Findings, Table, judge
from heavybandits.experiments.report import make_report
from heavybandits.experiments.run import Run

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="there is no Chromium here: apt-get install chromium"
)

NASTY = '</script><b id="injected">&"'
SVG = "document.querySelectorAll('[data-figure=lines] svg')"


def make_findings():
    x = [0.0, 50_000.0, 100_000.0]

    def line(name, slope):
        y = [slope * v for v in x]
        return Series(name, x, y, [0.9 * v for v in y], [1.1 * v for v in y])

    lines = Panel("regret", "plays", "regret", [line("CRTM", 1.0), line("OL2M", 2.0)])
    more = Panel("regret, longer", "plays", "regret", [line("CRTM", 3.0), line(NASTY, 1.0)])
    low, high = [1.0, math.inf], [4.0, math.inf]
    dots = Series("here", [0.0, 1.0], [2.0, math.nan], low, high)
    names = ["a rather long name of an algorithm", "another"]
    categories = Panel("times", "", "ratio", [dots], "linear", "log", names)
    figures = [
        Figure("lines", "Lines", "A caption.", [View("fixed", [lines]), View("frozen", [more])]),
        Figure("dots", "Dots", "A caption.", [View("all", [categories] * 3)]),
    ]
    wide = {f"a column of many words, number {i}": 1e6 + i for i in range(20)}
    verdicts = [
        judge(NASTY, "a reading", "a quantity", Estimate(v, v - 1, v + 1)) for v in (3.0, 0.0, -3.0)
    ]
    return Findings([Table("wide", "Wide", NASTY, [wide] * 3)], figures, verdicts, [NASTY])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    run = Run("figure1", "Figure 1", {"note": NASTY}, [{"a": 1}], make_findings(), 1.0)
    return make_report([run], "quick", folder)


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


def press(browser, text):
    found = f"[...document.querySelectorAll('button')].find((b) => b.textContent === '{text}')"
    browser.run(f"{found}.click()")
    return browser.run(f"{found}.getAttribute('aria-pressed')")


def test_it_draws_and_is_quiet(browser, page):
    browser.show(page, 1200)
    assert browser.run("document.documentElement.dataset.drawn") == "2"
    assert browser.run("document.querySelectorAll('.panel svg').length") == 4
    assert browser.run(f"{SVG}[0].querySelectorAll('path').length") == 4  # two lines, two bands
    assert browser.run("document.querySelectorAll('[data-figure=dots] circle').length") == 3
    text = browser.run("document.querySelector('main').innerHTML")
    assert "NaN" not in re.sub(r"base64,[^\"]*", "", text)  # letters of a picture are no numbers
    assert browser.console == []


def test_text_is_never_markup(browser, page):
    browser.show(page, 1200)
    assert browser.run("document.getElementById('injected')") is None
    assert browser.run("document.querySelectorAll('.verdicts tbody tr').length") == 3


def test_algorithms_can_be_switched_off_and_on(browser, page):
    browser.show(page, 1200)
    assert press(browser, "CRTM") == "false"
    assert browser.run(f"{SVG}[0].querySelectorAll('path').length") == 2
    assert press(browser, "CRTM") == "true"
    assert browser.run(f"{SVG}[0].querySelectorAll('path').length") == 4


def test_readings_can_be_switched(browser, page):
    browser.show(page, 1200)
    title = "document.querySelector('[data-figure=lines] .panel h4').textContent"
    assert browser.run(title) == "regret"
    assert press(browser, "frozen") == "true"
    assert browser.run(title) == "regret, longer"
    assert browser.console == []


def test_values_appear_under_the_pointer(browser, page):
    browser.show(page, 1200)
    browser.run("document.querySelector('[data-figure=lines]').scrollIntoView()")
    box = browser.run(
        f"(() => {{ const b = {SVG}[0].getBoundingClientRect();"
        " return [b.left + b.width / 2, b.top + b.height / 2]; })()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    tip = browser.run(
        "document.querySelector('[data-figure=lines] .tip:not([hidden])').textContent"
    )
    assert "plays 50k" in tip
    assert "OL2M: 100k" in tip
    assert "[90k, 110k]" in tip


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_on_a_phone(browser, page, dark):
    browser.show(page, 390, 800, dark)
    assert browser.run("document.documentElement.scrollWidth") == 390
    widest = "Math.max(...[...document.querySelectorAll('.panel')].map((p) => p.offsetWidth))"
    assert browser.run(widest) <= 390
    assert browser.console == []


def test_dark_and_light_differ(browser, page):
    paper = "getComputedStyle(document.body).backgroundColor"
    tint = f"{SVG}[0].querySelector('path[stroke]').getAttribute('stroke')"
    seen = []
    for dark in (False, True):
        browser.show(page, 1200, dark=dark)
        seen.append((browser.run(paper), browser.run(tint)))
    assert seen[0] == ("rgb(255, 255, 255)", "#0072B2")
    assert seen[1] == ("rgb(20, 23, 26)", "#56B4E9")


CLIPPED = """[...document.querySelectorAll('.panel svg')].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    const aside = box.left < frame.left - 1 || box.right > frame.right + 1;
    return aside || box.bottom > frame.bottom + 1;
  }).map((text) => text.textContent);
})"""


@pytest.mark.parametrize("width", [390, 1200])
def test_no_label_is_cut_off(browser, page, width):
    browser.show(page, width)
    assert browser.run(CLIPPED) == []
