"""The algorithms: the papers' numbers, textbook twins over random rounds, the same bits twice."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
import naive
from heavybandits.agents.state import flatten
from heavybandits.core.compile import compiled
from heavybandits.core.confidence_region import _LOGDET
from heavybandits.core.kernels import play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace, play
from heavybandits.core.rng import stream_key
from heavybandits.core.world import STILL

# ---- the paper's numbers (T = 10^6, d = 10, delta = 0.01, epsilon = 1, S = 1, logistic)

PAPER: dict[str, Any] = {"dim": 10, "horizon": 10**6}


def test_constants_of_crtm():
    policy: Any = hb.crtm(**PAPER, raw_moment=3.534446647)
    assert policy.filter.threshold == pytest.approx(18.2690, abs=5e-5)
    assert policy.radius.squared == pytest.approx(2.9342e7, rel=1e-5)
    assert policy.estimator.curvature == pytest.approx(0.196611933 / 2, abs=1e-9)
    assert policy.estimator.penalty == 1.0
    tuned: Any = hb.crtm(**PAPER, raw_moment=3.534446647, radius_scale=1.0)
    assert tuned.radius.squared == pytest.approx(2280.3643, abs=5e-5)


def test_constants_of_crmm():
    policy = hb.crmm(**PAPER, central_moment=3.0)
    assert policy.plays == 317
    assert 10**6 // policy.plays == 3154
    assert policy.radius.radius(None, 0) == 1.0
    assert policy.radius.radius(None, 1) ** 2 == pytest.approx(4.7958e6, rel=1e-5)
    assert policy.radius.radius(None, 3154) ** 2 == pytest.approx(6.46892e6, rel=1e-6)
    tuned = hb.crmm(**PAPER, central_moment=3.0, radius_scale=1.0)
    assert tuned.radius.radius(None, 3154) ** 2 == pytest.approx(57.5701, abs=5e-5)
    assert tuned.radius.radius(None, 0) == 0.0


def test_constants_of_ol2m():
    policy: Any = hb.ol2m(dim=10, curvature="original")
    assert policy.radius.beta == pytest.approx(0.134471, abs=5e-7)
    assert policy.estimator.curvature == pytest.approx(0.134471 / 2, abs=5e-7)
    estimate = policy.estimator.init()
    largest = 10 * math.log(1 + policy.estimator.curvature * 1e6 / 10)
    flatten(estimate)["region.numbers"][_LOGDET] = largest
    assert policy.radius.radius(estimate, 10**6) ** 2 == pytest.approx(3693.65, abs=5e-3)
    tuned = hb.ol2m(dim=10, radius_scale=1.0)
    assert tuned.radius.radius(None, 10**6) ** 2 == pytest.approx(10 * math.log(1e6 + 1))


ARMS = [(1.0, 0.0), (0.6, 0.8), (0.0, 1.0), (0.8, 0.6)]
REWARDS = (0.9, -2.0, 30.0, 0.4)


def trace(policy: Any) -> tuple[list[float], Any, Any]:
    """||x||_{V^-1} before and theta after each of the four forced updates; and the state."""
    state, norms, thetas = policy.init(), [], []
    region = state.estimate.region
    for x, y in zip(ARMS, REWARDS, strict=True):
        norms.append(math.sqrt(np.array(x) @ region.inverse @ np.array(x)))
        policy.learn(state, np.array(x), np.array([y]))
        thetas.append(region.centre.copy())
    return norms, np.array(thetas), state


def test_trace_of_crtm():
    policy = hb.crtm(dim=2, horizon=100, raw_moment=1.0, radius_scale=1.0, truncation=10.0)
    norms, thetas, state = trace(policy)
    assert norms == pytest.approx([1.0, 0.98375684, 0.97085009, 0.91736425], abs=5e-9)
    expected = [
        (0.36419724, 0.0),
        (-0.46234085, -0.88670228),
        (-0.37271539, -0.92794571),
        (-0.30840661, -0.88207257),
    ]
    np.testing.assert_allclose(thetas, expected, atol=5e-9)
    design = [[1.19661193, 0.09437373], [0.09437373, 1.19661193]]
    region = state.estimate.region
    np.testing.assert_allclose(region.design + region.recent, design, atol=5e-9)
    assert tuple(policy.tally(state)) == (4, 2, 1)  # updates, projections, truncations


def test_trace_of_crtm_multipliers():
    """nu of the two projections, by the twin that the library is held against below."""
    twin = naive.Newton(2, "Logistic", hb.links.Logistic().kappa(1.0) / 2, 1.0, 1.0)
    for x, y in zip(ARMS, (0.9, -2.0, 0.0, 0.4), strict=True):
        twin.learn(np.array(x), y)
    assert twin.multipliers == pytest.approx([0.0, 1.19774020, 0.26739410, 0.0], abs=5e-9)


def test_trace_of_ol2m():
    _, thetas, _ = trace(hb.ol2m(dim=2, curvature="original"))
    expected = [
        (0.37480018, 0.0),
        (-0.46965870, -0.88284806),
        (-0.01997808, 0.99980042),
        (-0.18385441, 0.88115414),
    ]
    np.testing.assert_allclose(thetas, expected, atol=5e-9)


# ---- textbook twins

DIM, SIZE = 3, 5
FILTERS: dict[str, tuple[Any, Any]] = {
    "raw": (hb.filters.NoFilter(), naive.raw),
    "truncate": (hb.filters.Truncate(1.5), naive.truncate(1.5)),
    "clip": (hb.filters.Clip(1.5), naive.clip(1.5)),
    "median": (hb.filters.Median(4), naive.median),
    "mean of medians": (hb.filters.MeanOfMedians(7, 3), naive.mean_of_medians(3)),
    "median of means": (hb.filters.MedianOfMeans(7, 3), naive.median_of_means(3)),
    "trimmed mean": (hb.filters.TrimmedMean(5, 0.2), naive.trimmed_mean(0.2)),
}
LINKS = {link: getattr(hb.links, link)() for link in naive.LINKS}


class Row(NamedTuple):
    """A policy, its twin, and how many rounds to run."""

    policy: Any
    twin: naive.Bandit
    rounds: int = 150


def choose(policy: Any, state: Any, features: Any) -> int:
    arms = hb.arms.FromArray(features)
    buffer = arms.make_buffer()
    arms.refresh(buffer, np.uint64(0), 0)
    arm = policy.choose(state, arms, buffer)
    np.testing.assert_array_equal(buffer.chosen, features[arm])
    return arm


def newton_twin(link: str, clean: Any, gamma: Any, norm: float = 1.0, free: bool = False) -> Any:
    kappa = LINKS[link].kappa(norm)
    limit = None if free else norm
    step = naive.Newton(DIM, link, kappa / 2, max(1.0, kappa / 2), limit)
    return naive.Bandit(step, clean, gamma)


def swap_filter(policy: Any, name: str) -> Any:
    return policy._replace(filter=FILTERS[name][0])


def table() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for link, part in LINKS.items():
        kappa, bound = part.kappa(1.0), part.bound(1.0)
        tuned = naive.crtm_tuned(0.01, DIM, 500, kappa, 0.5, 0.01)
        settings: dict[str, Any] = {"dim": DIM, "horizon": 500, "link": part}
        for name, (_, clean) in FILTERS.items():
            policy = hb.crtm(**settings, raw_moment=2.0, epsilon=0.5, radius_scale=0.01)
            rows[f"newton {link} {name}"] = Row(
                swap_filter(policy, name), newton_twin(link, clean, tuned)
            )
        threshold = naive.crtm_threshold(DIM, 500, 0.2, kappa, 1.0, 0.01)
        theory = naive.crtm_theory(DIM, 500, 0.2, kappa, bound, 1.0, 1.0, 0.01)
        rows[f"crtm {link}"] = Row(
            hb.crtm(dim=DIM, horizon=500, raw_moment=0.2, link=part),
            newton_twin(link, naive.truncate(threshold), theory),
            600,
        )
        theory = naive.crmm_theory(DIM, 500, 2.0, kappa, bound, 1.0, 0.7, 0.01, 6)
        rows[f"crmm {link}"] = Row(
            hb.crmm(**settings, central_moment=2.0, epsilon=0.7, plays=6),
            newton_twin(link, naive.median, theory),
        )
        tuned = naive.crmm_tuned(0.1, DIM, kappa, 0.7)
        rows[f"crmm tuned {link}"] = Row(
            hb.crmm(**settings, central_moment=2.0, epsilon=0.7, plays=5, radius_scale=0.1),
            newton_twin(link, naive.median, tuned),
        )
        penalty = max(1.0, kappa / 2)
        rows[f"ol2m {link}"] = Row(
            hb.ol2m(dim=DIM, link=part),
            newton_twin(link, naive.raw, naive.ol2m_theory(1.0, penalty, 0.01)),
            600,
        )
        free = link != "Exponential"  # e^z without a projection leaves the doubles
        rows[f"ol2m tuned {link}"] = Row(
            hb.ol2m(dim=DIM, link=part, radius_scale=0.1, projection="none" if free else "exact"),
            newton_twin(link, naive.raw, naive.ol2m_tuned(0.1, DIM, penalty), free=free),
        )
    for name, (part, clean) in FILTERS.items():
        ridge = naive.Ridge(DIM, 2.0)
        rows[f"linucb {name}"] = Row(
            hb.linucb(dim=DIM, penalty=2.0, noise_scale=0.5, filter=part),
            naive.Bandit(ridge, clean, naive.oful(0.5, 1.0, 2.0, 0.01)),
            300,
        )
    return rows


TABLE = table()


@pytest.mark.parametrize("name", TABLE)
def test_library_and_twin_agree(name):
    """The same arms and rewards; where indices are apart, the same choices; 1e-9 throughout."""
    policy, twin, rounds = TABLE[name]
    rng = np.random.default_rng(len(name) * 1000 + sum(map(ord, name)))
    state = policy.init()
    region = state.estimate.region
    wild = "Exponential" not in name
    for _ in range(rounds):
        features = rng.normal(size=(SIZE, DIM))
        features /= np.maximum(np.linalg.norm(features, axis=1), 1.0)[:, None]
        chosen = choose(policy, state, features)
        indices = twin.indices(features)
        assert indices[chosen] >= indices.max() - 1e-9 * max(1.0, indices.max())
        x = features[chosen]
        rewards = x.sum() + rng.standard_t(1.5 if wild else 3.0, size=policy.plays)
        policy.learn(state, x.copy(), rewards.copy())
        twin.learn(x, rewards)
        scale = max(1.0, float(np.abs(twin.estimator.theta).max()))
        assert np.abs(region.centre - twin.estimator.theta).max() < 1e-9 * scale
    design = region.design + region.recent
    np.testing.assert_allclose(design, twin.estimator.design, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(region.inverse, np.linalg.inv(twin.estimator.design), atol=1e-12)
    check_that_it_acted(name, policy, twin, state)


def check_that_it_acted(name: str, policy: Any, twin: naive.Bandit, state: Any) -> None:
    """No agreement is worth anything if the projection and the filter never did anything."""
    updates, projections, cut = policy.tally(state)
    assert updates == twin.updates
    if isinstance(twin.estimator, naive.Newton):
        assert projections == sum(nu > 0.0 for nu in twin.estimator.multipliers)
        assert (projections > 0) == (twin.estimator.norm is not None), name
    if policy.filter.plays > 1 or hasattr(policy.filter, "threshold"):
        assert twin.changed > 0
    if hasattr(policy.filter, "threshold"):
        assert cut > 0


def test_rescaling_is_the_euclidean_shortcut_and_not_the_projection():
    policy = hb.crtm(dim=2, horizon=100, raw_moment=1.0, radius_scale=1.0, projection="euclidean")
    exact = hb.crtm(dim=2, horizon=100, raw_moment=1.0, radius_scale=1.0)
    _, short, _ = trace(policy._replace(filter=hb.filters.Truncate(10.0)))
    _, right, _ = trace(exact._replace(filter=hb.filters.Truncate(10.0)))
    free = np.array([-0.91003942, -1.86600230])
    np.testing.assert_allclose(short[1], free / np.linalg.norm(free), atol=1e-8)
    assert np.abs(short[1] - right[1]).max() > 0.01


# ---- compiled and uncompiled: the same bits

BITS = {
    "crtm, fresh": (
        hb.crtm(dim=5, horizon=400, raw_moment=1.0, radius_scale=1e-3, truncation=3.0),
        hb.Problem(hb.arms.PerRound(9, 5), hb.links.Logistic(), hb.noises.StudentT(1.5)),
    ),
    "crmm, fixed": (
        hb.crmm(dim=4, horizon=400, central_moment=1.0, plays=4),
        hb.Problem(hb.arms.Fixed(6, 4), hb.links.Logistic(), hb.noises.StudentT(1.5)),
    ),
    "ol2m, frozen": (
        hb.ol2m(dim=1, link=hb.links.Probit()),
        hb.Problem(hb.arms.PerDecision(3, 1), hb.links.Probit(), hb.noises.StudentT(1.5)),
    ),
    "linucb clip, given": (
        hb.linucb(dim=4, filter=hb.filters.Clip(1.0)),
        hb.Problem(
            hb.arms.FromArray(np.eye(4) + 0.1), hb.links.Identity(), hb.noises.StudentT(1.5)
        ),
    ),
    "newton trimmed, box": (
        hb.policies.UCB(
            hb.estimators.OnlineNewton(
                4, hb.links.Exponential(), 0.2, 1.0, hb.estimators.EuclideanProjection(1.0)
            ),
            hb.filters.TrimmedMean(5, 0.25),
            hb.radii.LogRadius(0.1, 1.0, 0.3),
        ),
        hb.Problem(
            hb.arms.Box(-np.ones(4) / 2, np.ones(4) / 2),
            hb.links.Exponential(),
            hb.noises.StudentT(1.5),
        ),
    ),
    "linucb medians, ball": (
        hb.policies.UCB(
            hb.estimators.OnlineNewton(
                4, hb.links.Identity(), 0.5, 1.0, hb.estimators.NoProjection()
            ),
            hb.filters.MeanOfMedians(7, 3),
            hb.radii.Constant(0.5),
        ),
        hb.Problem(hb.arms.UnitBall(4), hb.links.Identity(), hb.noises.StudentT(1.5)),
    ),
    "linucb means, sphere": (
        hb.linucb(dim=3, radius=0.5, filter=hb.filters.MedianOfMeans(7, 3)),
        hb.Problem(hb.arms.UnitSphere(3), hb.links.Identity(), hb.noises.StudentT(1.5)),
    ),
}


@pytest.mark.parametrize("name", BITS)
def test_compiled_and_uncompiled_agree_in_every_bit(name):
    policy, problem = BITS[name]
    theta, key = np.full(policy.dim, 0.4), stream_key(3, 0, 0)
    noise = np.random.default_rng(1).standard_t(1.5, size=403)
    checkpoints = np.array([1, 50, 403])
    runs = []
    for mode in ("uncompiled", "compiled"):
        state, buffer, episode = (
            policy.init(),
            problem.arms.make_buffer(),
            make_episode(policy.plays),
        )
        trace: Any = make_trace(checkpoints)
        setting = (policy, state, problem.arms, problem.link, theta, buffer, key)
        arguments: Any = (*setting, noise, episode, trace, Unobserved(), STILL)
        with np.errstate(over="ignore"):
            (play if mode == "uncompiled" else compiled(play_kernel, *arguments))(*arguments)
        runs.append(
            {
                **flatten(state),
                **flatten(buffer, "buffer"),
                **flatten(episode, "run"),
                **flatten(trace),
            }
        )
    for field, array in runs[0].items():
        assert array.tobytes() == runs[1][field].tobytes(), field
    assert runs[0]["updates"][-1] == 403 // policy.plays


# ---- refusals

SIZES: dict[str, Any] = {"dim": 3, "horizon": 100}
RAW, CENTRAL = SIZES | {"raw_moment": 1.0}, SIZES | {"central_moment": 1.0}
MAKES: list[tuple[Any, dict[str, Any], str]] = [
    (hb.crtm, RAW, "raw_moment"),
    (hb.crmm, CENTRAL, "central_moment"),
]


@pytest.mark.parametrize(("make", "good", "moment"), MAKES)
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"dim": 0}, "dim must be a whole number >= 1, got 0"),
        ({"dim": 2.5}, "dim must be a whole number"),
        ({"dim": True}, "dim must be a whole number"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"horizon": 1e6}, "horizon must be a whole number"),
        ({"moment": 0.0}, "moment must be positive"),
        ({"moment": math.inf}, "moment must be a finite number, got inf"),
        ({"moment": "3"}, "moment must be a finite number"),
        ({"epsilon": 0.0}, r"epsilon must be in \(0, 1\], got 0.0"),
        ({"epsilon": 1.01}, r"epsilon must be in \(0, 1\], got 1.01"),
        ({"epsilon": math.nan}, "epsilon must be a finite number"),
        ({"delta": 0.0}, r"delta must be in \(0, 1\)"),
        ({"delta": 1.0}, r"delta must be in \(0, 1\)"),
        ({"norm": 0.0}, "norm must be positive"),
        ({"norm": -1.0}, "norm must be positive"),
        ({"radius_scale": 0.0}, "radius_scale must be positive"),
        ({"radius_scale": math.nan}, "radius_scale must be a finite number"),
        ({"projection": "l1"}, "projection must be one of exact, euclidean, none, got 'l1'"),
    ],
    ids=repr,
)
def test_bad_constants_are_refused(make, good, moment, bad, words):
    if "moment" in bad:
        bad, words = {moment: bad["moment"]}, words.replace("moment", moment)
    with pytest.raises(hb.InvalidInputError, match=words):
        make(**{**good, **bad})


@pytest.mark.parametrize("radius_scale", [None, 1.0])
@pytest.mark.parametrize("name", ["moment", "epsilon", "delta", "horizon"])
def test_no_constant_escapes_because_another_makes_it_needless(radius_scale, name):
    for make, good, moment in MAKES:
        wrong = moment if name == "moment" else name
        with pytest.raises(hb.InvalidInputError, match=wrong):
            make(**{**good, "radius_scale": radius_scale, wrong: -1})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hb.crtm(**RAW, truncation=-1.0), "truncation must be positive"),
        (lambda: hb.crtm(**RAW, truncation=math.nan), "truncation must be a finite number"),
        (lambda: hb.crmm(**CENTRAL, plays=0), "plays must be a whole number >= 1"),
        (lambda: hb.crmm(**CENTRAL | {"plays": 2.0}), "plays must be a whole number"),
        (lambda: hb.ol2m(dim=0), "dim must be"),
        (lambda: hb.ol2m(dim=3, delta=2.0), "delta must be in"),
        (lambda: hb.ol2m(dim=3, radius_scale=1.0, delta=2.0), "delta must be in"),
        (
            lambda: hb.ol2m(dim=3, curvature="newton"),
            "curvature must be one of half, kappa, original, local",
        ),
        (lambda: hb.ol2m(dim=3, curvature=-1.0), "curvature must be positive"),
        (lambda: hb.linucb(dim=-1), "dim must be"),
        (lambda: hb.linucb(dim=3, penalty=0.0), "penalty must be positive"),
        (lambda: hb.linucb(dim=3, noise_scale=0.0), "noise_scale must be positive"),
        (lambda: hb.linucb(dim=3, radius=1.0, noise_scale=0.0), "noise_scale must be positive"),
        (lambda: hb.linucb(dim=3, radius=1.0, norm=-1.0), "norm must be positive"),
        (lambda: hb.linucb(dim=3, delta=0.0), "delta must be in"),
        (lambda: hb.linucb(dim=3, radius=1e300), "radius must be in"),
    ],
)
def test_other_bad_constants_are_refused(call, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        call()


def test_infinite_truncation_is_no_truncation():
    assert hb.crtm(**RAW, truncation=math.inf).filter == hb.filters.NoFilter()
