"""The interactive page in a browser: its numbers are the library's, and everyone can use it."""

import re
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from browser import Browser, find_browser
from paths import DOCS

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="there is no Chromium here: apt-get install chromium"
)
LINE = hb.links.Identity()
HORIZON, EPSILON = 300, 0.4
# What the page calls a policy, what it is told, and the same of the library.
PLAYERS: dict[str, tuple[dict[str, float], Any]] = {
    "LinUCB": ({"radius": 1.5}, hb.linucb(dim=2, radius=1.5)),
    "CRTM": (
        {"horizon": HORIZON, "epsilon": EPSILON, "raw_moment": 0.1, "radius_scale": 0.01},
        hb.crtm(
            dim=2, horizon=HORIZON, epsilon=EPSILON, raw_moment=0.1, radius_scale=0.01, link=LINE
        ),
    ),
    "CRHL": (
        {"epsilon": EPSILON, "noise_scale": 0.3, "radius_scale": 0.1},
        hb.crhl(dim=2, epsilon=EPSILON, noise_scale=0.3, radius_scale=0.1, link=LINE),
    ),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page without the theme around it."""
    folder = tmp_path_factory.mktemp("explore")
    (folder / "_static").symlink_to(DOCS / "_static")
    found = re.search(r"```\{raw\} html\n(<link.*?)```", (DOCS / "explore.md").read_text(), re.S)
    assert found
    path = folder / "explore.html"
    path.write_text(f'<!doctype html><html lang="en"><meta charset="utf-8">{found[1]}</html>')
    return path


@pytest.fixture(scope="module")
def opened():
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(opened, page):
    opened.console.clear()
    opened.show(page, 1200)
    yield opened
    assert opened.console == []


# ---- the same numbers


def plays() -> tuple[list[list[float]], list[float]]:
    """Arms and rewards of a truth at the edge of the ball, with heavy noise and one outlier."""
    rng = np.random.default_rng(3)
    arms = rng.normal(size=(HORIZON, 2))
    arms /= np.maximum(1.0, np.linalg.norm(arms, axis=1))[:, None]
    rewards = arms @ [0.95, 0.3] + 0.3 * rng.standard_t(1.5, HORIZON)
    rewards[100] = -10_000.0
    return arms.tolist(), rewards.tolist()


def learn(policy, arms, rewards):
    """What the library has learned after each reward: as `explore.run` tells it."""
    state = policy.init()
    region = state.estimate.region
    for arm, reward in zip(arms, rewards, strict=True):
        x = np.array(arm)
        policy.learn(state, x, np.array([reward]))
        tally, radius = policy.tally(state), policy.radius.radius(state.estimate, region.counts[0])
        small, large = np.linalg.eigvalsh(region.inverse)
        yield {
            "theta": region.centre.tolist(),
            "cuts": int(tally[2]),
            "projections": int(tally[1]),
            "radius": radius,
            "width": policy.estimate_arm(state, x)[1],
            "long": radius * np.sqrt(large),
            "short": radius * np.sqrt(small),
        }


@pytest.mark.parametrize("name", PLAYERS)
def test_the_page_learns_what_the_library_learns(browser, name):
    constants, policy = PLAYERS[name]
    arms, rewards = plays()
    trace = browser.run(f"explore.run('{name}', {constants}, {arms}, {rewards})")
    assert len(trace) == HORIZON
    for told, mine in zip(trace, learn(policy, arms, rewards), strict=True):
        for key, value in mine.items():
            assert told[key] == pytest.approx(value, rel=1e-9, abs=1e-12), key
    last = trace[-1]
    assert (last["cuts"] >= 3) == (name != "LinUCB")
    assert (last["projections"] >= 3) == (name != "LinUCB")


@pytest.mark.parametrize("name", PLAYERS)
def test_the_page_plays_what_the_library_plays(browser, name):
    constants, policy = PLAYERS[name]
    rng = np.random.default_rng(4)
    arms, noise = rng.uniform(-0.7, 0.7, (8, 2)), 0.3 * rng.standard_t(1.5, HORIZON)
    state, chosen = policy.init(), []
    for t in range(HORIZON):
        arm = int(np.argmax([sum(policy.estimate_arm(state, x)) for x in arms]))
        policy.learn(state, arms[arm], np.array([arms[arm] @ [0.5, 0.6] + noise[t]]))
        chosen.append(arm)
    script = f"""(() => {{
      const policy = explore.make('{name}', {constants}), arms = {arms.tolist()};
      return {noise.tolist()}.map((noise) => {{
        const arm = policy.choose(arms);
        policy.learn(arms[arm], explore.dot(arms[arm], [0.5, 0.6]) + noise);
        return arm;
      }});
    }})()"""
    assert browser.run(script) == chosen
    assert len(set(chosen)) > 1


def test_the_ellipse_is_the_region(browser):
    """Its half axes and angle, against the eigenvectors of V^-1."""
    constants, policy = PLAYERS["CRHL"]
    arms, rewards = plays()
    angle = browser.run(f"explore.run('CRHL', {constants}, {arms}, {rewards})")[-1]["angle"]
    state = policy.init()
    for arm, reward in zip(arms, rewards, strict=True):
        policy.learn(state, np.array(arm), np.array([reward]))
    longest = np.linalg.eigh(state.estimate.region.inverse)[1][:, 1]
    assert abs(longest @ [np.cos(angle), np.sin(angle)]) == pytest.approx(1.0, rel=1e-12)


def test_the_page_draws_the_noise_of_the_library(browser):
    key = np.uint64(0x0123456789ABCDEF)
    noise = hb.noises.StudentT(1.7, 0.4)
    with np.errstate(over="ignore"):  # of 64 bits, as it should
        mine = [noise.draw(key, play) for play in range(200)]
    told = browser.run(
        f"Array.from({{length: 200}}, (_, i) => explore.studentT({int(key)}n, i, 1.7, 0.4))"
    )
    assert told == pytest.approx(mine, rel=1e-12)


@pytest.mark.parametrize(("order", "index"), [(1.16, 1.2), (1.4, 1.5), (2.0, 6.0)])
def test_the_page_knows_the_moments_of_its_noise(browser, order, index):
    told = browser.run(f"explore.studentMoment({order}, {index}, 0.3)")
    assert told == pytest.approx(hb.noises.StudentT(index, 0.3).moment(order), rel=1e-10)


# ---- the page


def press(browser, name):
    browser.run(f"document.getElementById('explore-{name}').click()")


def wait_for_frames(browser):
    frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    browser.call("Runtime.evaluate", expression=frames, awaitPromise=True)


def words(browser):
    return browser.run("document.getElementById('explore-words').textContent")


def set_input(browser, name, value):
    find = f"document.getElementById('explore-{name}')"
    browser.run(f"{find}.value = {value}; {find}.dispatchEvent(new Event('input'))")


def current_round(browser):
    return int(browser.run("document.getElementById('explore').dataset.round"))


def shown(browser, row):
    """One line of the numbers of each panel."""
    return browser.run(
        "[...document.querySelectorAll('.explore-panel dl')].map((list) => [...list.children]"
        f".find((row) => row.firstChild.textContent === '{row}').lastChild.textContent)"
    )


def test_one_reward_throws_linucb_alone_out_of_the_picture(browser):
    before = current_round(browser)
    press(browser, "drop")
    assert current_round(browser) == before + 1
    moved = re.findall(r"(LinUCB|CRTM|CRHL) ([\d.]+)", words(browser))
    assert [float(value) > 1.0 for _, value in moved] == [True, False, False]
    assert "(counted as zero)" in words(browser)
    assert "(clipped)" in words(browser)
    away = "[...document.querySelectorAll('.plane')].map((svg) => !!svg.querySelector('.away'))"
    assert browser.run(away) == [True, False, False]
    label = browser.run("document.querySelector('.plane').getAttribute('aria-label')")
    assert "off the picture" in label


def test_it_plays_pauses_steps_and_starts_again(browser):
    before = current_round(browser)
    press(browser, "step")
    assert current_round(browser) == before + 1
    press(browser, "play")
    wait_for_frames(browser)
    press(browser, "play")
    stopped = current_round(browser)
    assert stopped > before + 1
    wait_for_frames(browser)
    assert current_round(browser) == stopped
    press(browser, "reset")
    assert current_round(browser) == 0
    assert shown(browser, "regret") == ["0.0"] * 3


def test_a_seed_or_a_slider_makes_another_world_and_the_same_one_again(browser):
    first = shown(browser, "estimate")
    for name, other, own in (("seed", 7, 1), ("index", 1.3, 2.5), ("level", 0.8, 0.3)):
        set_input(browser, name, other)
        assert shown(browser, "estimate") != first
        set_input(browser, name, own)
        assert shown(browser, "estimate") == first


@pytest.mark.parametrize("seed", ["''", "-3", "1e9"])
def test_any_seed_will_do(browser, seed):
    set_input(browser, "seed", seed)
    assert "NaN" not in browser.run("document.body.innerHTML")


@pytest.mark.parametrize(("index", "level"), [(1.2, 1.0), (1.2, 0.05), (6.0, 0.05)])
def test_the_ends_of_the_sliders_can_be_drawn(browser, index, level):
    set_input(browser, "index", index)
    set_input(browser, "level", level)
    press(browser, "drop")
    text = browser.run("document.body.innerHTML")
    assert "NaN" not in text
    assert "Infinity" not in text


def test_motion_that_is_not_wanted_is_not_made(opened, page):
    opened.show(page, 1200)
    wish = {"name": "prefers-reduced-motion", "value": "reduce"}
    opened.call("Emulation.setEmulatedMedia", features=[wish])
    wait_for_frames(opened)
    before = current_round(opened)
    assert opened.run("document.getElementById('explore-play').textContent") == "Play 100 rounds"
    press(opened, "play")
    assert current_round(opened) == before + 100
    assert f"Round {before + 100}." in words(opened)
    for _ in range(8):
        press(opened, "play")
    for name in ("step", "drop"):  # at the end of the 1000 rounds they do nothing
        press(opened, name)
        assert current_round(opened) == 1000
    press(opened, "play")
    assert current_round(opened) == 100


def test_the_keyboard_reaches_everything_in_order_and_works_it(browser):
    order = []
    for _ in range(7):
        press_key(browser, "Tab")
        order.append(browser.run("document.activeElement.id.replace('explore-', '')"))
    assert order == ["play", "step", "drop", "reset", "index", "level", "seed"]
    browser.run("document.getElementById('explore-step').focus()")
    before = current_round(browser)
    press_key(browser, " ")
    assert current_round(browser) == before + 1
    browser.run("document.getElementById('explore-index').focus()")
    press_key(browser, "ArrowLeft")
    assert browser.run("document.getElementById('explore-index-value').textContent") == "2.4"


def press_key(browser, key):
    codes = {"Tab": 9, " ": 32, "ArrowLeft": 37}
    given = {"key": key, "windowsVirtualKeyCode": codes[key]}
    text = {"text": " "} if key == " " else {}
    browser.call("Input.dispatchKeyEvent", type="keyDown", **given, **text)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **given)


def test_a_screen_reader_finds_names_for_everything(browser):
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    wanted = ("button", "slider", "spinbutton", "image", "group", "region", "status")
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in wanted
    ]
    roles = [role for role, _ in named]
    assert (roles.count("button"), roles.count("slider"), roles.count("image")) == (4, 2, 7)
    assert [role for role, name in named if not name and role != "status"] == []


def test_it_is_small():
    sources = [path.read_bytes() for path in (DOCS / "_static").glob("explore*.js")]
    assert len(sources) == 2
    assert sum(map(len, sources)) < 25_000
