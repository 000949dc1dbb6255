"""Noises: draws against scipy, moments against independent integrals, bits, checks."""

import math
import sys
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from scipy import integrate, stats

import heavybandits as hb
from heavybandits import noises
from heavybandits.authoring import NOISE, Key, Noise, check_part, draw, stream_key, uniform
from heavybandits.noises import (
    AlphaStable,
    Contaminated,
    Gaussian,
    Laplace,
    LogNormal,
    Outlier,
    Pareto,
    StudentT,
    SymmetricPareto,
    known,
    reward_moment,
)

KEY = stream_key(0, 0, NOISE)
ALL = [
    StudentT(),
    StudentT(0.3, 2.0),
    StudentT(50.0),
    Pareto(),
    Pareto(0.5, 1.0, False),
    SymmetricPareto(),
    SymmetricPareto(0.04),
    Gaussian(2.0),
    Laplace(0.5),
    LogNormal(),
    LogNormal(18.0),
    AlphaStable(),
    AlphaStable(1.0),
    AlphaStable(0.7, -1.0),
    AlphaStable(1.3, 1.0, 3.0),
    AlphaStable(2.0, 0.5),
    AlphaStable(0.01, 0.9),
    Contaminated(StudentT(), Pareto(), 0.2),
    Outlier(Contaminated(Gaussian(), SymmetricPareto(), 0.1), 3, -1e4),
]

MODULES = {sys.modules[type(noise).__module__] for noise in ALL} | {
    sys.modules["heavybandits.parts.noises.draws"]
}


@njit
def fill(noise, key, out):
    for play in range(len(out)):
        out[play] = draw(noise, key, play)
    return out


def sample(noise: Any, count: int = 50_000) -> Any:
    with np.errstate(over="ignore"):  # for the run without compiling
        return fill(noise, KEY, np.empty(count))


def label(noise: Any) -> str:
    return repr(noise)


@pytest.mark.parametrize("noise", ALL, ids=label)
def test_compiled_and_plain_draws_are_equal_in_every_bit(noise):
    with np.errstate(over="ignore"):
        plain = getattr(fill, "py_func", fill)(noise, KEY, np.empty(4000))
    assert np.array_equal(plain.view(np.int64), sample(noise, 4000).view(np.int64))


@pytest.mark.parametrize("noise", ALL, ids=label)
def test_draws_are_addressable_in_any_order(noise):
    forward = sample(noise, 100)
    with np.errstate(over="ignore"):
        backward = [noise.draw(KEY, play) for play in range(99, -1, -1)]
    assert backward[::-1] == forward.tolist()


@pytest.mark.parametrize("noise", ALL, ids=label)
def test_extreme_uniforms_give_numbers(noise, monkeypatch):
    corners = (2.0**-53, 0.5, 0.75, 1.0 - 2.0**-53)
    for numbers in product(corners, repeat=4):
        for module in MODULES:
            monkeypatch.setattr(module, "uniform", lambda key, index, u=numbers: u[index % 4])
        assert not math.isnan(noise.draw(KEY, 0))


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        (StudentT(3.0, 2.0), stats.t(3.0, scale=2.0)),
        (StudentT(0.5), stats.t(0.5)),
        (Pareto(3.0, 0.01), stats.pareto(3.0, loc=-0.015, scale=0.01)),
        (Pareto(0.8, 2.0, False), stats.pareto(0.8, scale=2.0)),
        (Gaussian(2.0), stats.norm(scale=2.0)),
        (Laplace(2.0), stats.laplace(scale=2.0)),
        (LogNormal(0.7, 2.0), stats.lognorm(0.7, loc=-2.0 * math.exp(0.245), scale=2.0)),
        (AlphaStable(2.0, 0.5), stats.norm(scale=math.sqrt(2.0))),
        (AlphaStable(1.0, 0.0, 2.0), stats.cauchy(scale=2.0)),
        (AlphaStable(0.5, 1.0, 3.0), stats.levy(scale=3.0)),
        (Outlier(Gaussian(), 0, 1.0), stats.norm()),
    ],
    ids=lambda value: repr(value) if isinstance(value, tuple) else "",
)
def test_draws_follow_the_law(noise, law):
    assert stats.kstest(sample(noise), law.cdf).pvalue > 0.003


