"""Recorders: columns of the result that describe the policy, and change nothing."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from all_parts import examples
from heavybandits.core.compile import compiled
from heavybandits.core.dispatch import threshold_in_force
from heavybandits.recorders import Choices, Coverage, Theta, Threshold
from heavybandits.simulation.problem import check_problem
from naive_loop import play_naively

THETA = np.array([0.6, -0.5, 0.3])
PROBLEM = hb.Problem(
    hb.arms.Fixed(5, 3, -1.0),
    hb.links.Identity(),
    hb.noises.StudentT(3.0),
    THETA,
    drift=hb.worlds.Jumps(30),
)
POLICY: Any = hb.linucb(dim=3, radius=1.0, filter=hb.filters.AdaptiveClip())
SIZES: dict[str, Any] = {"horizon": 80, "repetitions": 2, "seed": 4, "checkpoints": range(1, 81)}


class Longest(NamedTuple):
    """The largest |theta| so far: a recorder of one's own."""

    @property
    def columns(self):
        return ("longest",)

    def start(self):
        return Kept(np.zeros(1))

    def watch(self, memory, policy, state, theta):
        centre = state.estimate.region.centre
        for i in range(centre.size):
            memory.most[0] = max(memory.most[0], abs(centre[i]))

    def record(self, memory, policy, state, theta, buffer, reward, out):
        out[0] = memory.most[0]


class Kept(NamedTuple):
    most: Any


@pytest.fixture(scope="module")
def result():
    recorders: Any = [Choices(), Theta(3), Coverage(), Threshold(), Longest()]
    return hb.simulate(POLICY, PROBLEM, **SIZES, record=recorders)


def test_columns_are_those_of_a_naive_loop(result):
    problem, data = check_problem(PROBLEM), result.data
    for repetition in range(2):
        mine = data["repetition"] == repetition
        seen = play_naively(POLICY, problem, 80, 4, repetition)
        np.testing.assert_allclose(data["reward"][mine], seen.rewards, rtol=1e-9)
        state, buffer, inside, longest = POLICY.init(), problem.arms.make_buffer(), 0, 0.0
        problem.arms.refresh(buffer, hb.authoring.stream_key(4, repetition, 0), 0)
        for t in range(80):
            arm = POLICY.choose(state, problem.arms, buffer)
            assert data["arm"][mine][t] == arm
            POLICY.learn(state, buffer.chosen.copy(), np.array([seen.rewards[t]]))
            region = state.estimate.region
            centre = [data[f"theta_{i}"][mine][t] for i in range(3)]
            np.testing.assert_allclose(centre, region.centre, rtol=1e-9, atol=1e-12)
            off = seen.thetas[t] - region.centre
            distance = np.sqrt(off @ (region.design + region.recent) @ off)
            assert data["distance"][mine][t] == pytest.approx(distance, rel=1e-9)
            assert data["radius"][mine][t] == 1.0
            inside, longest = inside + (distance <= 1.0), max(longest, np.abs(region.centre).max())
            assert data["covered"][mine][t] == pytest.approx(inside / (t + 1))
            assert data["longest"][mine][t] == pytest.approx(longest, rel=1e-9)
            cut = POLICY.filter.threshold_in_force(state.memory)
            assert data["threshold"][mine][t] == pytest.approx(cut, rel=1e-9)


def test_a_recorded_run_has_the_same_regret_as_another(result):
    plain = hb.simulate(POLICY, PROBLEM, **SIZES)
    assert plain.data["regret"].tobytes() == result.data["regret"].tobytes()
    assert set(result.columns) - set(plain.columns) >= {"arm", "theta_2", "covered", "longest"}


def test_the_cells_of_a_sweep_have_the_columns(result):
    swept = hb.sweep(POLICY, PROBLEM, **SIZES, jobs=1, record=[Choices(), Coverage()])
    for name in ("arm", "reward", "covered"):
        assert swept.data[name].tobytes() == result.data[name].tobytes()


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Theta(4), r"Theta.dim must be that of policies\['policy'\], 3, got 4"),
        ([Choices(), Choices()], "columns that are not in the result yet, got 'arm'"),
        ([hb.links.Identity()], r"record\[0\] must be a recorder"),
    ],
)
def test_what_cannot_be_recorded_is_rejected(record, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.simulate(POLICY, PROBLEM, **SIZES, record=record)


def test_a_policy_without_a_region_of_the_arms_is_rejected():
    with pytest.raises(hb.InvalidInputError, match="Coverage needs a confidence region"):
        hb.simulate(hb.auto(dim=3), PROBLEM, **SIZES, record=Coverage())


def threshold_kernel(stamp):
    def kernel(part, memory):
        stamp  # noqa: B018
        return threshold_in_force(part, memory)

    return kernel


CLIPPING = [p for p in examples("filter", "estimator") if hasattr(p, "threshold_in_force")]


@pytest.mark.parametrize("part", CLIPPING, ids=lambda part: type(part).__name__)
def test_a_threshold_can_be_read_in_compiled_code(part):
    memory = part.init()
    read = compiled(threshold_kernel, part, memory)
    assert read(part, memory) == part.threshold_in_force(memory)
