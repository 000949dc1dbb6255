"""The twins of CRHL, CRCM and their rivals against numbers worked out apart from both."""

import math

import numpy as np
import pytest

import naive_beyond as twins

ARMS = np.array([(1.0, 0.0), (0.6, 0.8), (0.0, 1.0), (0.8, 0.6)])
REWARDS = (0.9, -2.0, 30.0, 0.4)
KAPPA = math.e / (1 + math.e) ** 2  # of the logistic link on [-1, 1]


def forced(estimator):
    """theta after each of the four forced updates."""
    thetas = []
    for x, y in zip(ARMS, REWARDS, strict=True):
        estimator.learn(x, [y])
        thetas.append(estimator.theta)
    return np.array(thetas)


def huber(link, kappa, L, trust):
    beta = twins.huber_tuned(1.0, 2, 1.0)
    return twins.Huber(2, link, kappa, L, nu=1.0, tau0=1.0, beta=beta, trust=trust)


def test_the_tuned_form_with_a_logistic_link():
    step = huber("Logistic", KAPPA, 0.25, trust=False)
    expected = [
        (0.33427713, 0.0),
        (-0.43693162, -0.89949472),
        (-0.47108737, 0.88208655),
        (-0.54361923, 0.83247287),
    ]
    np.testing.assert_allclose(forced(step), expected, atol=5e-9)
    assert step.taus == pytest.approx([2.467015, 2.530993, 2.586584, 2.827727], abs=5e-7)
    np.testing.assert_allclose(step.free[1], (-0.73669214, -1.70871280), atol=5e-9)
    np.testing.assert_allclose(step.free[2], (-0.58335268, 1.06686724), atol=5e-9)
    assert (step.cuts, step.projected) == (2, 2)


def test_the_terms_of_sigma_with_a_logistic_link():
    step = huber("Logistic", KAPPA, 0.25, trust=True)
    expected = [
        (0.07571781, 0.0),
        (-0.20262745, -0.38547339),
        (-0.12473073, 0.99219063),
        (-0.15852498, 0.96739736),
    ]
    np.testing.assert_allclose(forced(step), expected, atol=5e-9)
    sigmas = [2.25525193, 2.24009269, 2.22786165, 2.17516413]
    assert step.sigmas == pytest.approx(sigmas, abs=5e-9)
    assert step.taus == pytest.approx([5.183535] * 4, abs=5e-7)
    assert step.cuts == 1


def test_the_tuned_form_with_the_identity_link():
    step = huber("Identity", 1.0, 1.0, trust=False)
    expected = [
        (0.45, 0.0),
        (0.20442812, -0.65485835),
        (0.07686956, -0.02769542),
        (0.15705150, 0.01767068),
    ]
    np.testing.assert_allclose(forced(step), expected, atol=5e-9)
    assert step.cuts == 2


@pytest.mark.parametrize(
    ("T", "eps", "kappa", "L", "nu", "numbers"),
    [
        (10**6, 1.0, KAPPA, 0.25, 3**0.5, (87.879424, 2.121835, 41.416714, 748.240999)),
        (10**6, 1.0, 1.0, 1.0, 3**0.5, (104.143432, 2.309851, 45.086652, 361.693214)),
        (10**4, 0.5, KAPPA, 0.25, 1.0, (52.863052, 1.199990, 83.069581, 1499.742667)),
    ],
)
def test_the_constants_of_crhl(T, eps, kappa, L, nu, numbers):
    made = twins.HuberConstants(10, kappa, L, nu, T=T, eps=eps)
    assert (made.K(T), made.tau0, made.Q(T), made.beta(T)) == pytest.approx(numbers, abs=5e-7)
    if T == 10**6:
        assert made.l(T) == pytest.approx(19.519293, abs=5e-7)
    if (T, kappa) == (10**6, KAPPA):
        assert made.floor == pytest.approx(0.786448, abs=5e-7)


@pytest.mark.parametrize(("eps", "factor"), [(1.0, 5.87), (0.5, 6.26), (0.3, 6.52), (1e-9, 7.56)])
def test_the_sharper_factor(eps, factor):
    made = twins.HuberConstants(
        2, 1.0, 1.0, 1.0, T=10**4, eps=eps, delta=3e4 / math.exp(20.0), sharp=True
    )
    assert made.l(1) == pytest.approx(20.0)
    assert made.factor == pytest.approx(factor, abs=5e-3)