@pytest.mark.parametrize("noise", [AlphaStable(1.5, 0.6, 2.0), AlphaStable(0.8, -0.5)], ids=label)
def test_stable_draws_follow_scipy(noise):
    points = np.quantile(sample(noise), [0.02, 0.2, 0.4, 0.6, 0.8, 0.98])
    exact = stats.levy_stable(noise.alpha, noise.skew, scale=noise.scale).cdf(points)
    assert exact == pytest.approx([0.02, 0.2, 0.4, 0.6, 0.8, 0.98], abs=0.008)


def test_mixtures_draw_from_their_parts():
    base, outlier, share = Gaussian(), SymmetricPareto(minimum=1e6), 0.1
    mixed, pure, far = sample(Contaminated(base, outlier, share)), sample(base), sample(outlier)
    hit = np.abs(mixed) >= 1e6
    assert hit.mean() == pytest.approx(share, abs=0.005)
    assert np.array_equal(mixed, np.where(hit, far, pure))  # base is as it was on all other plays
    side = SymmetricPareto()
    assert np.mean(sample(side) > 0) == pytest.approx(0.5, abs=0.01)
    assert stats.kstest(np.abs(sample(side)), stats.pareto(3.0).cdf).pvalue > 0.003


def test_outlier_is_one_draw():
    pure, hit = sample(Gaussian(), 10), sample(Outlier(Gaussian(), 4, -1e4), 10)
    assert np.flatnonzero(pure != hit).tolist() == [4]
    assert hit[4] == -1e4


def quadrature(function, cuts):
    pieces = pairwise(sorted(cuts))
    return sum(
        integrate.quad(function, a, b, epsabs=1e-14, epsrel=1e-11, limit=500)[0] for a, b in pieces
    )


def by_density(law, order, shift):
    """E|shift + X|^order with x = sinh(y), an integral scipy does to many digits."""

    def term(y):
        return abs(shift + math.sinh(y)) ** order * law.pdf(math.sinh(y)) * math.cosh(y)

    start = law.support()[0]
    cuts = [x for x in (0.0, -shift, 20.0, -20.0) if x > start] + [max(start, -1e26), 1e26]
    return quadrature(term, [math.asinh(x) for x in cuts])


SHIFTED = [0.0, 0.3, -2.0, 50.0]


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        (StudentT(2.0), stats.t(2.0)),
        (StudentT(3.0, 2.0), stats.t(3.0, scale=2.0)),
        (Pareto(3.0, 0.5), stats.pareto(3.0, loc=-0.75, scale=0.5)),
        (Pareto(2.8, 0.5, False), stats.pareto(2.8, scale=0.5)),
        (Gaussian(2.0), stats.norm(scale=2.0)),
        (Laplace(2.0), stats.laplace(scale=2.0)),
    ],
    ids=lambda value: repr(value) if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("shift", SHIFTED)
@pytest.mark.parametrize("order", [0.4, 1.0, 1.5, 2.0])
def test_moments_against_the_density(noise, law, order, shift):
    if order < noise.tail_index():
        expected = by_density(law, order, shift)
        assert noise.moment(order, shift) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sigma", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("shift", [*SHIFTED, math.exp(0.5)])
@pytest.mark.parametrize("order", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_lognormal_moments(sigma, shift, order):
    noise = LogNormal(sigma, 2.0)
    offset = shift - 2.0 * math.exp(0.5 * sigma**2)

    def term(z):
        return abs(offset + 2.0 * math.exp(sigma * z)) ** order * stats.norm.pdf(z)

    root = [math.log(-0.5 * offset) / sigma] if offset < 0 else []
    root = [z for z in root if abs(z) < 30.0]
    expected = quadrature(term, [-30.0, 0.0, order * sigma, *root, 30.0])
    assert noise.moment(order, shift) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("noise", [StudentT(), Gaussian(2.0), Laplace(0.3), LogNormal()], ids=label)
def test_quadrature_meets_the_closed_forms(noise):
    for order in (2.0 - 1e-9, 2.0 + 1e-9):  # these are integrated, order 2 is not
        assert noise.moment(order, 0.7) == pytest.approx(noise.moment(2.0, 0.7), rel=1e-7)
    assert noise.moment(1.3, 1e-14) == pytest.approx(noise.moment(1.3), rel=1e-10)


def test_moments_just_below_the_tail_index():
    raw = Pareto(3.0, 1.0, False)
    for gap in (1e-2, 1e-6):  # E X^p = 3 / gap, and the shift moves only the bounded rest
        assert raw.moment(3.0 - gap, 1e-9) == pytest.approx(3.0 / gap, rel=1e-8)


@pytest.mark.parametrize(("order", "shift"), [*product([0.1, 0.5, 0.9], [0.0, 0.3, -2.0, 1e4])])
def test_cauchy_moments(order, shift):
    size, turn = math.hypot(1.0, shift), math.atan(abs(shift))
    expected = size**order * math.cos(order * turn) / math.cos(0.5 * math.pi * order)
    assert AlphaStable(1.0).moment(order, shift) == pytest.approx(expected, rel=1e-11)
    assert StudentT(1.0).moment(order, shift) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("order", "shift"), [*product([0.1, 0.3, 0.45], [0.0, 0.3, -2.0, 50.0])])
