"""Every policy of the library passes every check, and one that breaks a promise does not."""

from typing import Any, NamedTuple

import pytest

import heavybandits as hb
from all_policies import DRAWING, POLICIES
from heavybandits._utils.errors import PolicyError
from heavybandits.parts.filters.memory import Memory, make_memory
from heavybandits.testing.check_policy import check_policy, list_checks


@pytest.mark.parametrize("name", POLICIES | DRAWING)
def test_our_policies_keep_their_promises(name: str) -> None:
    assert check_policy((POLICIES | DRAWING)[name]) == list(list_checks())


def test_each_check_says_what_it_asks() -> None:
    checks = list_checks()
    assert len(checks) >= 25
    assert all(text.endswith(".") for text in checks.values())


class Magnify(NamedTuple):
    """A filter that lets large rewards overflow."""

    plays: int = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        return rewards[0] * 1e250


BROKEN = hb.linucb(dim=3, radius=1.0, filter=Magnify())
REASONS = {"extreme_rewards": "it magnifies them"}


def test_a_broken_promise_is_named() -> None:
    with pytest.raises(PolicyError, match=r"^1 of \d+ checks failed for UCB\(") as caught:
        check_policy(BROKEN)
    assert "\n  extreme_rewards: estimate.region.centre is not finite" in str(caught.value)


def test_known_failures_are_listed_and_must_be_true() -> None:
    assert check_policy(BROKEN, expected_failures=REASONS) == [
        name for name in list_checks() if name != "extreme_rewards"
    ]
    with pytest.raises(PolicyError, match="reset: passes, but was expected to fail"):
        check_policy(BROKEN, expected_failures={**REASONS, "reset": "it does not"})
    with pytest.raises(
        hb.InvalidInputError, match="expected_failures must name checks, got resett"
    ):
        check_policy(BROKEN, expected_failures={"resett": ""})


def test_what_is_no_policy_fails_in_words() -> None:
    with pytest.raises(
        PolicyError, match="methods: it lacks init, choose, learn, estimate_arm, tally"
    ):
        check_policy(hb.filters.Clip(1.0)._asdict())  # type: ignore[arg-type]


def test_one_reason_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in `init` was repeated 27 times."""

    def fail(policy: Any) -> None:
        raise OSError("not today")

    list_checks()
    monkeypatch.setattr("heavybandits.testing.check_policy.CHECKS", dict.fromkeys("abcdefg", fail))
    with pytest.raises(PolicyError, match=r"^7 of 7 checks failed for UCB\(") as caught:
        check_policy(hb.linucb(dim=2, radius=1.0))
    assert str(caught.value).count("not today") == 1
    assert "\n  a, b, c, d, e and 2 others: OSError: not today" in str(caught.value)


def test_a_field_that_is_invalid_is_said_at_once() -> None:
    policy = hb.linucb(dim=2, radius=1.0)._replace(filter=Magnify(plays=0))
    with pytest.raises(hb.InvalidInputError, match="plays must be a whole number >= 1, got 0"):
        check_policy(policy)