def test_every_term_of_sigma_can_be_the_largest():
    rng, d = np.random.default_rng(0), 3
    step = twins.Huber(
        d, "Identity", 1.0, 1.0, nu=0.05, tau0=0.05, beta=lambda t: 0.7, eps=0.5,
        sigma_min=0.05, corruption=lambda t: 1.7 / math.sqrt(d * math.log(1 + t)),
    )  # fmt: skip
    theta = np.array([0.6, 0.6, 0.5])
    for t in range(400):
        x = rng.normal(size=d)
        x *= (1.0 if t % 2 else 0.2) / np.linalg.norm(x)
        step.learn(x, [x @ theta + 0.3 * rng.standard_t(1.6)])
        assert np.linalg.norm(step.theta) <= 1.0 + 1e-12
    assert set(step.terms) == {0, 1, 2, 3}
    assert step.cuts > 0
    assert step.projected > 0


def test_the_radius_of_crhl_does_not_shrink_and_pays_for_corruption():
    plain = twins.HuberConstants(3, KAPPA, 0.25, 1.0, eps=0.5)
    lied_to = twins.HuberConstants(3, KAPPA, 0.25, 1.0, eps=0.5, C=2.0, tau0=plain.tau0)
    betas = [plain.beta(t) for t in range(200)]
    assert betas == sorted(betas)
    assert betas[0] == 1.0
    growth = (lied_to.beta(9) - 1) / (plain.beta(9) - 1)
    assert growth == pytest.approx(11 / 8)


def test_hvt_ucb_is_crhl_with_four_times_the_caution():
    bandit = twins.hvt_ucb(2, 1000, 1.0)
    step = bandit.estimator
    lg, kap = math.log(2e8), 2 * math.log(1 + 1000 * 1000 / 16)
    assert step.tau0 == pytest.approx(math.sqrt(2 * kap / lg))
    start = math.sqrt(12.0)
    assert step.beta(0) == pytest.approx(start)
    assert step.beta(7) == pytest.approx(107 * lg * step.tau0 + start)
    bandit.learn(ARMS[0], [0.9])
    p = math.sqrt(0.5)
    assert step.sigmas[0] == pytest.approx(max(1.0, p * math.sqrt(start / step.tau0)))
    weight = 1 / (4 * step.sigmas[0] ** 2)
    np.testing.assert_allclose(step.design, np.diag([2 + weight, 2]))
    assert step.theta[0] == pytest.approx(0.9 / step.sigmas[0] ** 2 / (2 + weight))


# ---- CRCM


def test_the_plays_of_crcm():
    assert (twins.crcm_plays(10**4, 0.01), twins.crcm_plays(10**6, 0.01)) == (56, 75)


def test_the_radius_of_crcm():
    beta = twins.crcm_beta(2, 3.0, KAPPA, 0.25)
    lam = 16 * 0.0625 / KAPPA
    G = math.sqrt(48 * 1.032 * 2 * math.log(1 + KAPPA * 5 / (2 * lam)))
    assert beta(0) == pytest.approx(3 * math.sqrt(lam))
    assert beta(5) == pytest.approx(8.52 * G / math.sqrt(KAPPA) + 3 * math.sqrt(lam))


def test_one_wild_column_does_not_move_the_centre_of_crcm():
    calm = twins.crcm(2, "Identity", 1.0, 1.0, 5, lambda n: 1.0)
    wild = twins.crcm(2, "Identity", 1.0, 1.0, 5, lambda n: 1.0)
    for x in ARMS:
        rewards = x @ [0.5, 0.2] + np.array([-0.1, -0.05, 0.0, 0.05, 0.1])
        calm.learn(x, rewards)
        wild.learn(x, np.where(np.arange(5) == 4, 1e6, rewards))
    assert np.linalg.norm(calm.estimator.theta - wild.estimator.theta) < 0.02
    assert wild.estimator.projected > 0


# ---- batch


