"""Which policy: five questions, and the rules that answer them.

The command `choose`, the page of that name and the tail doctor all read the rules here.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..._utils.errors import InvalidInputError
from ..._utils.validation import one_of

When = Mapping[str, tuple[str, ...]]  # question -> answers, any of which will do


class Question(NamedTuple):
    """A question, and its answers: what to type -> what it means."""

    text: str
    answers: dict[str, str]


QUESTIONS = {
    "known": Question(
        "What do you know about the rewards?",
        {
            "nothing": "nothing, not even that their unit will stay the same",
            "scale": "their unit, and a radius that did well in a replay or an earlier run",
            "reward-moment": "a bound on E|reward|^p for some p in (1, 2], and the horizon",
            "noise-moment": "a bound on E|noise|^p for some p in (1, 2], and the horizon",
            "noise_scales": "how noisy each single reward is",
        },
    ),
    "tails": Question(
        "How heavy are their tails?",
        {
            "light": "bounded or nearly Gaussian: zeros and ones, ratings, scores",
            "mild": "a tail index above 2.5: large values now and then, and a variance",
            "heavy": "a tail index below 2.5: a few rows dwarf the rest",
            "no-mean": "a tail index below 1: not even a mean",
            "unknown": "you have not looked yet",
        },
    ),
    "arms": Question(
        "Do the arms stand still?",
        {
            "still": "yes: the same arms can be played hundreds of times in a row",
            "changing": "no: other features for every customer, day or decision",
        },
    ),
    "noise": Question(
        "Is the noise symmetric?",
        {
            "symmetric": "yes: a surprise is as often good as bad, and as large",
            "skewed": "no: sales, costs, delays and refunds lie on one side",
            "unknown": "you cannot tell",
        },
    ),
    "data": Question(
        "Will it learn from logs or live?",
        {
            "live": "it decides, and sees the rewards of what it has chosen",
            "logs": "it is tried on decisions or rows that are already there",
        },
    ),
}


class Rule(NamedTuple):
    """What to use `when` these answers are given: a `call`, `why`, a `page`, the `evidence`.

    `evidence` is a command that can be run again, and `found` what came out of it.
    """

    when: When
    name: str
    call: str
    why: str
    page: str
    evidence: str
    found: str


_MOMENTS = ("reward-moment", "noise-moment")
_NO_CONSTANTS = "heavybandits reproduce noconstants --full"
_CRHL = "hb.crhl(dim=10, noise_scale=1.0, link=hb.links.Identity()"

# The first that fits is the answer; the last one always does.
RULES = (
    Rule(
        {"tails": ("no-mean",)},
        "auto, for bounded rewards",
        "hb.auto(dim=10)",
        "No method can rank arms by a mean that does not exist, so give it a bounded version of "
        "the reward: its rank, its logarithm, or a cap.",
        "choose_constants.md",
        "heavybandits diagnose orders.csv --reward revenue",
        "it says which moments exist; the map of who wins where (`heavybandits reproduce map`) "
        "begins at a tail index of 1.1",
    ),
    Rule(
        {"known": ("noise_scales",)},
        "crhl, told each noise scale",
        f"{_CRHL}, radius_scale=0.05)",
        "Told how noisy each reward is, `agent.update(ticket, reward, noise_scale=...)`, it weighs "
        "them accordingly.",
        "maths/crhl.md",
        "heavybandits reproduce beyond --full",
        "where the noise is ten times louder in every second play, being told took its regret to "
        "0.12 to 0.24 of what it was",
    ),
    Rule(
        {"tails": ("light",), "known": ("scale", *_MOMENTS)},
        "linucb",
        "hb.linucb(dim=10, noise_scale=1.0)",
        "With light tails there is nothing to clip: plain LinUCB is simpler, has a theorem, and "
        "other libraries have it too.",
        "peers.md",
        "heavybandits reproduce map --full",
        "where tails are light and the noise is low it has the lowest regret, by 1.1 to 1.35 times",
    ),
    Rule(
        {
            "known": ("noise-moment",),
            "arms": ("still",),
            "noise": ("symmetric",),
            "data": ("live",),
        },
        "crmm",
        "hb.crmm(dim=10, horizon=1_000_000, central_moment=1.0, epsilon=0.5, "
        "link=hb.links.Identity())",
        "The median of many plays of one arm ignores monsters, if the noise is symmetric and the "
        "horizon long: of a million plays it needs 317 to learn once.",
        "choose_constants.md",
        "heavybandits reproduce figure1 --full",
        "level with CRTM on fixed arms under Student's t after a million plays; with only 5000 "
        "plays it wins next to nowhere on the map, and CRHL is the better choice",
    ),
    Rule(
        {"known": ("noise-moment",)},
        "crhl",
        f"{_CRHL}, epsilon=0.5, horizon=100_000)",
        "Its theorem needs a central moment and neither symmetry nor repeated plays. The theorem's "
        "radius is safe and wide; `radius_scale` 0.01 to 0.1 learns faster, without a theorem.",
        "maths/crhl.md",
        "heavybandits reproduce beyond --full",
        "less regret than CRTM on 24 of 28 problems; without a variance LinUCB with AdaptiveClip, "
        "which has no theorem, is ahead of it by 1.2 to 2.4 times",
    ),
    Rule(
        {"known": ("reward-moment",)},
        "crtm",
        "hb.crtm(dim=10, horizon=100_000, raw_moment=1.0, epsilon=0.5, link=hb.links.Identity())",
        "Its theorem needs a raw moment and no symmetry. The theorem's radius is safe and wide; a "
        "`radius_scale` from 0.0001 to 1, chosen by a replay, learns faster, without a theorem.",
        "choose_constants.md",
        "heavybandits reproduce outlier --full",
        "one reward of -10 000 costs it nothing that could be measured; if you can bound the noise "
        "alone, crhl has less regret nearly everywhere (`heavybandits reproduce beyond --full`)",
    ),
    Rule(
        {"known": ("scale",)},
        "linucb with AdaptiveClip",
        "hb.linucb(dim=10, radius=1.0, filter=hb.filters.AdaptiveClip())",
        "With a radius that suits the unit of the rewards, a clip that sets its own level is all "
        "that heavy tails call for.",
        "choose_constants.md",
        "heavybandits reproduce map --full",
        "lower regret than LinUCB, CRTM, CRHL, CRMM and CRCM where the tail index is below two and "
        "the noise matters; but a radius of 1 that suits dollars has in cents 28 times the regret "
        f"of the best one, at the 90% point of 65 problems (`{_NO_CONSTANTS}`)",
    ),
    Rule(
        {"tails": ("light",)},
        "auto, though nothing needs it",
        "hb.auto(dim=10)",
        "With light tails nothing needs robustness, but LinUCB needs the scale of the noise, which "
        "`auto` finds by itself; once you know it, `linucb` has a theorem.",
        "peers.md",
        _NO_CONSTANTS,
        "0.98 times the regret of the best constant radius in the median of 55 problems, some of "
        "them Gaussian",
    ),
    Rule(
        {},
        "auto",
        "hb.auto(dim=10)",
        "It needs no number from you: scale, level, width and penalty come from the data, in any "
        "unit.",
        "robust_policy.md",
        _NO_CONSTANTS,
        "0.98 times the regret of the best constant radius in the median of 55 problems, 1.2 at "
        "the 90% point, 1.5 at worst",
    ),
)

# All that fit are said.
NOTES: tuple[tuple[When, str], ...] = (
    (
        {"data": ("logs",)},
        "Try it on the log first: `hb.replay` if the reward of every row is known "
        "(replay_your_logs.md), `hb.evaluate` if only that of the chosen arm is "
        "(evaluate_a_policy.md).",
    ),
    (
        {"tails": ("unknown",)},
        "Ask how heavy the tails are: `heavybandits diagnose orders.csv --reward revenue`.",
    ),
    (
        {"tails": ("mild", "heavy", "unknown"), "noise": ("skewed", "unknown")},
        "Keep an intercept among the features: clipping skewed noise shifts all rewards alike.",
    ),
    (
        {"known": ("nothing",), "arms": ("still",)},
        "The weak spot of `auto` is arms that stand still under light-tailed noise: there a run "
        f"may settle on an arm that is not the best (`{_NO_CONSTANTS}`).",
    ),
    (
        {},
        "Do not use any of ours if no weighted sum of your features explains the mean reward, or "
        "if you have no features (peers.md).",
    ),
)


class Recommendation(NamedTuple):
    """The `rule` that fits, the `page` to read and the `notes` to mind."""

    rule: Rule
    page: str
    notes: tuple[str, ...]


def choose(answers: Mapping[str, str]) -> Recommendation:
    """The first rule that fits these answers to all `QUESTIONS`.

    >>> answers = {"known": "nothing", "tails": "heavy", "arms": "changing", "noise": "skewed"}
    >>> choose(answers | {"data": "live"}).rule.call
    'hb.auto(dim=10)'
    """
    if set(answers) != set(QUESTIONS):
        raise InvalidInputError(
            f"answers must be to {', '.join(QUESTIONS)}, got {', '.join(answers)}"
        )
    for name, question in QUESTIONS.items():
        one_of(name, answers[name], question.answers)
    rule = next(rule for rule in RULES if fits(rule.when, answers))
    page = "replay_your_logs.md" if answers["data"] == "logs" else rule.page
    return Recommendation(rule, page, tuple(note for when, note in NOTES if fits(when, answers)))


def fits(when: When, answers: Mapping[str, str]) -> bool:
    """Whether every question named is answered in one of these ways.

    >>> fits({"tails": ("mild", "heavy")}, {"tails": "heavy", "noise": "skewed"}), fits({}, {})
    (True, True)
    """
    return all(answers[question] in allowed for question, allowed in when.items())
