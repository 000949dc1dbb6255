import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandits import InvalidInputError, noises, theory
from heavybandits._utils import validation as valid

KAPPA, BOUND = 0.196611933, 0.731058579
SHARED: dict[str, Any] = {"dim": 10, "horizon": 10**6, "kappa": KAPPA}
RAW: dict[str, Any] = {**SHARED, "raw_moment": 3.534446647}
CENTRAL: dict[str, Any] = {**SHARED, "central_moment": 3.0}

epsilons = st.floats(0.05, 1.0)
sizes = st.floats(1e-3, 1e3)
horizons = st.integers(1, 10**9)
dims = st.integers(1, 200)
numbers = {"dim": dims, "horizon": horizons, "kappa": sizes, "epsilon": epsilons}
raw_settings = st.fixed_dictionaries({**numbers, "raw_moment": sizes})
central_settings = st.fixed_dictionaries({**numbers, "central_moment": sizes})


def close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-9)


# The paper's setting: T = 10^6, d = 10, delta = 0.01, eps = 1, S = 1, logistic link, t_3 noise.


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (theory.confidence_log(horizon=10**6), "19.806975"),
        (theory.growth_log(t=10**6, dim=10, kappa=KAPPA), "9.193357"),
        (theory.truncation_threshold(**RAW), "18.2690"),
        (theory.truncation_tuned(dim=10, horizon=10**6, penalty=1.0), "2280.3643"),
        (theory.median_constants(horizon=10**6, central_moment=3.0).scale, "3.464102"),
        (theory.median_constants(horizon=10**6, central_moment=3.0).rho, "686.2869"),
        (theory.median_tuned(t=3154, dim=10), "57.5701"),
    ],
)
def test_constants_of_the_paper(value: float, printed: str) -> None:
    digits = len(printed.partition(".")[2])
    assert f"{value:.{digits}f}" == printed


def test_regions_of_the_paper() -> None:
    assert f"{theory.truncation_region(**RAW, bound=BOUND):.4e}" == "2.9342e+07"
    assert f"{theory.median_region(t=1, **CENTRAL, bound=BOUND):.4e}" == "4.7958e+06"
    assert f"{theory.median_region(t=3154, **CENTRAL, bound=BOUND):.5e}" == "6.46892e+06"


def test_epochs_of_the_paper() -> None:
    assert theory.median_plays(horizon=10**6, delta=0.01) == 317
    assert theory.median_epochs(horizon=10**6, delta=0.01) == 3154
    assert theory.median_epochs(horizon=100, plays=30) == 3
    assert theory.median_epochs(horizon=10) == 0


def test_the_appendix_form_of_gamma_is_not_the_one_used() -> None:
    logs = theory.confidence_log(horizon=10**6), theory.growth_log(t=10**6, dim=10, kappa=KAPPA)
    appendix = 2 * math.sqrt(RAW["raw_moment"] * logs[0]) * math.sqrt(10 * KAPPA * logs[1])
    assert f"{appendix:.2f}" == "71.14"
    assert theory.truncation_threshold(**RAW) < appendix / 3


@pytest.mark.parametrize("kappa", [0.1, 1.0, 2.0, 7.0])
def test_regularisation_keeps_every_step_below_one(kappa: float) -> None:
    assert kappa / 2 / theory.regularisation(kappa) <= 1.0


# Laws of scale: rewards measured in another unit, c y for y, give what they must.


@given(raw_settings, sizes)
def test_threshold_follows_the_unit_of_reward(setting: dict[str, Any], unit: float) -> None:
    scaled = {**setting, "raw_moment": setting["raw_moment"] * unit ** (1 + setting["epsilon"])}
    plain = theory.truncation_threshold(**setting)
    assert close(theory.truncation_threshold(**scaled), unit * plain)


@given(raw_settings, sizes, sizes, st.booleans())
def test_truncation_region_follows_the_square_of_the_unit(
    setting: dict[str, Any], unit: float, bound: float, corrected: bool
) -> None:
    start = 2 * theory.regularisation(setting["kappa"]) * 1e-18
    scaled = {**setting, "raw_moment": setting["raw_moment"] * unit ** (1 + setting["epsilon"])}
    common: dict[str, Any] = {"norm": 1e-9, "corrected": corrected}
    plain = theory.truncation_region(**setting, bound=bound, **common) - start
    assert close(
        theory.truncation_region(**scaled, bound=unit * bound, **common) - start, unit**2 * plain
    )


