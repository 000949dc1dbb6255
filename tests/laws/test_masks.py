"""A masked arm is never chosen, whatever becomes of the numbers."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.core.arm_buffer import make_arm_buffer, measure_all, pick
from heavybandits.core.confidence_region import make_region
from heavybandits.parts.estimators.one_pass import RegionEstimate
from heavybandits.parts.policies.elimination import mark_offered, take_best, widest

INDICES = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0, 1e300])


class Wild(NamedTuple):
    """A radius that is what it is told to be."""

    value: float

    def radius(self, estimate: RegionEstimate, t: int) -> float:
        return self.value * 10.0  # what overflows, or is no number, stays that


@given(
    arms=st.lists(st.tuples(INDICES, st.booleans()), min_size=1, max_size=12).filter(
        lambda arms: any(allowed for _, allowed in arms)
    ),
    width=st.sampled_from([0.0, 1.0, math.inf, math.nan]),
)
def test_no_index_beats_the_mask(arms, width):
    """D7: an infinite index beat an infinite penalty, 129 times."""
    buffer = make_arm_buffer(2, len(arms))
    for k, (index, allowed) in enumerate(arms):
        buffer.scores[k], buffer.squares[k] = index, abs(index)
        buffer.penalty[k] = 0.0 if allowed else np.inf
    with np.errstate(invalid="ignore"):
        assert arms[pick(buffer, width)][1]
    mark_offered(buffer)
    for k, (index, _) in enumerate(arms):
        buffer.widths[k] = index
    with np.errstate(invalid="ignore"):
        assert arms[take_best(buffer, buffer.squares)][1]
    assert arms[widest(buffer, buffer.squares)][1]


def test_among_ordinary_indices_the_largest_on_offer_is_picked():
    buffer, region = make_arm_buffer(2, 3), make_region(2, 1.0)
    buffer.features[:, :3] = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    buffer.penalty[2] = np.inf
    measure_all(buffer, region)
    assert pick(buffer, 1.0) == 1
    assert buffer.chosen.tolist() == [2.0, 0.0]


def settings() -> dict[str, Any]:
    """Policies and lengths of arms at which masked arms were chosen, or states were not finite."""
    linucb = hb.linucb(dim=5, radius=1.0)
    exponential: dict[str, Any] = {"dim": 5, "link": hb.links.Exponential()}
    return {
        "wild": (linucb._replace(radius=Wild(1e308)), 1.0),
        "steep": (hb.crtm(**exponential, horizon=1000, raw_moment=1.0), 9e5),
        "steep gloc": (hb.gloc(**exponential), 9e5),
    }


@pytest.mark.parametrize("name", settings())
@pytest.mark.filterwarnings("ignore:an arm has norm")
def test_an_agent_keeps_to_the_mask_and_its_state_stays_finite(name):
    """D7, from the outside: 60 decisions under changing masks."""
    policy, length = settings()[name]
    rng = np.random.default_rng(5)
    arms = rng.normal(size=(4, 5))
    arms *= length / np.linalg.norm(arms, axis=1)[:, None]
    agent = hb.Agent(policy)
    for _ in range(60):
        mask = rng.permutation([True, True, True, False])
        ticket = agent.select(arms, mask=mask)
        assert mask[ticket.arm]
        assert math.isfinite(ticket.expected)
        assert math.isfinite(ticket.width)
        agent.update(ticket, float(rng.standard_t(2)) * 1e3)
    region = agent._state.learned.estimate.region
    assert all(np.isfinite(array).all() for array in region)
