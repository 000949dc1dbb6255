"""The live page in a real browser, and the application behind it."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("msgspec")

from browser import Browser, find_browser
from heavybandits.serving.live import Live
from heavybandits.serving.tokens import Guard, Token, hash_token
from service_process import ServiceProcess

ODD = [
    "<script>window.hurt=1</script>",
    '"><img src=x onerror="window.hurt=1">',
    "' onmouseover='window.hurt=1",
    "a_name_without_any_place_to_break_" * 5,
    "\u202egnp.exe",
    "</td></table>",
]
AGENT = f"""
[agents.odd]
policy = "linucb"
epsilon = 0.5
ledger = "odd.db"
holdout = 0.3
baseline = {json.dumps(ODD[0])}
[agents.odd.parameters]
radius = 1.0
[agents.odd.encoder]
actions = {json.dumps(ODD)}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    made = ServiceProcess(tmp_path_factory.mktemp("live"), more=AGENT)
    for number in range(150):
        body = {"actions": {name: {} for name in ODD}, "unit": f"user-{number}"}
        decided = made.post("decide", body, agent="odd").body
        reward = {"ticket": decided["ticket"], "reward": float(number**3 % 101)}
        assert made.post("reward", reward, agent="odd").status == 200
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if find_browser() is None:
        pytest.skip("Chromium is not installed")
    with Browser() as made:
        yield made


def open_page(browser: Browser, service: ServiceProcess, width: int, dark: bool) -> None:
    """Open the page and wait for the first changes that the server sends."""
    browser.host = f"http://127.0.0.1:{service.admin}/"
    browser.console.clear()
    browser.show(browser.host, width, dark=dark)
    browser.wait("document.getElementById('status').className === 'live'")


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_fits_says_nothing_to_others_and_runs_no_name(browser, service, width, dark):
    open_page(browser, service, width, dark)
    assert browser.console == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    wider = "[...document.querySelectorAll('.card')].filter(c => c.scrollWidth > c.clientWidth)"
    assert browser.run(f"{wider}.map(c => c.id)") == []
    assert browser.run("window.hurt") is None
    assert browser.run("document.querySelectorAll('main img, main script').length") == 0
    shown = "[...document.querySelectorAll('#odd-actions tbody th')].map(c => c.textContent)"
    assert sorted(browser.run(shown)) == sorted(ODD)
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 384) == dark


@pytest.mark.browser
def test_the_page_changes_when_the_service_works(browser, service):
    open_page(browser, service, 1200, False)
    text = "document.getElementById('shop-decisions').textContent"
    before = browser.run(text)
    service.decide()
    browser.wait(f"{text} !== {json.dumps(before)}")
    assert browser.console == []


@pytest.mark.browser
def test_the_series_has_two_spans(browser, service):
    open_page(browser, service, 1200, False)
    visible = "getComputedStyle(document.querySelector('#odd-traffic .minutes')).display"
    assert browser.run(visible) == "none"
    browser.run("document.querySelector('button[data-span=minutes]').click()")
    assert browser.run(visible) == "block"


@pytest.mark.browser
def test_a_large_reward_is_explained(browser, service):
    open_page(browser, service, 390, True)
    browser.run("document.querySelector('#odd-largest a.explain').click()")
    browser.wait("document.getElementById('dialog').open")
    assert browser.run("document.querySelectorAll('#explanation tbody tr').length") == len(ODD)
    assert browser.run("window.hurt") is None
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.run("document.querySelector('dialog button').click()")
    assert browser.run("document.getElementById('dialog').open") is False
    assert browser.console == []


def test_the_page_is_complete_without_a_script(service):
    page = service.get("/", admin=True).body
    assert "&lt;script&gt;window.hurt=1&lt;/script&gt;" in page
    assert "<script>window" not in page
    for words in ("Policy against hold-out", "Requests per commit", "Effective sample size"):
        assert words in page


def test_the_page_allows_no_script_of_its_own_and_no_frame(service):
    policy = service.get("/", admin=True).headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_a_ticket_that_does_not_exist_has_no_explanation(service):
    for query in ("agent=odd&ticket=x", "agent=nobody&ticket=x", "", "agent=odd&ticket=9:9"):
        answer = service.get(f"/explain?{query}", admin=True)
        assert answer.status in (404, 422), answer
        assert answer.headers["content-type"] == "application/problem+json"


# ---- tokens


def ask(live: Live, path: str, query: str = "", **headers: str) -> tuple[int, dict[str, str]]:
    """Return status and headers of the answer to a GET request."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    given = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
    scope |= {"headers": given, "root_path": "", "scheme": "http", "server": ("x", 80)}
    asyncio.run(live(scope, receive, send))
    start = sent[0]
    return start["status"], {key.decode(): value.decode() for key, value in start["headers"]}


def test_a_page_on_the_network_needs_a_token_and_keeps_it_out_of_the_address():
    tokens = [Token("a", hash_token("hb_read"), ("read",))]
    tokens.append(Token("b", hash_token("hb_decide"), ("decide",)))
    live = Live({}, Guard(tokens), local=False)
    assert ask(live, "/")[0] == 401
    assert ask(live, "/metrics")[0] == 401
    assert ask(live, "/", "token=hb_decide")[0] == 403
    assert ask(live, "/metrics", authorization="Bearer hb_read")[0] == 200
    status, headers = ask(live, "/", "token=hb_read")
    assert (status, headers["location"]) == (303, ".")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert ask(live, "/", cookie=cookie.partition(";")[0])[0] == 200


def test_static_files_are_those_of_the_package():
    live = Live({}, Guard())
    files = {path.name for path in (Path(__file__).parents[2] / "src").rglob("serving/static/*")}
    assert {f"/{name}" for name in files} < live.paths
    assert ask(live, "/live.css")[1]["content-type"].startswith("text/css")