def test_heavy_oful_step_by_step():
    made = twins.heavy_constants(2, 1000, 1.0, 0.01, 2.0)
    assert (made["lg"], made["kap"]) == pytest.approx((19.113828, 24.858440), abs=5e-7)
    assert (made["c0"], made["tau0"]) == pytest.approx((0.047694, 1.612791), abs=5e-7)
    assert made["c1"] == pytest.approx(0.00108996, abs=5e-9)
    bandit = twins.heavy_oful(2, 1000, 1.0)
    expected = [
        (0.00204259, 0.0),
        (-0.00067857, -0.00363646),
        (-0.00075275, 0.06445798),
        (-0.00009532, 0.06495042),
    ]
    np.testing.assert_allclose(forced(bandit.estimator), expected, atol=5e-9)
    sigmas = [row[2] for row in bandit.estimator.rows]
    assert sigmas == pytest.approx([14.825958, 14.819900, 14.815178, 14.793642], abs=5e-7)
    assert [row[3] for row in bandit.estimator.rows] == pytest.approx([33.8539] * 4, abs=5e-5)
    assert math.sqrt(bandit.gamma(4, None)) == pytest.approx(744.0813, abs=5e-5)


def test_gada_oful_step_by_step():
    made = twins.gada_constants(2, 1000, 0.01, 2.0, 1.0, 1.0, 0.0)
    numbers = [made[name] for name in ("m0", "m1", "tau0", "alpha")]
    assert numbers == pytest.approx([0.022010, 0.001246, 1.612791, 4.476017], abs=5e-7)
    bandit = twins.gada_oful(2, 1000, 1.0, "Identity", 1.0, 1.0)
    expected = [
        (0.00043577, 0.0),
        (-0.00014515, -0.00077494),
        (-0.00014853, 0.01375003),
        (0.00000328, 0.01386386),
    ]
    np.testing.assert_allclose(forced(bandit.estimator), expected, atol=5e-9)
    sigmas = [row[2] for row in bandit.estimator.rows]
    assert sigmas == pytest.approx([32.127040, 32.124240, 32.122061, 32.112096], abs=5e-7)
    assert [row[3] for row in bandit.estimator.rows] == pytest.approx([73.2941] * 4, abs=5e-5)
    betas = [math.sqrt(bandit.gamma(t, None)) for t in (1, 2, 3, 4)]
    assert betas == pytest.approx([1140.9844, 1257.7861, 1323.9424, 1370.0915], abs=5e-5)


@pytest.mark.parametrize("psi", [twins.huber_psi, twins.pseudo_psi])
@pytest.mark.parametrize("link", ["Identity", "Logistic"])
def test_the_batch_minimum_is_one(psi, link):
    """On the sphere the gradient points inwards along theta, inside it vanishes."""
    rng = np.random.default_rng(1)
    bandit = twins.batch_tuned(3, link, 0.2, 0.3, 0.1, psi=psi, tau0=0.3, B=0.7)
    for _ in range(40):
        x = rng.normal(size=3)
        x /= np.linalg.norm(x)
        bandit.learn(x, [x[0] + rng.standard_t(1.5)])
        theta = bandit.estimator.theta
        gradient, _ = bandit.estimator.derivatives(theta, 0.0)
        shift = max(-(gradient @ theta) / (theta @ theta), 0.0)
        assert np.linalg.norm(gradient + shift * theta) < 1e-9
        assert shift < 1e-9 or np.linalg.norm(theta) == pytest.approx(0.7, abs=1e-12)
    assert bandit.estimator.projected > 0
    assert bandit.estimator.cuts > 0


# ---- filters


def test_leverage_clip_is_loose_for_arms_it_knows():
    clip = twins.LeverageClip(threshold=0.5)
    rng = np.random.default_rng(2)
    for error in rng.normal(size=400):
        clip.apply(float(error), 1.0, 0.0)
    scale = clip.limit(1.0) / (0.5 * math.sqrt(2.0))
    assert scale == pytest.approx(0.6745, rel=0.15)  # the median of |N(0, 1)|
    assert clip.limit(0.1) == pytest.approx(0.5 * scale * math.sqrt(101.0))
    assert clip.apply(1e9, 1.0, 2.0) == pytest.approx(2.0 + clip.limit(1.0), rel=0.1)
    assert clip.apply(7.0, 0.0, 2.0) == 7.0


def test_tail_clip_follows_the_root():
    clip, z, n = twins.TailClip(3.0), 3.0, 20_000
    errors = np.random.default_rng(3).standard_t(2.5, size=n)
    for error in errors:
        clip.apply(float(error), 1.0, 0.0)
    exact = twins.tail_root(errors, z * math.log(n) / n)
    assert clip.limit(1.0) == pytest.approx(exact, rel=0.25)
    assert clip.cuts < 0.01 * n