def test_levy_moments(order, shift):
    def term(y):  # x = e^y
        size = abs(math.exp(y) + shift) ** order
        return size * math.exp(-0.5 * (y + math.exp(-y))) / math.sqrt(2.0 * math.pi)

    cuts = [-8.0, 0.0, 5.0, 20.0, 100.0, 500.0, *([math.log(-shift)] if shift < 0 else [])]
    tail = math.exp(500.0 * (order - 0.5)) / ((0.5 - order) * math.sqrt(2.0 * math.pi))
    expected = quadrature(term, cuts) + tail
    assert AlphaStable(0.5, 1.0).moment(order, shift) == pytest.approx(expected, rel=1e-9)
    assert AlphaStable(0.5, -1.0).moment(order, -shift) == pytest.approx(expected, rel=1e-9)
    scaled = AlphaStable(0.5, 1.0, 2.0).moment(order, 2.0 * shift)
    assert scaled == pytest.approx(2.0**order * expected, rel=1e-9)


@pytest.mark.parametrize(
    ("alpha", "skew", "order", "shift"),
    [
        (1.5, 0.0, 1.0, 0.4),
        (1.5, 0.7, 1.3, -3.0),
        (1.5, -1.0, 0.5, 0.0),
        (1.9, 1.0, 1.6, 30.0),
        (1.1, 0.5, 1.0, 30.0),
        (1.01, 1.0, 0.9, 10.0),
    ],
)
def test_stable_moments_from_the_characteristic_function(alpha, skew, order, shift):
    """E|Y|^p = C int (1 - Re phi(t)) t^(-1-p) dt on the real axis, by many Gauss panels."""
    tilt = skew * math.tan(0.5 * math.pi * alpha)
    nodes, weights = np.polynomial.legendre.leggauss(16)

    def term(t):
        phase = tilt * t**alpha + shift * t
        gap = 2.0 * np.sin(0.5 * phase) ** 2 - np.expm1(-(t**alpha)) * np.cos(phase)
        return gap * t ** (-1.0 - order)

    def panels(function, low, high, count):
        edges, half = np.linspace(low, high, count + 1), 0.5 * (high - low) / count
        points = edges[:-1, None] + half * (1.0 + nodes)
        return float(np.sum(half * weights * function(points)))

    end, rate = 100.0 ** (1.0 / alpha), abs(shift) + 3.0 * abs(tilt) + 5.0
    start, bottom = -1.0 - math.log(rate), -150.0
    total = math.exp(bottom) * term(math.exp(bottom)) / (alpha - order)  # there a pure power
    total += panels(lambda y: term(np.exp(y)) * np.exp(y), bottom, start, 1000)
    total += panels(term, math.exp(start), end, int(end * rate)) + end**-order / order
    total *= 2.0 * math.gamma(1.0 + order) * math.sin(0.5 * math.pi * order) / math.pi
    assert AlphaStable(alpha, skew).moment(order, shift) == pytest.approx(total, rel=1e-10)


def test_stable_with_alpha_two_is_gaussian():
    noise, twin = AlphaStable(2.0, 0.9, 3.0), Gaussian(3.0 * math.sqrt(2.0))
    assert noise.moment(1.5, 0.2) == twin.moment(1.5, 0.2)
    assert noise.symmetric()
    assert noise.tail_index() == math.inf


def test_skewed_stable_too_near_one_says_so():
    with pytest.raises(NotImplementedError, match=r"alpha = 1: 1\.00001"):
        AlphaStable(1.00001, 1.0).moment(0.5, 1.0)


@pytest.mark.parametrize("noise", ALL, ids=label)
def test_moments_are_infinite_from_the_tail_index_on(noise):
    index = noise.tail_index()
    if math.isfinite(index):
        assert noise.moment(index) == noise.moment(index + 1.0, 0.5) == math.inf
        assert 0.0 < noise.moment(0.9 * index, 0.5) < math.inf
    assert math.isnan(noise.location()) == (index <= 1.0)
    assert math.isnan(noise.central_moment(2.0)) == (index <= 1.0)