@given(central_settings, sizes, st.integers(1, 10**6), st.booleans())
def test_median_region_follows_the_square_of_the_unit(
    setting: dict[str, Any], unit: float, t: int, corrected: bool
) -> None:
    start = theory.regularisation(setting["kappa"]) * 1e-18
    scaled = {
        **setting,
        "central_moment": setting["central_moment"] * unit ** (1 + setting["epsilon"]),
    }
    common: dict[str, Any] = {"t": t, "norm": 1e-9, "corrected": corrected}
    plain = theory.median_region(**setting, bound=1.0, **common) - start
    assert close(theory.median_region(**scaled, bound=unit, **common) - start, unit**2 * plain)


@given(horizons, sizes, sizes, epsilons)
def test_median_constants_follow_the_unit(
    horizon: int, moment: float, unit: float, epsilon: float
) -> None:
    plain = theory.median_constants(horizon=horizon, central_moment=moment, epsilon=epsilon)
    scaled = theory.median_constants(
        horizon=horizon, central_moment=moment * unit ** (1 + epsilon), epsilon=epsilon
    )
    assert close(scaled.scale, unit * plain.scale)
    assert close(scaled.rho, unit * plain.rho)


@given(raw_settings)
def test_threshold_balances_the_two_sides_of_the_proof(setting: dict[str, Any]) -> None:
    """Gamma ln(4T/delta) = Gamma^-eps u T^((1-eps)/2) B^((1+eps)/2), B = (4d/kappa) G."""
    epsilon, kappa, horizon = setting["epsilon"], setting["kappa"], setting["horizon"]
    threshold = theory.truncation_threshold(**setting)
    growth = theory.growth_log(t=horizon, dim=setting["dim"], kappa=kappa)
    budget = 4 * setting["dim"] * growth / kappa
    noise = threshold * theory.confidence_log(horizon=horizon)
    bias = threshold**-epsilon * setting["raw_moment"]
    bias *= horizon ** ((1 - epsilon) / 2) * budget ** ((1 + epsilon) / 2)
    assert close(noise, bias)


# What `corrected` does, and how the regret bounds hang together with the regions.


@given(raw_settings, sizes)
def test_correction_doubles_the_mean_term(setting: dict[str, Any], bound: float) -> None:
    printed = theory.truncation_region(**setting, bound=bound)
    corrected = theory.truncation_region(**setting, bound=bound, corrected=True)
    growth = theory.growth_log(t=setting["horizon"], dim=setting["dim"], kappa=setting["kappa"])
    extra = 48 * bound**2 * setting["dim"] / setting["kappa"] * growth
    assert math.isclose(corrected, printed + extra, rel_tol=1e-9)


def test_correction_of_medians_leaves_the_start_and_the_bias_alone() -> None:
    printed = theory.median_region(t=50, **CENTRAL, bound=BOUND)
    corrected = theory.median_region(t=50, **CENTRAL, bound=BOUND, corrected=True)
    rho = theory.median_constants(horizon=10**6, central_moment=3.0).rho
    rest = 1.0 + 2 * rho**2 / KAPPA
    assert close(corrected - rest, 2 * (printed - rest))
    assert theory.median_region(t=0, **CENTRAL, bound=BOUND, corrected=True) == 1.0


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.1])
def test_median_region_starts_at_the_penalty(epsilon: float) -> None:
    start = theory.median_region(t=0, **CENTRAL, bound=BOUND, norm=3.0, epsilon=epsilon)
    assert start == 9.0


def test_plays_replaces_the_count_of_the_theorem() -> None:
    few = theory.median_constants(horizon=10**6, central_moment=3.0, plays=1)
    many = theory.median_constants(horizon=10**6, central_moment=3.0, plays=317)
    assert many == theory.median_constants(horizon=10**6, central_moment=3.0)
    assert few.scale == many.scale
    assert close(many.rho - few.rho, 2 * 316 * 3.0 / few.scale)
    assert theory.median_region(t=9, **CENTRAL, bound=BOUND, plays=1) < theory.median_region(
        t=9, **CENTRAL, bound=BOUND
    )


def test_corrected_truncation_regret_is_the_sum_over_rounds() -> None:
    region = theory.truncation_region(**RAW, bound=BOUND, corrected=True)
    budget = 40 / KAPPA * theory.growth_log(t=10**6, dim=10, kappa=KAPPA)
    regret = theory.truncation_regret(**RAW, bound=BOUND, lipschitz=0.25, corrected=True)
    assert close(regret, 2 * 0.25 * math.sqrt(budget * 10**6 * region))


