"""CRHL, CRCM and their rivals: twins, bits, refusals. To add an algorithm, add rows to TABLE."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

import heavybandits as hb
import naive
import naive_beyond as twins
from heavybandits.agents.state import flatten
from heavybandits.core.compile import compiled
from heavybandits.core.confidence_region import (
    REPAIR_EVERY,
    clipped_count,
    fallback_count,
    projection_count,
)
from heavybandits.core.dispatch import means
from heavybandits.core.kernels import play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace, play
from heavybandits.core.rng import stream_key
from heavybandits.core.world import STILL
from heavybandits.estimators import BallProjection, HuberNewton
from heavybandits.filters import NoFilter
from heavybandits.parts.estimators import batch_huber
from heavybandits.policies import UCB
from heavybandits.radii import Constant, LogRadius

DIM, SIZE = 3, 5
LINKS = {name: getattr(hb.links, name)() for name in naive.LINKS}


class Row(NamedTuple):
    """A policy, its twin, how many rounds to run, and what must have happened by then."""

    policy: Any
    twin: Any
    rounds: int = 200
    noise: float = 1.0
    acts: tuple[str, ...] = ("cuts", "projected")


def slopes(link: str, norm: float = 1.0) -> tuple[float, float]:
    return LINKS[link].kappa(norm), LINKS[link].lipschitz(norm)


def crhl_rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for link in LINKS:
        for eps, T in ((1.0, 500), (0.3, None)):
            given: dict[str, Any] = {"dim": DIM, "noise_scale": 0.2, "epsilon": eps}
            twin = twins.crhl(DIM, link, *slopes(link), 0.2, T=T, eps=eps)
            # with the theorem's radius nothing is clipped, and seldom projected
            policy = hb.crhl(link=LINKS[link], horizon=T, **given)
            rows[f"crhl {link} {eps} {T}"] = Row(policy, twin, acts=())
            tuned = twins.crhl_tuned(DIM, link, *slopes(link), 0.2, 0.1, eps=eps)
            policy = hb.crhl(link=LINKS[link], horizon=T, radius_scale=0.1, **given)
            rows[f"crhl tuned {link} {eps}"] = Row(policy, tuned)
    lies: dict[str, Any] = {
        "dim": DIM,
        "noise_scale": 0.3,
        "corruption": 2.0,
        "link": hb.links.Logistic(),
    }
    twin = twins.crhl(DIM, "Logistic", *slopes("Logistic"), 0.3, T=300, C=2.0)
    rows["crhl corrupted"] = Row(hb.crhl(horizon=300, **lies), twin, acts=())
    twin = twins.crhl(DIM, "Logistic", *slopes("Logistic"), 0.3, C=2.0, tau0=3.0, delta=0.3)
    policy = hb.crhl(threshold=3.0, delta=0.3, **lies)
    rows["crhl corrupted anytime"] = Row(policy, twin, acts=())
    twin = twins.crhl_tuned(DIM, "Logistic", *slopes("Logistic"), 0.3, 0.1, C=2.0)
    rows["crhl corrupted tuned"] = Row(hb.crhl(radius_scale=0.1, **lies), twin)
    twin = twins.crhl_tuned(
        DIM, "Probit", *slopes("Probit", 2.0), 0.3, 0.2, S=2.0, lam=0.5, tau0=0.1
    )
    policy = hb.crhl(
        dim=DIM, noise_scale=0.3, norm=2.0, penalty=0.5, radius_scale=0.2, threshold=0.1,
        link=hb.links.Probit(),
    )  # fmt: skip
    rows["crhl of another ball"] = Row(policy, twin)
    return rows


def every_term() -> Row:
    """A radius so small that each term of sigma is the largest in some rounds, for long."""
    volume = LogRadius(DIM, 1.0)
    step = HuberNewton(
        DIM, hb.links.Identity(), 1.0, 1.0, BallProjection(1.0), noise_scale=0.05, threshold=0.05,
        power=1 / 6, radius=Constant(0.49), volume=volume, least=0.05, steady=4.0, doubt=40.0,
        corruption=1.7,
    )  # fmt: skip
    twin = twins.Huber(
        DIM, "Identity", 1.0, 1.0, nu=0.05, tau0=0.05, beta=lambda t: 0.7, eps=0.5,
        sigma_min=0.05, corruption=lambda t: 1.7 / math.sqrt(DIM * math.log(1 + t)),
    )  # fmt: skip
    policy = UCB(step, NoFilter(), Constant(0.49))
    return Row(policy, twins.Bandit(twin, lambda t: 0.7), 3000, noise=0.3)


def hvt_rows() -> dict[str, Row]:
    given: dict[str, Any] = {"dim": DIM, "noise_scale": 0.2, "epsilon": 0.5}
    tuned = twins.crhl_tuned(
        DIM, "Identity", 1.0, 1.0, 0.2, 0.1, eps=0.5, lam=DIM, tau0=0.3, alpha=4.0
    )
    return {
        "hvt": Row(
            hb.hvt_ucb(horizon=1000, **given), twins.hvt_ucb(DIM, 1000, 0.2, eps=0.5), acts=()
        ),
        "hvt tuned": Row(hb.hvt_ucb(horizon=1000, radius_scale=0.1, threshold=0.3, **given), tuned),
    }


def crcm_rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for link in LINKS:
        kappa, L = slopes(link)
        for eps, k in ((1.0, 5), (0.3, 6)):
            given: dict[str, Any] = {"dim": DIM, "horizon": 500, "central_moment": 0.5, "plays": k}
            beta = twins.crcm_beta(DIM, 0.5, kappa, L, eps=eps)
            rows[f"crcm {link} {eps}"] = Row(
                hb.crcm(link=LINKS[link], epsilon=eps, **given),
                twins.crcm(DIM, link, kappa, L, k, beta),
                120,
                noise=300.0 if link == "Exponential" else 3.0,
                acts=("projected",),
            )
    lam = max(1.0, 16 * slopes("Logistic")[1] ** 2 / slopes("Logistic")[0])
    tuned = twins.huber_tuned(0.1, DIM, 0.5, lam)
    given = {"dim": DIM, "horizon": 500, "central_moment": 0.5, "epsilon": 0.5, "radius_scale": 0.1}
    rows["crcm tuned"] = Row(
        hb.crcm(plays=7, **given),
        twins.crcm(DIM, "Logistic", *slopes("Logistic"), 7, tuned),
        2000,
        noise=0.5,
        acts=("projected",),
    )
    tuned = twins.huber_tuned(0.1, DIM, 0.5, 16.0)
    rows["crcm free"] = Row(
        hb.crcm(plays=2, projection="none", link=hb.links.Identity(), **given),
        twins.crcm(DIM, "Identity", 1.0, 1.0, 2, tuned, norm=None),
        acts=(),
    )
    return rows


def batch_rows() -> dict[str, Row]:
    sizes: dict[str, Any] = {"dim": DIM, "horizon": 200, "noise_scale": 0.2}
    rows = {
        "heavy": Row(
            hb.heavy_oful(**sizes, epsilon=0.5),
            twins.heavy_oful(DIM, 200, 0.2, eps=0.5),
            60,
            acts=(),
        ),
        "heavy tuned": Row(
            hb.heavy_oful(**sizes, epsilon=0.5, radius_scale=0.1, threshold=0.3),
            twins.batch_tuned(
                DIM, "Identity", 1.0, 0.2, 0.1, psi=twins.huber_psi, eps=0.5, tau0=0.3,
                every_round_until=20,
            ),
            80,
        ),
    }  # fmt: skip
    for link in ("Identity", "Logistic", "Exponential"):
        kappa, L = slopes(link)
        rows[f"gada {link}"] = Row(
            hb.gada_oful(**sizes, link=LINKS[link], corruption=3.0),
            twins.gada_oful(DIM, 200, 0.2, link, kappa, L, C=3.0),
            40,
            acts=(),
        )
        rows[f"gada tuned {link}"] = Row(
            hb.gada_oful(**sizes, link=LINKS[link], radius_scale=0.1),
            twins.batch_tuned(
                DIM, link, kappa, 0.2, 0.1, psi=twins.pseudo_psi, every_round_until=20
            ),
            80,
        )
    return rows


TABLE = {
    **crhl_rows(),
    "crhl every term": every_term(),
    **hvt_rows(),
    **crcm_rows(),
    **batch_rows(),
}


TERMS = {"crhl every term": {0, 1, 2, 3}, "crhl corrupted tuned": {0, 3}}  # of sigma, that act


def choose(policy: Any, state: Any, features: Any) -> int:
    arms = hb.arms.FromArray(features)
    buffer = arms.make_buffer()
    arms.refresh(buffer, np.uint64(0), 0)
    return policy.choose(state, arms, buffer)


@pytest.mark.parametrize("name", TABLE)
def test_library_and_twin_agree(name, monkeypatch):
    """The same arms and rewards; where indices are apart, the same choices; 1e-9 throughout."""
    monkeypatch.setattr(batch_huber, "EVERY_ROUND", 20 if "tuned" in name else 10**9)
    policy, twin, rounds, noise, acts = TABLE[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    state = policy.init()
    region = state.estimate.region
    for t in range(rounds):
        features = rng.normal(size=(SIZE, DIM))
        features /= np.maximum(np.linalg.norm(features, axis=1), 1.0)[:, None]
        features *= 0.2 if t % 7 == 0 else 1.0
        chosen = choose(policy, state, features)
        indices = twin.indices(features)
        assert indices[chosen] >= indices.max() - 1e-9 * max(1.0, indices.max())
        x = features[chosen]
        rewards = x.sum() + noise * rng.standard_t(1.8, size=policy.plays)
        policy.learn(state, x.copy(), rewards.copy())
        twin.learn(x, rewards)
        assert np.abs(region.centre - twin.estimator.theta).max() < 1e-9
    np.testing.assert_allclose(region.design + region.recent, twin.estimator.design, rtol=1e-11)
    updates, projections, cut = policy.tally(state)
    assert (updates, projections) == (rounds, twin.estimator.projected)
    assert cut == getattr(twin.estimator, "cuts", 0)
    for happening in acts:
        assert getattr(twin.estimator, happening) > 0, happening
    if name in TERMS:
        assert set(twin.estimator.terms) == TERMS[name]


# ---- many means at once


class Steeper(hb.links.Logistic):
    """The logistic link at twice the argument."""

    __slots__ = ()

    def mean(self, z: float) -> float:
        return 1.0 / (1.0 + math.exp(-2.0 * z))


@pytest.mark.parametrize("name", LINKS)
def test_many_means_are_those_of_each_and_compiled_to_the_same_bits(name):
    link = LINKS[name]
    z = np.concatenate([np.linspace(-3, 3, 301), [-1e308, -700.0, -41.0, 0.0, -0.0, 41.0, 1e308]])
    many, fast = np.full(z.size, np.nan), np.full(z.size, np.nan)
    means(link, z, many)
    njit(lambda z, out: means(link, z, out))(z, fast)
    np.testing.assert_allclose(many, [link.mean(each) for each in z], rtol=1e-15, atol=2e-15)
    np.testing.assert_array_equal(many, fast)


def test_a_link_that_changes_the_mean_does_not_inherit_the_means():
    out = np.empty(1)
    means(Steeper(), np.array([1.0]), out)
    assert out[0] == Steeper().mean(1.0) != hb.links.Logistic().mean(1.0)


# ---- compiled and uncompiled: the same bits

BITS: dict[str, Any] = {
    "crhl": hb.crhl(dim=3, noise_scale=0.2, epsilon=0.5, radius_scale=0.1),
    "crhl, horizon": hb.crhl(dim=3, noise_scale=0.2, epsilon=0.5, horizon=300, corruption=1.0),
    "crhl, anytime": hb.crhl(dim=3, noise_scale=0.2, corruption=1.0),
    "crhl, every term": every_term().policy,
    "crcm": hb.crcm(dim=3, horizon=300, central_moment=1.0, plays=5),
    "crcm, many plays": hb.crcm(dim=3, horizon=300, central_moment=1.0, radius_scale=0.1, plays=19),
    "crcm, tuned": hb.crcm(dim=3, horizon=300, central_moment=1.0, radius_scale=0.1, plays=4),
    "hvt": hb.hvt_ucb(dim=3, horizon=300, noise_scale=0.2),
    "heavy": hb.heavy_oful(dim=3, horizon=300, noise_scale=0.2, radius_scale=0.1, threshold=0.3),
    "gada": hb.gada_oful(dim=3, horizon=300, noise_scale=0.2, link=hb.links.Exponential()),
    "local": hb.ol2m(dim=3, link=hb.links.Probit(), curvature="local"),
}


@pytest.mark.parametrize("name", BITS)
def test_compiled_and_uncompiled_agree_in_every_bit(name):
    policy, arms, link = BITS[name], hb.arms.Fixed(6, 3, -1.0), hb.links.Logistic()
    theta, key = np.full(3, 0.4), stream_key(3, 0, 0)
    noise = np.random.default_rng(1).standard_t(1.5, size=253)
    runs: list[dict[str, Any]] = []
    for mode in ("uncompiled", "compiled"):
        state, buffer, episode = policy.init(), arms.make_buffer(), make_episode(policy.plays)
        trace = make_trace(np.array([1, 50, 253]))
        setting = (policy, state, arms, link, theta, buffer, key)
        arguments: Any = (*setting, noise, episode, trace, Unobserved(), STILL)
        with np.errstate(over="ignore"):
            (play if mode == "uncompiled" else compiled(play_kernel, *arguments))(*arguments)
        runs.append({**flatten(state), **flatten(buffer, "buffer"), **flatten(trace)})
    for field, array in runs[0].items():
        assert array.tobytes() == runs[1][field].tobytes(), field
    assert runs[0]["updates"][-1] == 253 // policy.plays


def test_a_noise_scale_may_come_with_every_reward():
    policy = hb.crhl(dim=2, noise_scale=0.1, radius_scale=0.1, link=hb.links.Identity())
    twin = twins.crhl_tuned(2, "Identity", 1.0, 1.0, 0.1, 0.1).estimator
    state: Any = policy.init()
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, nu = rng.uniform(-0.7, 0.7, size=2), float(rng.uniform(0.05, 2.0))
        y = x.sum() / 2 + nu * rng.standard_t(2.0)
        state.estimate.noise_scale[0] = nu
        policy.learn(state, x, np.array([y]))
        twin.learn(x, [y], nu)
        assert np.abs(state.estimate.region.centre - twin.theta).max() < 1e-9
    assert clipped_count(state.estimate.region) == twin.cuts > 0
    assert projection_count(state.estimate.region) == twin.projected > 0


def test_the_noise_scale_of_a_reward_matters():
    """Told which rewards are noisy, CRHL ends nearer to theta* than when told one number."""
    errors: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for told in errors:
            rng = np.random.default_rng(seed)
            policy = hb.crhl(dim=2, noise_scale=1.0, radius_scale=0.1, link=hb.links.Identity())
            state: Any = policy.init()
            for _ in range(300):
                x = rng.normal(size=2)
                x /= np.linalg.norm(x)
                nu = 0.1 if rng.random() < 0.3 else 3.0
                state.estimate.noise_scale[0] = nu if told else 1.0
                policy.learn(state, x, np.array([x @ [0.6, -0.3] + nu * rng.standard_t(3.0)]))
            errors[told].append(float(np.linalg.norm(state.estimate.region.centre - [0.6, -0.3])))
    assert np.mean(errors[True]) < 0.5 * np.mean(errors[False])


def test_an_arm_of_zeros_teaches_nothing():
    policy: Any = hb.crhl(dim=2, noise_scale=1.0)
    state = policy.init()
    policy.learn(state, np.array([0.6, 0.2]), np.array([1.0]))
    before = state.estimate.region.centre.copy()
    policy.learn(state, np.zeros(2), np.array([1e50]))
    np.testing.assert_array_equal(state.estimate.region.centre, before)
    assert clipped_count(state.estimate.region) == 0
    assert np.isfinite(state.estimate.region.inverse).all()


@pytest.mark.parametrize("name", [name for name in BITS if name != "crcm, tuned"])
def test_wild_rewards_leave_finite_numbers_and_can_be_outlived(name):
    """A reward of 1e100 is clipped, projected or outvoted, and the estimate comes back."""
    policy, rng = BITS[name], np.random.default_rng(4)
    state = policy.init()
    region = state.estimate.region
    for t in range(60):
        x = rng.normal(size=3)
        x /= np.linalg.norm(x)
        rewards = 0.5 + 0.1 * rng.normal(size=policy.plays)
        rewards[0] = {7: 1e100, 8: -1e100, 9: 1e300}.get(t, rewards[0])
        policy.learn(state, x, rewards)
        assert np.isfinite(region.centre).all()
    assert np.linalg.norm(region.centre) <= 1.0 + 1e-9


def test_a_fit_that_overflows_starts_anew_and_is_counted():
    policy: Any = hb.gada_oful(dim=3, horizon=60, noise_scale=1.0, link=hb.links.Logistic())
    policy = policy._replace(estimator=policy.estimator._replace(threshold=1e100))
    state, x = policy.init(), np.array([0.6, -0.5, 0.4])
    for reward in (1e100, -3e98, 1.5, -1e100, 1.0):
        with np.errstate(all="ignore"):  # compiled code does not warn
            policy.learn(state, x, np.array([reward]))
        assert all(np.isfinite(array).all() for array in flatten(state).values())
    assert fallback_count(state.estimate.region) > 0


def test_corruption_without_a_volume_is_refused():
    ball, beta = BallProjection(1.0), LogRadius(2.0, 2.0)
    shared = (2, hb.links.Identity(), 1.0, 1.0, ball, 1.0, 0.5, 0.0, beta, Constant(0.0))
    estimator = HuberNewton(*shared, corruption=1.0)
    with pytest.raises(hb.InvalidInputError, match="volume must be positive where corruption is"):
        hb.Agent(UCB(estimator, NoFilter(1), beta))


@pytest.mark.parametrize(("dim", "plays"), [(1, 1), (3, 6), (4, 19)])
def test_columns_agree_with_their_distances_after_a_wild_reward(dim, plays):
    policy: Any = hb.crcm(dim=dim, horizon=300, central_moment=1.0, plays=plays)
    state, rng = policy.init(), np.random.default_rng(5)
    for t in range(40):
        rewards = rng.standard_t(1.5, size=plays)
        rewards[t % plays] *= 1e90 if t % 10 == 0 else 1.0
        policy.learn(state, rng.uniform(-0.5, 0.5, dim), rewards)
        check_distances(state.estimate)
    assert projection_count(state.estimate.region) > 10


def check_distances(estimate: Any) -> None:
    """The distances are those of the columns, and the centre is the column in their midst."""
    design = estimate.region.design + estimate.region.recent
    away = estimate.thetas[:, :, None] - estimate.thetas[:, None, :]
    squares = np.einsum("ijs,im,mjs->js", away, design, away)
    below = np.tril_indices(len(squares), -1)
    np.testing.assert_allclose(estimate.gaps[below], squares[below], rtol=0.0, atol=1e-9)
    medians = np.median(np.sqrt(np.maximum(squares, 0.0)), axis=1)
    centre = int(np.argmin(np.abs(estimate.thetas - estimate.region.centre[:, None]).sum(0)))
    assert (estimate.thetas[:, centre] == estimate.region.centre).all()
    assert medians[centre] == pytest.approx(medians.min(), rel=1e-9, abs=1e-9)


def test_distances_do_not_drift():
    policy: Any = hb.crcm(dim=2, horizon=5000, central_moment=1.0, plays=3, radius_scale=0.1)
    state, rng = policy.init(), np.random.default_rng(6)
    state.estimate.gaps[:] = 7.0  # as if read from a file whose distances are made otherwise
    for _ in range(REPAIR_EVERY + 2):
        policy.learn(state, rng.uniform(-0.7, 0.7, 2), rng.standard_t(2.5, size=3))
    check_distances(state.estimate)


# ---- theory


@pytest.mark.parametrize("sharper", [False, True])
@pytest.mark.parametrize("corruption", [0.0, 3.0])
@pytest.mark.parametrize("horizon", [5000, None])
@pytest.mark.parametrize("epsilon", [1.0, 0.4])
def test_the_theory_of_crhl_is_that_of_its_page(epsilon, horizon, corruption, sharper):
    d, nu, S, lam, (kappa, L) = 4, 0.7, 1.5, 2.0, (0.15, 0.25)
    made = twins.HuberConstants(
        d, kappa, L, nu, T=horizon, eps=epsilon, S=S, lam=lam, C=corruption, sharp=sharper
    )
    promise = hb.theory.huber_theorem(
        dim=d, noise_scale=nu, kappa=kappa, lipschitz=L, norm=S, epsilon=epsilon, horizon=horizon,
        penalty=lam, corruption=corruption, sharper=sharper,
    )  # fmt: skip
    region, volume = promise.region(), promise.volume_region()
    for t in (1, 7, 5000):
        assert promise.volume(t) == pytest.approx(made.K(t))
        assert promise.radius(t) == pytest.approx(made.beta(t))
        assert region.radius(None, t) == pytest.approx(made.beta(t))
        assert volume.radius(None, t) == pytest.approx(math.sqrt(made.K(t)))
    assert region.radius(None, 0) == pytest.approx(made.beta(0))
    T, K, tau0, c, steady = 5000, made.K(5000), made.tau0, made.factor, made.steady
    J = max(made.l(T), tau0 ** (-1 - epsilon) * K ** ((1 + epsilon) / 2))
    seldom = steady**2 * L**2 / kappa**2 + 2 * c * L / kappa * J
    seldom += 2 * L * S * math.sqrt(lam / kappa) / tau0
    lies = 1.0625 * corruption * math.sqrt(K / kappa) * (1 if horizon else 2)
    inner = 1.031 * math.sqrt(K * T * nu**2 / kappa) + 1.0625 * K / math.sqrt(lam) * seldom + lies
    assert promise.regret(T) == pytest.approx(2 * L * made.beta(T) * inner)


def test_the_sharper_constant_is_below_eight_for_every_epsilon():
    for epsilon in (1e-9, 0.1, 0.5, 1.0):
        assert 5.0 < hb.theory.huber_factor(epsilon=epsilon, sharper=True) < 8.0
        assert hb.theory.huber_factor(epsilon=epsilon, sharper=True, corrupted=True) < 11.0


# ---- curvature


@pytest.mark.parametrize(("make", "moment"), [(hb.crtm, "raw_moment"), (hb.crmm, "central_moment")])
def test_curvatures_of_the_paper_s_algorithms(make, moment):
    given: dict[str, Any] = {"dim": 2, "horizon": 100, moment: 1.0}
    kappa = hb.links.Logistic().kappa(1.0)
    assert make(**given).estimator.curvature == kappa / 2
    assert make(**given, curvature="kappa").estimator.curvature == kappa
    assert make(**given, curvature=0.3).estimator.curvature == 0.3
    assert isinstance(make(**given, curvature="local").estimator, hb.estimators.LocalNewton)
    with pytest.raises(
        hb.InvalidInputError, match="curvature must be one of half, kappa, local or a"
    ):
        make(**given, curvature="original")


def test_the_local_step_is_newton_s_with_the_slope_at_hand():
    link, rng = hb.links.Exponential(), np.random.default_rng(0)
    policy = hb.ol2m(dim=3, link=link, curvature="local", radius_scale=0.1)
    twin, state = naive.Newton(3, "Exponential", 0.0, 1.0, 1.0), policy.init()
    for _ in range(200):
        x = rng.uniform(-0.6, 0.6, size=3)
        y = math.exp(x.sum()) + rng.standard_t(3.0)
        twin.curvature = math.exp(x @ twin.theta)
        policy.learn(state, x, np.array([y]))
        twin.learn(x, y)
        assert np.abs(state.estimate.region.centre - twin.theta).max() < 1e-9
    assert sum(nu > 0 for nu in twin.multipliers) > 0


def test_local_curvature_mends_the_exponential_link():
    """On a true exponential problem: far less regret than kappa/2, and less than linucb."""
    problem = hb.Problem(
        hb.arms.PerRound(20, 10, -1.0), hb.links.Exponential(), hb.noises.StudentT(3.0)
    )

    def regret(policy: Any) -> float:
        runs = hb.simulate(policy, problem, horizon=3000, repetitions=8, seed=7, progress=False)
        return float(np.mean([row["regret"] for row in runs.rows() if row["play"] == 3000]))

    given: dict[str, Any] = {"dim": 10, "link": hb.links.Exponential(), "radius_scale": 1e-3}
    local, half = (regret(hb.ol2m(**given, curvature=name)) for name in ("local", "half"))
    assert local < 0.5 * half
    assert local < regret(hb.linucb(dim=10, radius=0.3))


# ---- refusals


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hb.crhl(dim=0, noise_scale=1.0), "dim must be a whole number"),
        (lambda: hb.crhl(dim=2, noise_scale=0.0), "noise_scale must be positive"),
        (lambda: hb.crhl(dim=2, noise_scale=1.0, delta=0.35), "delta must be at most 0.34"),
        (lambda: hb.crhl(dim=2, noise_scale=1.0, horizon=1, delta=0.5), "horizon / delta must be"),
        (
            lambda: hb.crhl(dim=2, noise_scale=1.0, threshold=0.1),
            "threshold must be at least 0.786448",
        ),
        (lambda: hb.crhl(dim=2, noise_scale=1.0, epsilon=0.0), "epsilon must be in"),
        (
            lambda: hb.crhl(dim=2, noise_scale=1.0, corruption=-1.0),
            "corruption must not be negative",
        ),
        (lambda: hb.crhl(dim=2, noise_scale=1.0, penalty=0.0), "penalty must be positive"),
        (
            lambda: hb.crhl(dim=2, noise_scale=1.0, radius_scale=0.0),
            "radius_scale must be positive",
        ),
        (
            lambda: hb.crhl(dim=2, noise_scale=1.0, radius_scale=1.0, threshold=0.0),
            "threshold must be positive",
        ),
        (lambda: hb.crhl(dim=2, noise_scale=1.0, norm=-1.0), "norm must be positive"),
        (lambda: hb.crcm(dim=2, horizon=0, central_moment=1.0), "horizon must be a whole number"),
        (lambda: hb.crcm(dim=2, horizon=9, central_moment=0.0), "central_moment must be positive"),
        (
            lambda: hb.crcm(dim=2, horizon=9, central_moment=1.0, plays=0),
            "plays must be a whole number",
        ),
        (
            lambda: hb.crcm(dim=2, horizon=9, central_moment=1.0, projection="l1"),
            "projection must be",
        ),
        (lambda: hb.hvt_ucb(dim=2, horizon=9, noise_scale=-1.0), "noise_scale must be positive"),
        (
            lambda: hb.heavy_oful(dim=2, horizon=9, noise_scale=1.0, threshold=0.0),
            "threshold must be positive",
        ),
        (lambda: hb.gada_oful(dim=2, horizon=9, noise_scale=1.0, delta=1.0), "delta must be in"),
        (
            lambda: hb.gada_oful(dim=2, horizon=9, noise_scale=1.0, corruption=-1),
            "corruption must not be negative",
        ),
    ],
)
def test_bad_constants_are_refused(call, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        call()


def test_batch_algorithms_refuse_to_outlive_their_room():
    policy = hb.heavy_oful(dim=2, horizon=50, noise_scale=1.0)
    problem = hb.Problem(hb.arms.Fixed(4, 2), hb.links.Identity(), hb.noises.Gaussian())
    with pytest.raises(
        hb.InvalidInputError, match="has room for 50 decisions, but 51 are asked for"
    ):
        hb.simulate(policy, problem, horizon=51, progress=False)