def test_central_moments():
    raw, centred = Pareto(3.0, 0.5, False), Pareto(3.0, 0.5)
    assert raw.central_moment(1.5) == pytest.approx(centred.moment(1.5), rel=1e-12)
    assert raw.central_moment(2.0) == pytest.approx(stats.pareto(3.0, scale=0.5).var(), rel=1e-12)
    assert raw.central_moment(3.0) == math.inf
    mixed = Contaminated(Gaussian(), Pareto(3.0, 1.0, False), 0.25)
    assert mixed.location() == pytest.approx(0.375)
    variance = 0.75 + 0.25 * 3.0 - 0.375**2
    assert mixed.central_moment(2.0) == pytest.approx(variance, rel=1e-12)


def test_mixture_facts():
    wild, calm = SymmetricPareto(0.9), Gaussian()
    assert Contaminated(calm, wild, 0.0).moment(2.0) == calm.moment(2.0)  # not 0 * inf
    assert Contaminated(calm, wild, 0.1).moment(2.0) == math.inf
    assert Contaminated(calm, wild, 1.0).tail_index() == 0.9
    assert Contaminated(calm, wild, 0.1).symmetric()
    assert not Contaminated(calm, Pareto(), 0.1).symmetric()
    outlier = Outlier(Pareto(1.5), 0, 1e9)
    assert (outlier.location(), outlier.symmetric(), outlier.tail_index()) == (0.0, False, 1.5)


kinds: Any = noises  # to be given what their types do not allow


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (StudentT(0.2), r"StudentT\.dof must be above 0\.2, got 0\.2"),
        (StudentT(math.inf), r"StudentT\.dof .* got inf"),
        (kinds.StudentT("3"), r"StudentT\.dof .* got '3'"),
        (StudentT(scale=0.0), r"StudentT\.scale must be positive, got 0\.0"),
        (Pareto(1.0), r"Pareto\.shape must be above 1 when centred.* got 1\.0"),
        (Pareto(0.0, 1.0, False), r"Pareto\.shape must be positive, got 0\.0"),
        (Pareto(minimum=-1.0), r"Pareto\.minimum must be positive, got -1\.0"),
        (SymmetricPareto(math.nan), r"SymmetricPareto\.shape .* got nan"),
        (Gaussian(-1.0), r"Gaussian\.scale"),
        (Laplace(-1.0), r"Laplace\.scale"),
        (LogNormal(19.0), r"LogNormal\.sigma must be in \(0, 18\], got 19\.0"),
        (AlphaStable(2.1), r"AlphaStable\.alpha must be in \(0, 2\], got 2\.1"),
        (AlphaStable(1.5, -1.1), r"AlphaStable\.skew must be in \[-1, 1\], got -1\.1"),
        (AlphaStable(1.0, 0.5), r"AlphaStable\.skew must be 0 when alpha = 1, got 0\.5"),
        (Contaminated(Gaussian(), Gaussian(), 1.5), r"Contaminated\.share must be in \[0, 1\]"),
        (Contaminated(Gaussian(), StudentT(-1.0)), r"StudentT\.dof"),
        (
            Contaminated(Outlier(Contaminated(Gaussian(), Gaussian()), 0, 1.0), Gaussian()),
            r"Contaminated\.base must be a noise that is not itself Contaminated",
        ),
        (Outlier(Gaussian(), -1, 1.0), r"Outlier\.play must be a whole number >= 0, got -1"),
        (
            kinds.Outlier(Gaussian(), 1.5, 1.0),
            r"Outlier\.play must be a whole number >= 0, got 1\.5",
        ),
        (Outlier(Gaussian(), 1, math.nan), r"Outlier\.value must be a finite number, got nan"),
        (
            kinds.Outlier(3.0, 1, 1.0),
            r"Outlier\.base must be a noise: a NamedTuple with draw",
        ),
    ],
    ids=str,
)
def test_refusals_name_the_field_and_the_value(noise, message):
    with pytest.raises(ValueError, match=message):
        check_part("noise", noise, Noise)


def test_good_noises_and_noises_of_your_own_pass():
    class Mine(NamedTuple):
        scale: float = -5.0  # whatever it means there

        def draw(self, key: Any, play: int) -> float:
            return self.scale

    for noise in [*ALL, Mine(), Contaminated(Mine(), Gaussian()), StudentT(3)]:
        check_part("noise", noise, Noise)