def test_corrected_median_regret_is_the_sum_over_epochs() -> None:
    setting = {**CENTRAL, "horizon": 5000, "epsilon": 0.6, "bound": BOUND}
    plays = theory.median_plays(horizon=5000)
    epochs = theory.median_epochs(horizon=5000)
    total = sum(theory.median_region(t=t, **setting, corrected=True) for t in range(epochs))
    budget = 40 / KAPPA * theory.growth_log(t=epochs, dim=10, kappa=KAPPA)
    regret = theory.median_regret(**setting, lipschitz=0.25, corrected=True)
    assert close(regret, plays * 2 * 0.25 * math.sqrt(budget * total))


@given(raw_settings, sizes, sizes)
def test_printed_truncation_regret_relaxes_the_printed_region_but_for_its_24(
    setting: dict[str, Any], bound: float, norm: float
) -> None:
    """sqrt(a + b + c) <= sqrt(a) + sqrt(b) + sqrt(c); with 27.8 for 24 it would hold always."""
    region = theory.truncation_region(**setting, bound=bound, norm=norm)
    growth = theory.growth_log(t=setting["horizon"], dim=setting["dim"], kappa=setting["kappa"])
    volume = setting["dim"] / setting["kappa"] * growth
    derived = 2 * math.sqrt(4 * volume * setting["horizon"] * region)
    printed = theory.truncation_regret(**setting, bound=bound, norm=norm, lipschitz=1.0)
    slip = (2 * math.sqrt(192) - 24) * bound * volume * math.sqrt(setting["horizon"])
    assert derived <= (printed + slip) * (1 + 1e-9)


def test_printed_regrets_match_the_appendix_term_by_term() -> None:
    horizon, dim, kappa, slope, bound, norm = 10**5, 4, 0.7, 0.9, 1.3, 1.6
    moment, epsilon, delta = 2.2, 0.4, 0.05
    high = math.log(4 * horizon / delta)
    growth = math.log(1 + kappa * horizon / (2 * dim))
    power, lag = 1 / (1 + epsilon), epsilon / (1 + epsilon)
    scale, rho = theory.median_constants(
        horizon=horizon, central_moment=moment, epsilon=epsilon, delta=delta
    )
    setting: dict[str, Any] = {
        "dim": dim,
        "horizon": horizon,
        "kappa": kappa,
        "lipschitz": slope,
        "bound": bound,
        "norm": norm,
        "epsilon": epsilon,
        "delta": delta,
    }
    truncation = (
        128 * slope / kappa * moment**power * dim * high**lag * growth * horizon**power
        + 24 * slope * bound / kappa * dim * growth * horizon**0.5
        + 8 * slope * norm * dim**0.5 * kappa**-0.5 * growth**0.5 * horizon**0.5
    )
    median = (
        64 * slope * bound * dim / kappa * growth * high**0.5 * horizon**0.5
        + 16 * slope * norm * kappa**-0.5 * (dim * growth * high) ** 0.5 * horizon**0.5
        + 32 * slope * rho / kappa * (dim * growth) ** 0.5 * high**lag * horizon**power
        + 32 * slope * dim / kappa * scale * rho**0.5 * growth * high**lag * horizon**power
    )
    assert close(theory.truncation_regret(**setting, raw_moment=moment), truncation)
    assert close(theory.median_regret(**setting, central_moment=moment), median)


@given(raw_settings)
def test_regret_is_linear_in_the_slope(setting: dict[str, Any]) -> None:
    single = theory.truncation_regret(**setting, bound=1.0, lipschitz=1.0)
    assert close(theory.truncation_regret(**setting, bound=1.0, lipschitz=3.0), 3 * single)


@given(dims, horizons, epsilons)
def test_lower_bounds(dim: int, horizon: int, epsilon: float) -> None:
    wide = theory.lower_bound(dim=dim, horizon=horizon, epsilon=epsilon)
    narrow = theory.lower_bound(dim=dim, horizon=horizon, epsilon=epsilon, bounded_moments=True)
    assert narrow <= wide * (1 + 1e-12)
    assert close(wide, dim * theory.lower_bound(dim=1, horizon=horizon, epsilon=epsilon))
    assert close(
        theory.lower_bound(dim=dim, horizon=horizon, bounded_moments=True),
        theory.lower_bound(dim=dim, horizon=horizon),
    )


