"""CRAL: test vectors, textbook twins, bits, digits and the unit of the rewards."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
import naive_doubling as twins
from heavybandits.agents.state import flatten
from heavybandits.core.compile import compiled
from heavybandits.core.confidence_region import clipped_count
from heavybandits.core.kernels import play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace, play
from heavybandits.core.rng import stream_key
from heavybandits.core.world import STILL

cos, sin = math.cos, math.sin


def learn(policy: Any, state: Any, x: Any, y: float, scale: float = 1.0) -> None:
    state.estimate.noise_scale[0] = scale
    policy.learn(state, np.array(x, float), np.array([float(y)]))


def choose(policy: Any, state: Any, features: Any) -> int:
    arms = hb.arms.FromArray(features)
    buffer = arms.make_buffer()
    arms.refresh(buffer, np.uint64(0), 0)
    return policy.choose(state, arms, buffer)


def numbers(policy: Any, state: Any) -> list[float]:
    """tau, beta of the next selection, theta."""
    estimate = state.estimate
    beta = policy.radius.radius(estimate, 0)
    return [policy.estimator.threshold_in_force(estimate), beta, *estimate.region.centre]


# ---- the vectors of the page


class Vector(NamedTuple):
    """An instance: the policy, a row and a reward for each t, and (tau, beta, theta) after some."""

    policy: Any
    row: Any
    reward: Any
    after: dict[int, tuple[float, ...]]
    scale: Any = lambda t: 1.0
    clipped: int | None = None


def circle(t: int) -> list[float]:
    return [round(0.9 * cos(t), 3), round(0.9 * sin(t), 3)]


def wave(t: int) -> list[float]:
    return [0.0] * 3 if t == 7 else [round(0.5 * f, 3) for f in (cos(t), sin(2 * t), cos(3 * t))]


def other_wave(t: int) -> list[float]:
    return [round(0.5 * f, 3) for f in (cos(5 * t), cos(2 * t), sin(3 * t))]


ONE: dict[str, Any] = {"dim": 2, "asymmetry": 0.0, "delta": 0.05}
TWO: dict[str, Any] = {"dim": 2, "asymmetry": 0.0, "delta": 0.1}
VECTORS = {
    "1": Vector(
        hb.cral(**ONE),
        circle,
        lambda t: 0.5 * cos(t) - 0.3 * sin(t) + 0.4 * sin(7 * t),
        {
            0: (1.887391658178e-01, 1.000000000000e01, 0.0, 0.0),
            1: (1.887391658178e-01, 1.235483237166e01, 2.211592888669e-05, 3.444806207248e-05),
            5: (1.887391658178e-01, 1.608715337623e01, 5.390146180794e-05, -1.673991088084e-06),
            20: (1.887391658178e-01, 2.034317125377e01, 3.893324277378e-04, -2.426826373717e-04),
        },
    ),
    "2": Vector(
        hb.cral(**ONE),
        circle,
        lambda t: 1000 * math.tan(t),
        {
            1: (1.887391658178e-01, 1.235483237166e01, 1.019600004579e-01, 1.588142393963e-01),
            5: (1.887391658178e-01, 1.608715337623e01, 6.714198122847e-02, 7.931700842702e-02),
            20: (1.887391658178e-01, 2.034317125377e01, 1.293548018324e-01, 3.051935985431e-01),
        },
        clipped=7,
    ),
    "3": Vector(
        hb.cral(dim=3, norm=0.001, penalty=1e6, delta=0.01, asymmetry=1.0),
        wave,
        lambda t: 100 * math.exp(3 * sin(t * t)) - 488.1,
        {
            0: (1.447648273011e-01, 3.000000000000e01, 0.0, 0.0, 0.0),
            1: (1.447648273011e-01, 3.581991324950e01, 5.131727326525e-05, 8.647910865070e-05,
                -9.408166765296e-05),
            5: (1.447648273011e-01, 4.504425750742e01, 1.633533243636e-04, 8.421155827028e-05,
                -8.326853169857e-05),
            20: (1.447648273011e-01, 5.515324658284e01, 9.806755789579e-05, 3.711484915515e-04,
                 -8.932854860195e-05),
        },
        scale=lambda t: 1.0 + t % 3,
        clipped=5,
    ),
    "4": Vector(
        hb.cral(dim=3, penalty=1e-6, delta=0.1, asymmetry=0.5, horizon=20),
        other_wave,
        lambda t: 2 * sin(t) + 50 * (t % 6 == 0),
        {
            0: (1.447648273011e-04, 2.000000000000e-02, 0.0, 0.0, 0.0),
            1: (1.447648273011e-04, 2.000000000000e-02, 8.310508772269e-05, -1.217313961008e-04,
                4.155254386134e-05),
            5: (1.447648273011e-04, 2.000000000000e-02, -8.787091067516e-05, -1.022770120968e-04,
                7.808590948866e-05),
            20: (1.447648273011e-04, 2.000000000000e-02, -2.756588623140e-03, 1.324496408093e-03,
                 -4.854349296198e-03),
        },
    ),
    "6": Vector(
        hb.cral(**TWO),
        circle,
        lambda t: (-1) ** t * 1000.0 * (1 + 100 * (t % 7)),
        {
            0: (2.171472409516e-01, 1.000000000000e01, 0.0, 0.0),
            1: (2.171472409516e-01, 1.270926996098e01, -1.173053527730e-01, -1.827163622411e-01),
            40: (2.171472409516e-01, 2.451505471048e01, -2.222111481746e-01, -5.558819906336e-02),
            41: (4.342944819033e-01, 5.363702714911e01, -7.982108609299e-03, -2.113552697991e-02),
            160: (1.737177927613e00, 2.752397824499e02, -3.219688648309e-01, -3.287003077679e-01),
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_the_vectors_of_the_page(name):
    vector = VECTORS[name]
    policy, state = vector.policy, vector.policy.init()
    doubled: list[int] = []
    for t in range(max(vector.after) + 1):
        if t > 0:
            learn(policy, state, vector.row(t), round(vector.reward(t), 3), vector.scale(t))
        if len(doubled) < state.estimate.counts[0]:
            doubled.append(t)
        if t in vector.after:
            np.testing.assert_allclose(numbers(policy, state), vector.after[t], rtol=1e-11)
    if vector.clipped is not None:
        assert clipped_count(state.estimate.region) == vector.clipped
    assert doubled == ([41, 95, 155] if name == "6" else [])
    assert policy.tally(state).updates == max(vector.after) - (name == "3")


def test_the_vector_with_choices():
    policy = hb.cral(**ONE)
    state, chosen = policy.init(), []
    after = {
        1: (1.887391658178e-01, 1.235483237166e01, 2.327628789843e-02, -3.317720048373e-03),
        5: (1.887391658178e-01, 1.608715337623e01, -5.037001870920e-02, 1.477134906496e-02),
        20: (1.887391658178e-01, 2.034317125377e01, 3.716998231902e-02, 3.225963988742e-03),
    }
    for t in range(1, 21):
        turns = [t + 2 * j for j in range(3)]
        arms = np.array([[round(0.9 * cos(a), 3), round(0.9 * sin(a), 3)] for a in turns])
        j = choose(policy, state, arms)
        chosen.append(j)
        learn(policy, state, arms[j], round(0.5 * cos(t + 2 * j) + 300 * sin(11 * t + j), 3))
        if t in after:
            np.testing.assert_allclose(numbers(policy, state), after[t], rtol=1e-11)
    assert chosen == [1, 2, 0, 0, 2, 2, 1, 0, 0, 2, 2, 2, 1, 1, 1, 0, 0, 2, 0, 0]


# ---- twins


def slopes(link: Any, norm: float) -> dict[str, Any]:
    return {"kappa": link.kappa(norm), "L": link.lipschitz(norm), "S": norm}


def twin_rows() -> Iterator[tuple[str, Any, Any, float]]:
    yield "plain", hb.cral(dim=3), twins.Cral(3, r=1.0, C=1.0), 1e4
    small = hb.cral(dim=3, penalty=1e-3, asymmetry=0.0, delta=0.1)
    yield "small penalty", small, twins.Cral(3, r=1e-3**0.5, delta=0.1, lam=1e-3), 1e3
    large = hb.cral(dim=3, penalty=4e4, norm=0.05, asymmetry=0.5)
    yield "large penalty", large, twins.Cral(3, r=10.0, C=0.5, lam=4e4), 3e4
    known = hb.cral(dim=3, horizon=500, asymmetry=0.2, norm=2.0)
    yield "horizon", known, twins.Cral(3, r=2.0, C=0.2, T=500), 1e4
    lies = hb.cral(dim=3, corruption=300.0, asymmetry=0.0, norm=0.1)
    yield "corruption", lies, twins.Cral(3, r=0.1, Gam=300.0), 1e4
    for name in ("Logistic", "Exponential"):
        link = getattr(hb.links, name)()
        given = slopes(link, 0.5)
        r = math.sqrt(given["kappa"]) * 0.5
        policy = hb.cral(dim=3, link=link, norm=0.5, asymmetry=0.0)
        yield name, policy, twins.Cral(3, r=r, link=name, **given), 1e4
    tuned: Any = hb.cral(dim=3, radius_scale=0.4)
    tuned = tuned._replace(estimator=tuned.estimator._replace(limit=16.0))
    yield "tuned", tuned, twins.Tuned(3, limit=16.0), 1.0
    tuned = hb.cral(dim=3, radius_scale=0.2, penalty=0.1)
    yield "tuned otherwise", tuned, twins.Tuned(3, share=0.2, lam=0.1), 1.0


TWINS = {name: (policy, twin, noise) for name, policy, twin, noise in twin_rows()}


@pytest.mark.parametrize("name", TWINS)
def test_library_and_twin_agree(name):
    """The same arms, scales and rewards: the same choices, theta, V, threshold and radius."""
    policy, twin, noise = TWINS[name]
    rng, state = np.random.default_rng(sum(map(ord, name))), policy.init()
    region = state.estimate.region
    for t in range(300):
        features = rng.normal(size=(5, 3))
        features /= np.maximum(np.linalg.norm(features, axis=1), 1.0)[:, None]
        features *= 0.0 if t % 50 == 49 else 1.0
        chosen, indices = choose(policy, state, features), twin.indices(features)
        assert indices[chosen] >= indices.max() - 1e-9 * max(1.0, indices.max())
        x, scale = features[chosen], 1.0 + t % 3
        y = x.sum() + noise * scale * rng.standard_t(1.5)
        learn(policy, state, x, y, scale)
        twin.learn(x, y, scale)
        theta, beta = twin.theta, twin.beta / math.sqrt(getattr(twin, "kappa", 1.0))
        np.testing.assert_allclose(region.centre, theta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(numbers(policy, state)[:2], (twin.tau, beta), rtol=1e-9)
    np.testing.assert_allclose(region.design + region.recent, twin.design, rtol=1e-11)
    np.testing.assert_allclose(region.inverse @ twin.design, np.eye(3), atol=1e-9)
    tally = policy.tally(state)
    assert (tally.updates, tally.projections) == (294, twin.projected)
    assert (tally.truncated, state.estimate.counts[0]) == (twin.cuts, twin.k)
    assert twin.cuts > 0
    assert twin.k > 0
    assert twin.projected > 0 or name not in ("Logistic", "Exponential")
    wanted = {"corruption": {2}, "large penalty": {0, 1}}.get(name)
    assert wanted is None or twin.terms >= wanted


# ---- compiled and uncompiled

BITS = {
    "theory": hb.cral(dim=3, asymmetry=0.0, delta=0.1),
    "corruption, horizon": hb.cral(dim=3, corruption=5.0, horizon=300),
    "link": hb.cral(dim=3, link=hb.links.Logistic(), norm=0.5),
    "tuned": hb.cral(dim=3, radius_scale=0.4),
}


@pytest.mark.parametrize("name", BITS)
def test_compiled_and_uncompiled_agree_in_every_bit(name):
    policy, arms, link = BITS[name], hb.arms.Fixed(6, 3, -1.0), hb.links.Identity()
    theta, key = np.full(3, 0.4), stream_key(3, 0, 0)
    noise = 1e3 * np.random.default_rng(1).standard_t(1.5, size=1100)  # one repair of V^-1
    runs: list[dict[str, Any]] = []
    for mode in ("uncompiled", "compiled"):
        state, buffer, episode = policy.init(), arms.make_buffer(), make_episode(policy.plays)
        trace = make_trace(np.array([1, 50, 1100]))
        setting = (policy, state, arms, link, theta, buffer, key)
        arguments: Any = (*setting, noise, episode, trace, Unobserved(), STILL)
        with np.errstate(over="ignore"):
            (play if mode == "uncompiled" else compiled(play_kernel, *arguments))(*arguments)
        runs.append({**flatten(state), **flatten(buffer, "buffer"), **flatten(trace)})
    for field, array in runs[0].items():
        assert array.tobytes() == runs[1][field].tobytes(), field
    assert runs[0]["updates"][-1] == 1100
    assert runs[0]["truncated"][-1] > 0


# ---- the tuned form has no unit


@pytest.mark.parametrize("power", [20, -30])
def test_rewards_in_another_unit_give_the_same_choices(power):
    """theta times 2^power bit for bit, from the first reward on; zeros come first."""
    policy, factor = hb.cral(dim=3, radius_scale=0.4), 2.0**power
    states: list[Any] = [policy.init(), policy.init()]
    rng = np.random.default_rng(0)
    for t in range(400):
        features = rng.normal(size=(5, 3)) / 3
        first, second = (choose(policy, state, features) for state in states)
        assert first == second
        y = 0.0 if t < 3 else features[first].sum() + rng.standard_t(1.2)
        for state, unit in zip(states, (1.0, factor), strict=True):
            learn(policy, state, features[first], y * unit)
        one, other = (state.estimate.region.centre for state in states)
        assert (one * factor).tobytes() == other.tobytes()
    assert states[0].estimate.counts[0] > 0


# ---- the tuned form: what it learns from one reward, and how long it explores


def design_of(state: Any) -> Any:
    return state.estimate.region.design + state.estimate.region.recent


def test_a_clipped_reward_counts_for_less():
    """V grows by q x x^T, q = psi / e: the arm of a clipped reward stays uncertain."""
    policy = hb.cral(dim=2, radius_scale=0.4)
    state: Any = policy.init()
    for y in (1.0, 0.9, 1.2):
        learn(policy, state, [0.6, 0.8], y)
    before, clipped = design_of(state), clipped_count(state.estimate.region)
    learn(policy, state, [0.8, 0.6], 1.0 + 1e6)
    assert clipped_count(state.estimate.region) == clipped + 1
    assert 0.0 < np.trace(design_of(state) - before) < 1e-3
    before = design_of(state)
    learn(policy, state, [0.6, 0.8], 1.0)
    np.testing.assert_allclose(np.trace(design_of(state) - before), 1.0, rtol=1e-12)


def test_the_size_of_theta_leaves_the_radius_once_theta_is_known():
    policy: Any = hb.cral(dim=3, penalty=1.0, radius_scale=1e-9)
    state, theta = policy.init(), np.array([20.0, 1.0, -1.0])
    radii = []
    for t in range(300):
        learn(policy, state, np.eye(3)[t % 3], theta[t % 3])
        radii.append(policy.radius.radius(state.estimate, 0))
    assert math.isclose(radii[0], 1.25 * 10.0)  # theta is (10, 0, 0) after the first reward
    assert radii[-1] < 0.2 * 1.25 * 20.0


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("effect", [0.0, 20.0, -20.0])
def test_a_large_constant_effect_does_not_prolong_exploration(effect, seed):
    """Eight fixed arms with a constant feature: from round 100 on, nearly no regret."""
    policy = hb.cral(dim=4, radius_scale=0.4)
    rng = np.random.default_rng(seed)
    features = np.c_[np.ones(8), rng.uniform(-1.0, 1.0, (8, 3))]
    means = features @ [effect, 1.0, 1.0, 1.0]
    state, lost = policy.init(), []
    for _ in range(400):
        arm = choose(policy, state, features)
        learn(policy, state, features[arm], means[arm] + 0.2 * rng.normal())
        lost.append(means.max() - means[arm])
    assert np.mean(lost[100:]) < 0.05 * np.mean(means.max() - means)


# ---- odd inputs


@pytest.mark.parametrize("policy", [hb.cral(dim=2), hb.cral(dim=2, radius_scale=0.4)])
def test_an_arm_of_zeros_changes_nothing(policy):
    state = policy.init()
    learn(policy, state, [0.5, 0.1], 3.0)
    before = {name: array.tobytes() for name, array in flatten(state).items()}
    learn(policy, state, [0.0, 0.0], 1e6)
    learn(policy, state, [1e-200, 0.0], 1e6)  # its square is 0
    after = {name: array.tobytes() for name, array in flatten(state).items()}
    scratch = ("estimate.region.direction", "estimate.region.numbers", "estimate.region.scratch")
    changed = [name for name in before if before[name] != after[name]]
    assert [name for name in changed if not name.startswith(scratch)] == ["memory.counts"]


@pytest.mark.parametrize("policy", [hb.cral(dim=2), hb.cral(dim=2, radius_scale=0.4)])
@pytest.mark.parametrize("y", [1e300, -1e300, 1e-300])
def test_extreme_rewards_and_rows_leave_finite_numbers(policy, y):
    state = policy.init()
    for x in ([1e-155, 0.0], [1.0, 0.0], [1e-8, 1e-8], [0.0, 1.0]):
        for scale in (1e-20, 1.0, 1e20):
            learn(policy, state, x, y, scale)
    assert all(np.isfinite(array).all() for array in flatten(state).values())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"asymmetry": -1.0}, r"asymmetry must be in \[0, 1e6\], got -1.0"),
        ({"delta": 0.2}, "delta must be at most 0.1 without a horizon, got 0.2"),
        ({"delta": 0.9, "horizon": 10}, "horizon / delta must be at least 20, got 11.1"),
        ({"norm": 0.0}, "norm must be positive, got 0.0"),
        ({"penalty": 0.0}, "penalty must be positive, got 0.0"),
        ({"radius_scale": 0.0}, "radius_scale must be positive, got 0.0"),
        ({"corruption": 1.0, "link": hb.links.Logistic()}, "corruption must be 0 with a link"),
        ({"noise_scale": 0.0}, "noise_scale must be positive, got 0.0"),
    ],
)
def test_invalid_arguments_raise(given, message):
    with pytest.raises(hb.InvalidInputError, match=message):
        hb.cral(dim=2, **given)


def test_an_estimator_with_a_factor_is_not_discounted():
    policy: Any = hb.cral(dim=2)
    with pytest.raises(hb.InvalidInputError, match="keeps a Cholesky factor of V"):
        hb.Agent(policy._replace(estimator=hb.estimators.Discounted(policy.estimator, 50.0)))
    with pytest.raises(hb.InvalidInputError, match="keeps a Cholesky factor of V"):
        hb.Agent(hb.policies.TimeDiscounted(policy, 60.0))


@pytest.mark.parametrize("penalty", [1e-18, 1e-6, 1e12])
def test_an_agent_with_a_small_penalty_saves_and_loads(tmp_path, penalty):
    """V^-1 is huge in the directions that are played last, until they are: it must lose its errors
    then, or the file holds matrices that are not inverse to each other."""
    policy = hb.cral(dim=2, penalty=penalty, radius_scale=0.4)
    state: Any = policy.init()
    rng = np.random.default_rng(0)
    for t in range(500):
        x = [0.6, 0.7] if t < 400 else rng.normal(size=2) / 4
        learn(policy, state, x, rng.standard_t(1.5))
    region = state.estimate.region
    product = (region.design + region.recent) @ region.inverse
    np.testing.assert_allclose(product, np.eye(2), atol=1e-9)
    agent = hb.Agent(policy)
    agent.warm_start([[0.6, 0.7]] * 400 + [[0.1, -0.2]], rng.standard_t(1.5, size=401))
    agent.save(tmp_path / "agent.state")
    loaded = hb.Agent.load(tmp_path / "agent.state")
    assert (loaded.theta == agent.theta).all()
