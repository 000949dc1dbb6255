"""F14: links, noises and arm sets whose methods contradict each other are rejected."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from all_parts import examples
from heavybandits.authoring import check_arm_set, check_link, check_noise, mark_stale, uniform
from heavybandits.links import Logistic
from heavybandits.noises import StudentT

UCB = hb.linucb(dim=2, radius=1.0)
PROBLEM = hb.Problem(hb.arms.PerRound(4, 2), hb.links.Identity(), hb.noises.StudentT(3.0))


@pytest.mark.parametrize("kind", ["link", "noise", "arm set"])
def test_the_parts_of_the_library_contradict_nothing(kind: str) -> None:
    checks: Any = {
        "link": lambda part: check_link(part, 2.0),
        "noise": check_noise,
        "arm set": lambda part: check_arm_set(part, norm=100.0),
    }
    parts = [part for part in examples(kind) if not isinstance(part, hb.arms.Rows)]
    assert len(parts) > 3
    for part in parts:
        checks[kind](part)


def variant(base: type, **methods: Any) -> Any:
    """Return a part of a class of its own, with other methods."""
    return type("Mine", (base,), {"__slots__": (), **methods})()


# ---- links

LINKS = {
    "kappa": (lambda self, norm: 9.0, r"kappa <= every slope on \[-1, 1\]; Mine.kappa\(1\) "),
    "lipschitz": (lambda self, norm: 0.1, "lipschitz >= every slope"),
    "bound": (lambda self, norm: 0.001, r"Mine.bound\(1\) is 0.001, but Mine.mean\(1\) is 0.731"),
    "slope": (lambda self, z: 7.0, r"Mine.slope\(.*\) is 7, but Mine.mean rises by 0.1"),
    "mean": (lambda self, z: -z, "derivative of its mean"),
}
BROKEN = {
    "kappa": (lambda self, norm: self.nrom, "'Mine' has no attribute 'nrom'"),
    "bound": (lambda self, norm: None, "must return a finite number, and returned None"),
    "slope": (lambda self, z: "1", "it returned '1', and must return float"),
    "mean": (lambda self, z: 1.0 / 0.0, "ZeroDivisionError"),
    "means": (lambda self, z, out: out.fill(0.0), "at .* it writes 0, but mean is"),
}


@pytest.mark.parametrize("name", LINKS)
def test_a_link_that_contradicts_itself_is_rejected(name: str) -> None:
    method, words = LINKS[name]
    link = variant(Logistic, **{name: method})
    with pytest.raises(hb.InvalidInputError, match=words):
        check_link(link, 1.0)
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.crtm(dim=3, horizon=500, raw_moment=2.0, link=link)
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.simulate(UCB, PROBLEM._replace(link=link), horizon=5)


@pytest.mark.parametrize("name", BROKEN)
def test_a_link_that_does_not_run_names_its_method(name: str) -> None:
    method, words = BROKEN[name]
    with pytest.raises(hb.PartError, match=rf"^Mine\.{name}, line \d+: .*{words}"):
        hb.crtm(dim=3, horizon=500, raw_moment=2.0, link=variant(Logistic, **{name: method}))


class Kinked(NamedTuple):
    """A link with a kink in the middle of its interval, as losses have."""

    def mean(self, z: float) -> float:
        return 2.0 * z if z > 0.0 else 0.5 * z

    def slope(self, z: float) -> float:
        return 2.0 if z > 0.0 else 0.5

    def kappa(self, norm: float) -> float:
        return 0.5

    def lipschitz(self, norm: float) -> float:
        return 2.0

    def bound(self, norm: float) -> float:
        return 2.0 * norm


@pytest.mark.parametrize("norm", [0.1, 1.0, 30.0])
def test_honest_links_are_accepted(norm: float) -> None:
    for link in (Kinked(), variant(Logistic), variant(Logistic, kappa=lambda self, norm: 1e-20)):
        check_link(link, norm)


# ---- noises


def reading(index: int) -> Any:
    return lambda self, key, play: StudentT.draw(self, key, play) + uniform(key, 4 * play + index)


NOISES = {
    "reads another play": (
        {"draw": reading(4)},
        r"Mine\.draw, line \d+: at play 0 it reads uniform 4, which belongs to another play",
    ),
    "reads the choice of a mixture": ({"draw": reading(3)}, "it reads uniform 3, which belongs"),
    "is not finite": ({"draw": lambda self, key, play: math.inf}, "a finite number"),
    "is no number": ({"draw": lambda self, key, play: "1"}, "it returned '1'"),
    "has larger moments": (
        {"draw": lambda self, key, play: 1.5 * StudentT.draw(self, key, play)},
        r"Mine\.moment.*: moment\(0.6, 0\) is .*, but 4096 draws give",
    ),
    "has another mean": (
        {"draw": lambda self, key, play: StudentT.draw(self, key, play) + 0.5},
        r"Mine\.moment.*: moment\(0.6, ",
    ),
    "is not symmetric": ({"location": lambda self: 0.5}, "a symmetric noise has mean 0 or none"),
    "has a fast tail": ({"tail_index": lambda self: -1.0}, "it must return a positive number"),
    "has another centre": (
        {"central_moment": lambda self, order: 3.0},
        r"central_moment\(0.6\) is 3, but moment",
    ),
    "fails": ({"location": lambda self: self.loc}, "'Mine' has no attribute 'loc'"),
}


@pytest.mark.parametrize("name", NOISES)
def test_a_noise_that_contradicts_itself_is_rejected(name: str) -> None:
    class Third(NamedTuple):
        dof: float = 3.0
        scale: float = 1.0

    body = {k: v for k, v in vars(StudentT).items() if k in dir(StudentT) and k[0] != "_"}
    methods, words = NOISES[name]
    names = {key: value for key, value in body.items() if key not in ("dof", "scale")}
    noise = variant(Third, **{**names, **methods})
    with pytest.raises(hb.PartError, match=words):
        check_noise(noise)
    with pytest.raises(hb.PartError, match=words):
        hb.noises.reward_moment(noise, -1.0, 1.0)
    if "draw" in methods and "moment" not in words:
        with pytest.raises(hb.PartError, match=words):
            hb.simulate(UCB, PROBLEM._replace(noise=noise), horizon=5)


class Wrapped(NamedTuple):
    """A noise that holds another may read one uniform more."""

    base: hb.authoring.Noise = StudentT(3.0)

    def draw(self, key: Any, play: int) -> float:
        sign = 1.0 if uniform(key, 4 * play + 3) < 0.5 else -1.0
        return sign * hb.authoring.draw(self.base, key, play)


class Skewed(NamedTuple):
    """A density that is not that of its draws."""

    def draw(self, key: Any, play: int) -> float:
        return -math.log(uniform(key, 4 * play))

    def log_density(self, x: Any) -> Any:
        return -0.5 * np.abs(x) - math.log(4.0)


def test_a_noise_that_holds_another_has_a_uniform_of_its_own() -> None:
    check_noise(Wrapped())


def test_a_density_is_compared_with_draws() -> None:
    with pytest.raises(hb.PartError, match=r"^Skewed.*moment\(.*but 4096 draws give"):
        hb.noises.known(Skewed())


# ---- arm sets


class Pair(NamedTuple):
    """Two arms that stay."""

    dim: int = 2
    size: int = 2
    redraw: Any = "never"

    def make_buffer(self) -> Any:
        return hb.authoring.make_arm_buffer(2, 2)

    def refresh(self, buffer: Any, key: Any, play: int) -> bool:
        buffer.features[0, 0], buffer.features[1, 1] = 1.0, 0.5
        return play == 0

    def top(self, buffer: Any, theta: Any) -> float:
        return hb.authoring.best_score(buffer, theta)

    def maximise(self, buffer: Any, region: Any, width: float) -> int:
        hb.authoring.follow(buffer, region)
        return hb.authoring.pick(buffer, width)


def write(value: Any, returned: bool = True, stale: bool = True) -> Any:
    def refresh(self: Any, buffer: Any, key: Any, play: int) -> bool:
        Pair.refresh(self, buffer, key, play)
        value(buffer, play)
        if stale:
            mark_stale(buffer)
        return returned

    return refresh


CALLS = iter(range(10**6))
SETS = {
    "refresh": [
        (write(lambda b, play: b.features.fill(0.0), False), "it must return True at play 0"),
        (write(lambda b, play: b.penalty.fill(np.inf)), "at least one arm with a finite penalty"),
        (write(lambda b, play: b.penalty.fill(0.0)), "columns beyond `size`"),
        (write(lambda b, play: b.features.fill(np.nan)), "arm 0 is not finite"),
        (write(lambda b, play: b.features.fill(next(CALLS))), "the same arms for the same key"),
        (write(lambda b, play: b.features.fill(0.1 * play)), "the arms change at play 1"),
        (write(lambda b, play: b.features.fill(0.9)), r"arm 0 has norm 1.27, above norm = 1"),
        (lambda self, buffer, key, play: 1.0, "it returned 1.0, and must return bool"),
    ],
    "top": [(lambda self, buffer, theta: 7.0, "it returned 7, but the best available arm has")],
    "maximise": [
        (lambda self, buffer, region, width: 2, "it returned 2, which is none of the available"),
        (lambda self, buffer, region, width: -1, "it returned -1, which is none"),
        (lambda self, buffer, region, width: 0, "it returned 0, but buffer.chosen is another arm"),
        (lambda self, buffer, region, width: hb.authoring.take(buffer, 1) or 1, "but arm 0"),
    ],
    "make_buffer": [
        (lambda self: hb.authoring.make_arm_buffer(3, 2), "it must have room for dim = 2"),
        (lambda self: None, "it must return an ArmBuffer, got NoneType"),
        (lambda self: self.offers, "'Mine' has no attribute 'offers'"),
    ],
}


@pytest.mark.parametrize(
    ("name", "method", "words"),
    [(name, *case) for name, cases in SETS.items() for case in cases],
)
def test_an_arm_set_that_contradicts_itself_is_rejected(name, method, words):
    arms = variant(Pair, **{name: method})
    with pytest.raises(hb.PartError, match=rf"^Mine\.{name}, line \d+: .*{words}"):
        check_arm_set(arms)
    if "norm" not in words:
        with pytest.raises(hb.PartError, match=rf"^Mine\.{name}, line \d+: .*{words}"):
            hb.simulate(UCB, PROBLEM._replace(arms=arms), horizon=5)
        with pytest.raises(hb.PartError, match=rf"^Mine\.{name}, line \d+: .*{words}"):
            hb.Agent(UCB).select(arms)


def test_arms_that_change_without_a_mark_are_found_out() -> None:
    """`follow` keeps the scores of the arms before."""
    rows = np.eye(2), np.eye(2)[::-1]
    moving = write(lambda b, play: np.copyto(b.features[:, :2], rows[play % 2]), stale=False)
    arms = variant(Pair, refresh=moving, redraw="round")
    with pytest.raises(hb.PartError, match="call mark_stale where the arms change"):
        check_arm_set(arms)


def test_honest_arm_sets_are_accepted() -> None:
    check_arm_set(Pair())
    check_arm_set(variant(Pair, refresh=write(lambda b, play: None)))


class RareSale(NamedTuple):
    """1 with a probability that 4,096 draws do not show, else 0, minus the mean."""

    chance: float = 1e-6
    stated: float = 1.0  # times its moments

    def draw(self, key: Any, play: int) -> float:
        return (1.0 if uniform(key, 4 * play) < self.chance else 0.0) - self.chance

    def location(self) -> float:
        return 0.0

    def moment(self, order: float, shift: float = 0.0) -> float:
        p = self.chance
        return self.stated * (
            p * abs(1.0 - p + shift) ** order + (1.0 - p) * abs(shift - p) ** order
        )

    def central_moment(self, order: float) -> float:
        return self.moment(order)

    def symmetric(self) -> bool:
        return False

    def tail_index(self) -> float:
        return math.inf


def test_moments_that_rare_events_carry_are_no_contradiction() -> None:
    check_noise(RareSale())
    check_noise(hb.noises.LogNormal(18.0))
    check_noise(RareSale(0.3))
    for stated in (0.8, 1.2):
        with pytest.raises(hb.PartError, match=r"RareSale\.moment, line"):
            check_noise(RareSale(0.3, stated))