# Refusals.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 1.5}, r"epsilon must be in \(0, 1\], got 1.5"),
        ({"epsilon": 0.0}, r"epsilon must be in \(0, 1\], got 0.0"),
        ({"delta": 1.0}, r"delta must be in \(0, 1\), got 1.0"),
        ({"dim": 0}, "dim must be a whole number >= 1, got 0"),
        ({"dim": True}, "dim must be a whole number >= 1, got True"),
        ({"horizon": 1e6}, "horizon must be a whole number >= 1, got 1000000.0"),
        ({"moment": -1.0}, "moment must be positive, got -1.0"),
        ({"moment": "3"}, "moment must be a finite number, got '3'"),
        ({"kappa": math.inf}, "kappa must be a finite number, got inf"),
        ({"bound": math.nan}, "bound must be a finite number, got nan"),
        ({"norm": 0.0}, "norm must be positive, got 0.0"),
        ({"lipschitz": None}, "lipschitz must be a finite number, got None"),
    ],
)
@pytest.mark.parametrize(
    ("regret", "moment", "good"),
    [
        (theory.truncation_regret, "raw_moment", RAW),
        (theory.median_regret, "central_moment", CENTRAL),
    ],
)
@pytest.mark.parametrize("corrected", [False, True])
def test_bad_numbers_are_named(
    regret: Callable[..., float],
    moment: str,
    good: dict[str, Any],
    change: dict[str, Any],
    message: str,
    corrected: bool,
) -> None:
    setting = {**good, "lipschitz": 0.25, "bound": BOUND, "corrected": corrected}
    if "moment" in change:
        change, message = {moment: change["moment"]}, message.replace("moment", moment)
    with pytest.raises(InvalidInputError, match=f"^{message}$"):
        regret(**{**setting, **change})


def test_a_horizon_without_one_epoch_is_refused() -> None:
    setting = {**CENTRAL, "horizon": 100, "lipschitz": 0.25, "bound": BOUND}
    with pytest.raises(InvalidInputError, match="horizon must be a whole number >= 170, got 100"):
        theory.median_regret(**setting)


def test_numpy_numbers_are_numbers() -> None:
    horizon: Any = np.int64(10**6)
    assert theory.median_plays(horizon=horizon, delta=np.float64(0.01)) == 317
    assert valid.finite_number("reward", np.array(2.5)) == 2.5
    assert valid.finite_number("reward", Decimal("2.5")) == 2.5
    assert type(valid.whole("dim", np.int32(4))) is int


@pytest.mark.parametrize(
    "value", [True, np.True_, "1", None, 1j, np.complex128(1), [1.0], np.ones(1), 10**400]
)
def test_what_is_not_a_finite_number(value: object) -> None:
    with pytest.raises(InvalidInputError, match="reward must be a finite number, got"):
        valid.finite_number("reward", value)