def test_reward_moment():
    assert reward_moment(StudentT(3.0), 0.0, 0.731058579) == pytest.approx(3.534446646, abs=2e-9)
    assert reward_moment(Pareto(centred=False), 0.0, 0.731058579) == pytest.approx(0.557, abs=5e-4)
    noise = LogNormal()
    inside = [noise.moment(1.5, mean) for mean in np.linspace(-1.0, 0.8, 9)]
    assert reward_moment(noise, -1.0, 0.8, 0.5) == max(inside) == max(inside[0], inside[-1])
    assert reward_moment(StudentT(2.0), -1.0, 1.0) == math.inf


# ---- a noise that only draws


class Burr(NamedTuple):
    """(U^(-1/shape) - 1)^(1/2): heavy to the right, with tail index 2 shape."""

    shape: float = 1.0

    def draw(self, key: Key, play: int) -> float:
        return math.sqrt(uniform(key, 4 * play) ** (-1.0 / self.shape) - 1.0)


class DenseBurr(Burr):
    """The same with its density."""

    __slots__ = ()

    def log_density(self, x: Any) -> Any:
        x = np.maximum(x, 0.0)
        return math.log(2.0 * self.shape) + np.log(x) - (self.shape + 1.0) * np.log1p(x * x)


def burr_moment(order: float, shape: float) -> float:
    """E eta^p = shape B(1 + p/2, shape - p/2)."""
    logs = math.lgamma(1.0 + 0.5 * order) + math.lgamma(shape - 0.5 * order)
    return shape * math.exp(logs - math.lgamma(1.0 + shape))


def test_moments_by_quadrature():
    law = known(DenseBurr(1.0))
    assert law.how == "quadrature of its density"  # type: ignore[attr-defined]
    for order in (0.5, 1.0, 1.5):
        assert law.moment(order) == pytest.approx(burr_moment(order, 1.0), rel=1e-9)
    assert law.location() == pytest.approx(burr_moment(1.0, 1.0), rel=1e-9)
    assert law.central_moment(1.5) == law.moment(1.5, -law.location())
    assert law.tail_index() == pytest.approx(2.0)
    assert law.moment(2.0) == math.inf
    assert not law.symmetric()
    assert math.isnan(known(DenseBurr(0.5)).location())


def test_moments_from_draws_are_near_and_say_so():
    with pytest.warns(UserWarning, match="Burr only draws, so its moments are taken from") as told:
        law = known(Burr(1.0))
    assert told[0].filename == __file__
    assert law.how == "1048576 draws"  # type: ignore[attr-defined]
    for order in (0.5, 1.0, 1.5):
        assert law.moment(order) == pytest.approx(burr_moment(order, 1.0), rel=0.02)
    assert law.moment(1.0, 0.3) == pytest.approx(known(DenseBurr(1.0)).moment(1.0, 0.3), rel=0.01)
    assert law.location() == pytest.approx(burr_moment(1.0, 1.0), rel=0.01)
    assert law.tail_index() == pytest.approx(2.0, rel=0.05)
    assert law.moment(2.5) == math.inf
    assert not law.symmetric()


def test_a_noise_that_only_draws_may_be_mixed_and_has_a_reward_moment():
    exact = reward_moment(DenseBurr(1.5), 0.0, 1.0, 0.5)
    with pytest.warns(UserWarning, match="only draws"):
        assert reward_moment(Burr(1.5), 0.0, 1.0, 0.5) == pytest.approx(exact, rel=0.01)
    mixed = Contaminated(Gaussian(), DenseBurr(1.5), share=0.5)
    each = [Gaussian().moment(1.0), burr_moment(1.0, 1.5)]
    assert mixed.moment(1.0) == pytest.approx(np.mean(each), rel=1e-9)


def test_a_density_must_be_one():
    class Half(DenseBurr):
        __slots__ = ()

        def log_density(self, x: Any) -> Any:
            return super().log_density(x) - math.log(2.0)

    with pytest.raises(
        hb.InvalidInputError, match=r"Half\.log_density must integrate to 1, got 0\.5"
    ):
        known(Half(1.0))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((0.0, math.nan), "high must be a finite number, got nan"),
        ((math.nan, 0.0), "low must be a finite number, got nan"),
        ((0.0, 1.0, -1.0), "epsilon must"),
        ((0.0, 1.0, -3.0), "epsilon must"),
    ],
)
def test_the_moment_of_nonsense_is_refused(given: Any, words: str):
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.noises.reward_moment(hb.noises.StudentT(3.0), *given)