def test_finite_array_copies_and_casts() -> None:
    given = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    array = valid.finite_array("arms", given, (None, 3))
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert array.flags.writeable
    array[0, 0] = 9.0
    assert given[0, 0] == 0.0
    own = np.ones(3)
    assert valid.finite_array("x", own, (3,)) is not own
    assert valid.finite_array("scalar", 2, ()).shape == ()


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        ([1.0, 2.0], (3,), r"x must have shape \(3,\), got \(2,\)"),
        ([1.0, 2.0], (None, 2), r"x must have shape \(any, 2\), got \(2,\)"),
        (np.empty((0, 2)), (None, 2), r"x must have shape \(any, 2\), got \(0, 2\)"),
        ([[0.0, math.inf]], (1, 2), r"x must be finite, got inf at \(0, 1\)"),
        (math.nan, (), r"x must be finite, got nan at \(\)"),
        ([None, 1.0], (2,), r"x must be an array of numbers, got \[None, 1\.0\]"),
        (["1", "2"], (2,), r"x must be an array of numbers, got \['1', '2'\]"),
        ([1j], (1,), r"x must be an array of numbers, got \[1j\]"),
        ([[1.0], [1.0, 2.0]], (2, 2), r"x must be an array of numbers, got .*"),
    ],
)
def test_finite_array_refuses(value: object, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{message}$"):
        valid.finite_array("x", value, shape)


def test_a_theorem_speaks_of_no_other_rounds_and_no_other_link():
    setting: dict[str, Any] = {"dim": 10, "noise_scale": 1.0, "kappa": 0.2, "lipschitz": 0.25}
    with pytest.raises(InvalidInputError, match=r"kappa must be at most lipschitz = 0\.25, got 1"):
        theory.huber_theorem(**setting | {"kappa": 1.0})
    with pytest.raises(InvalidInputError, match="sharper must be True or False, got 'no'"):
        theory.huber_theorem(**setting | {"sharper": "no"})
    promise = theory.huber_theorem(**setting, horizon=10)
    with pytest.raises(InvalidInputError, match="t must be a whole number >= 0, got -1"):
        promise.radius(-1)
    with pytest.raises(InvalidInputError, match="t must be a whole number >= 1, got 0"):
        promise.regret(0)
    with pytest.raises(InvalidInputError, match="t must be at most the horizon of 10, got 100"):
        promise.radius(100)


def test_corrected_is_a_flag():
    known: dict[str, Any] = {"dim": 10, "horizon": 100, "kappa": 0.2, "bound": 1.0}
    known["corrected"] = "no"
    with pytest.raises(InvalidInputError, match="corrected must be True or False, got 'no'"):
        theory.truncation_region(**known, raw_moment=1.0)
    with pytest.raises(InvalidInputError, match="corrected must be True or False, got 'no'"):
        theory.median_radius(**known, central_moment=1.0)


def test_what_the_theorem_of_columns_does_not_cover_is_not_promised() -> None:
    numbers: Any = {"dim": 3, "horizon": 10**6, "central_moment": 1.0, "lipschitz": 0.25}
    few = theory.column_theorem(**numbers, kappa=0.2, plays=20)
    with pytest.raises(InvalidInputError, match="plays must be at least 75"):
        few.regret()
    with pytest.raises(InvalidInputError, match="kappa must be at most lipschitz"):
        theory.column_theorem(**numbers, kappa=0.3)


# ---- CRAL


def pareto(tail: float) -> Callable[[Any], Any]:
    return lambda x: np.maximum(x, 1.0) ** -tail


LAWS: dict[str, tuple[Any, float, float]] = {  # survival, mean, C of the page
    "exponential": (lambda x: np.exp(-np.maximum(x, 0.0)), 1.0, 0.317),
    "its mirror": (lambda x: 1.0 - np.exp(np.minimum(x, 0.0)), -1.0, 0.317),
    "Weibull .5": (lambda x: np.exp(-np.sqrt(np.maximum(x, 0.0))), 2.0, 0.635),
    "Pareto 3": (pareto(3.0), 1.5, 0.500),
    "Pareto 2": (pareto(2.0), 2.0, 0.661),
    "Pareto 1.5": (pareto(1.5), 3.0, 1.000),
    "Pareto 1.2": (pareto(1.2), 6.0, 2.179),
    "Pareto 1.1": (pareto(1.1), 11.0, 4.519),
    "sales": (lambda x: np.where(x < 0, 1.0, 0.01 * pareto(1.7)(x)), 0.017 / 0.7, 4.500),
    "atom": (lambda x: np.where(x < 0, 1.0, np.where(x < 7, 0.04, 0.0)), 0.28, 2.0),
    "symmetric": (lambda x: 0.5 - 0.5 * np.sign(x) * (1.0 - np.exp(-abs(x))), 0.0, 0.0),
}


@pytest.mark.parametrize("name", LAWS)
def test_c_of_known_laws(name):
    survival, mean, wanted = LAWS[name]
    assert theory.asymmetry_of_tail(survival, mean) == pytest.approx(wanted, abs=2e-3)
    stretched = theory.asymmetry_of_tail(lambda x: survival(x / 100.0), 100.0 * mean)
    assert stretched == pytest.approx(wanted, abs=2e-3)


def test_c_of_noises():
    assert theory.asymmetry_of(noises.StudentT(0.5)) == 0.0
    assert theory.asymmetry_of(noises.Pareto(1.2, 5.0)) == pytest.approx(2.179, abs=1e-3)
    assert theory.asymmetry_of(noises.LogNormal(2.0)) == pytest.approx(1.120, abs=1e-3)
    with pytest.raises(InvalidInputError, match="must have a mean"):
        theory.asymmetry_of(noises.Pareto(0.9, centred=False))
    with pytest.raises(InvalidInputError, match="asymmetry_of_tail"):
        theory.asymmetry_of(noises.AlphaStable(1.5, 0.5))
    with pytest.raises(InvalidInputError, match="a law with a mean"):
        theory.asymmetry_of_tail(pareto(0.9), 1.0)
    with pytest.raises(InvalidInputError, match="not a constant"):
        theory.asymmetry_of_tail(lambda x: np.where(x < 1, 1.0, 0.0), 1.0)


def test_asymmetry_of_tail_refuses_what_is_no_law():
    def mirrored(x):
        return np.where(x > -1.0, 0.0, 1.0 - np.maximum(-x, 1.0) ** -1.1)

    with pytest.raises(InvalidInputError, match="mean must be that of survival, which has 1, got"):
        theory.asymmetry_of_tail(lambda x: np.exp(-np.maximum(x, 0.0)), 5.0)
    with pytest.raises(InvalidInputError, match=r"pass Pr\(-X > x\)"):  # it was 4.21, C is 4.52
        theory.asymmetry_of_tail(mirrored, -11.0)
    wrong: Any
    for wrong in (lambda x: 0.5, lambda x: 2.0 + 0.0 * x, lambda x: np.full_like(x, np.nan)):
        with pytest.raises(InvalidInputError, match="survival must return a probability"):
            theory.asymmetry_of_tail(wrong, 1.0)
    with pytest.raises(InvalidInputError, match="mean must be a finite number"):
        theory.asymmetry_of_tail(pareto(2.0), math.nan)
    assert theory.asymmetry_of(noises.LogNormal(8.0)) == pytest.approx(633.8, abs=0.1)


@pytest.mark.parametrize("asymmetry", [-5.0, -0.1, math.nan, "1", None])
def test_rarest_atom_of_no_asymmetry(asymmetry):
    with pytest.raises(InvalidInputError, match="asymmetry must"):
        theory.rarest_atom(asymmetry)


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.1, 0.25, 0.3, 0.45, 0.8])
def test_c_of_a_lone_atom(p):
    """The supremum over tau of the exact ratio, and the inverse."""
    tau = np.logspace(-9, 2, 200_001)
    high, low = min(1 - p, p), max(1 - p, p)  # sizes of eta, with probabilities low and high
    clip = np.minimum(tau, low) * high - np.minimum(tau, high) * low
    square = np.minimum(tau, low) ** 2 * high + np.minimum(tau, high) ** 2 * low
    assert theory.asymmetry_of_atom(p) == pytest.approx(
        np.max(np.abs(clip) * tau / square), rel=1e-6
    )
    assert theory.rarest_atom(theory.asymmetry_of_atom(p)) == pytest.approx(min(p, 1 - p))


def test_the_theorem_of_cral():
    """The sizes that section "Weakest steps" of the page states."""
    plain = theory.doubling_theorem(dim=10, asymmetry=0.0)
    assert round(plain.radius(10**6, noise_scale=1.0)) == 1834
    level = plain.confidence(10**6)
    early = plain.largest_threshold(10**6, 1.0) * math.sqrt(level / plain.confidence(1))
    assert early > plain.largest_threshold(10**6, 1.0)
    for asymmetry, when in ((0.0, 1.8e9), (1.0, 3e10)):
        made = theory.doubling_theorem(dim=10, asymmetry=asymmetry)
        assert made.regret(int(when), 1.0) < 2.0 * when < 3.0 * made.regret(int(when), 1.0)
        assert made.regret(int(when / 2), 1.0) > when
    assert theory.doubling_theorem(dim=1, asymmetry=1.0).least_threshold == pytest.approx(
        45, abs=0.5
    )
    assert plain.least_threshold == pytest.approx(14.44, abs=0.01)


def test_the_parts_of_crals_theorem():
    small = theory.doubling_theorem(dim=2, asymmetry=0.0, penalty=1e-6)
    assert small.largest_threshold(100, 1.0, 0.5) == pytest.approx(
        2 * (2.14 / math.log(1000)) ** (2 / 3) * 100 ** (1 / 6) * math.sqrt(small.volume(100))
    )
    lies = theory.doubling_theorem(dim=2, asymmetry=1.0, corruption=3.0)
    assert lies.factor == 37.0
    clean = theory.doubling_theorem(dim=2, asymmetry=1.0)
    assert lies.regret(1000, 1.0) > clean.regret(1000, 1.0)
    known = theory.doubling_theorem(dim=2, asymmetry=1.0, horizon=1000)
    assert known.confidence(1) == known.confidence(1000) == math.log(5e5)
    assert clean.doublings(1000, 1e-9) == 0
    assert clean.largest_threshold(1000, 1e-9) == clean.threshold
    with pytest.raises(InvalidInputError, match="at most the horizon of 1000"):
        known.regret(1001, 1.0)
