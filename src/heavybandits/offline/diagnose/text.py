"""A diagnosis as text for the terminal, as plain values for JSON, and as one line."""

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..._utils.display import Card
from ..._utils.files import jsonable
from .advice import advise, recommend, show_index, show_name, show_number
from .fit import Bin, Fit
from .sales import MOSTLY, OFTEN, Amounts, Base, Group
from .tail_index import Tail

if TYPE_CHECKING:
    from .diagnosis import Diagnosis

MOMENTS = ("mean", "variance", "third", "fourth")
WIDTH, MARGIN = 100, 16  # columns of the text, and of the name of a line
HIGH = 10.0  # level from which a line mentions it
FAR = 100.0  # ratio of the sizes of two columns from which a line mentions it


def write_text(diagnosis: "Diagnosis") -> str:
    """Return the diagnosis as a page of text: the verdict, what was found, the details."""
    advice = advise(diagnosis)
    lines = [
        f"Verdict: {f'use {advice.code}' if advice.code else 'no policy'}",
        *(_wrap(f"- {reason}", 2) for reason in advice.reasons),
        "",
        *(_line(name, words) for name, words in _findings(diagnosis)),
        "",
        "For algorithms with parameters:",
        *(_line(name, words) for name, words in _parameters(diagnosis)),
        *(_wrap(f"  {name}: {words}.", 4) for name, words in advice.assumptions.items()),
        "",
        f"Tails of the {_kind(diagnosis)}:",
        _describe_tail("upper", diagnosis.upper),
        _describe_tail("lower", diagnosis.lower),
    ]
    return "\n".join(lines)


def make_card(diagnosis: "Diagnosis") -> Card:
    """Return the diagnosis in a few lines."""
    name, base = recommend(diagnosis), diagnosis.base
    often = base.share >= OFTEN
    facts = {
        "recommended": "no policy can learn from them" if name == "none" else name,
        "tail index": show_index(diagnosis.tail_index),
        "most common": f"{base.share:.1%} of the rewards are {base.value:.4g}" if often else None,
        "features": diagnosis.dim,
        "details": "print(diagnosis), diagnosis.plot()",
    }
    return Card(f"Diagnosis of {diagnosis.rows:,} rewards", facts)


def write_dict(diagnosis: "Diagnosis") -> dict[str, Any]:
    """Return the diagnosis as plain values; infinite numbers become None."""
    advice = advise(diagnosis)
    names = ("rows", "dim", "horizon", "delta", "zeros", "scale", "level", "heavy", "moments")
    plain = {name: getattr(diagnosis, name) for name in names}
    plain["square_shares"] = diagnosis.square_shares
    for name in ("tail_index", "epsilon", "raw_moment", "central_moment", "symmetry"):
        plain[name] = getattr(diagnosis, name)._asdict()
    for name in ("base", "amounts", "units", "mean", "rate", "asymmetry"):
        plain[name] = _name_fields(getattr(diagnosis, name))
    plain["rate_bins"] = [each._asdict() for each in diagnosis.rate_bins]
    for name in ("upper", "lower"):
        tail = getattr(diagnosis, name)
        plain[name] = None if tail is None else vars(tail) | {"ladder": vars(tail.ladder)}
    return jsonable({**plain, "advice": advice._asdict()})


def _name_fields(value: Any) -> Any:
    """Return named tuples as dictionaries, also those inside of others."""
    if hasattr(value, "_asdict"):
        return {name: _name_fields(field) for name, field in value._asdict().items()}
    return value


# ---- what was found


def _findings(diagnosis: "Diagnosis") -> Iterator[tuple[str, str]]:
    """Yield the lines for everyone; lines without news are left out."""
    yield "rewards", _about_rewards(diagnosis)
    if diagnosis.level >= HIGH:
        yield "level", _about_level(diagnosis.level)
    if diagnosis.units is not None and diagnosis.units.most >= FAR * diagnosis.units.least:
        units = diagnosis.units
        yield (
            "units",
            f"the size of {show_name(units.smallest)} is {units.least:.3g}, that of "
            f"{show_name(units.largest)} {units.most:.3g}: auto does not depend on the units of "
            "columns, for other policies scale them (an Encoder does)",
        )
    if diagnosis.amounts is not None:
        yield from _about_amounts(diagnosis.amounts, diagnosis.base)
    yield "mean", _about_mean(diagnosis.mean)
    if diagnosis.rate is not None:
        yield "rate of sales", _about_rate(diagnosis.rate, diagnosis.rate_bins)
    yield "tail index", show_index(diagnosis.tail_index)
    pairs = zip(MOMENTS, diagnosis.moments.values(), strict=True)
    yield "moments exist", ", ".join(f"{name}: {word}" for name, word in pairs)
    shares = {k: f"{v:.1%}" for k, v in diagnosis.square_shares.items() if k != "per_mille"}
    yield (
        "sum of squares",
        f"the largest {', '.join(shares)} rows carry {', '.join(shares.values())}",
    )
    symmetry = diagnosis.symmetry
    yield (
        "symmetric",
        f"{'yes' if symmetry.symmetric else 'no'}: both sides of the noise differ by "
        f"{symmetry.distance:.3f} (by chance: up to {symmetry.error:.3f})",
    )


def _about_rewards(diagnosis: "Diagnosis") -> str:
    base, amounts = diagnosis.base, diagnosis.amounts
    words = f"{diagnosis.rows:,}, mean |reward| {diagnosis.scale:.4g}"
    if base.share >= OFTEN:
        words += f"; {base.share:.1%} of them are {base.value:.4g}"
        if amounts is not None and amounts.rows:
            words += f", the median of the others is {amounts.median:.4g}"
    return words


def _about_level(level: float) -> str:
    return (
        f"rewards are {_round(level)} times as large as they differ from each other: auto learns "
        "this mean, for other policies subtract it"
    )


def _about_amounts(amounts: Amounts, base: Base) -> Iterator[tuple[str, str]]:
    if amounts.depends is None:
        return
    if not amounts.depends:
        yield "amounts", f"no sign that rewards other than {base.value:.4g} depend on the action"
        return
    words = f"depend on {show_name(amounts.column or '')} (rank correlation {amounts.strength:.2f})"
    cheap, expensive = amounts.cheap, amounts.expensive
    if cheap is not None and expensive is not None and cheap.name != expensive.name:
        words += (
            f": median {cheap.amount:.4g} for {show_name(cheap.name)}, {expensive.amount:.4g} for "
            f"{show_name(expensive.name)}"
        )
    yield "amounts", words
    if base.share >= MOSTLY and cheap is not None and expensive is not None:
        rare = expensive.rate < cheap.rate
        yield "rare sales" if rare else "sales", _about_rarity(amounts, cheap, expensive)


def _about_rarity(amounts: Amounts, cheap: Group, expensive: Group) -> str:
    words = (
        f"{show_name(expensive.name)} sold in {expensive.rate:.1%} of {expensive.rows:,} rows, "
        f"{show_name(cheap.name)} in {cheap.rate:.1%} of {cheap.rows:,}"
    )
    if amounts.unsold:
        words += f"; {amounts.unsold} of {amounts.groups} actions never sold"
    return words


def _about_mean(fit: Fit | None) -> str:
    if fit is None:
        return "not checked: needs features, and rewards that differ"
    if fit.fits is None:
        return f"unknown: the check {fit.reason}"
    if fit.fits:
        return "linear in these features, as far as these rows show"
    return (
        f"the mean is not linear in these features: add {' and '.join(map(show_name, fit.columns))}"
    )


def _about_rate(fit: Fit, bins: list[Bin]) -> str:
    if fit.fits is None:
        return f"unknown: the check {fit.reason}"
    if fit.fits:
        return "a logistic model fits, as far as these rows show"
    worst = max(bins, key=lambda one: abs(math.log((one.observed + 1e-4) / (one.predicted + 1e-4))))
    return (
        f"a logistic model does not fit: where it predicts {worst.predicted:.1%}, "
        f"{worst.observed:.1%} sold{_about_columns(fit)}"
    )


def _about_columns(fit: Fit) -> str:
    return f": add {' and '.join(map(show_name, fit.columns))}" if fit.columns else ""


def _round(number: float) -> str:
    """Return a large number with two digits.

    >>> _round(1_046.0), _round(1.23e20)
    ('1,000', '1.2e+20')
    """
    return f"{float(f'{number:.2g}'):,.0f}" if number < 1e9 else f"{number:.2g}"


# ---- details


def _kind(diagnosis: "Diagnosis") -> str:
    if diagnosis.dim is None:
        return "rewards about their median"
    return "noise left by a linear fit"


def _parameters(diagnosis: "Diagnosis") -> Iterator[tuple[str, str]]:
    epsilon, raw, central = diagnosis.epsilon, diagnosis.raw_moment, diagnosis.central_moment
    yield "  epsilon", f"{epsilon.value:.2f} ({epsilon.low:.2f} to {epsilon.high:.2f})"
    yield (
        "  u, raw",
        f"{raw.value:.4g} ({raw.low:.4g} to {raw.high:.4g}) for rewards / {diagnosis.scale:.4g}",
    )
    yield "  v, central", f"{central.value:.4g} ({central.low:.4g} to {central.high:.4g})"


def _describe_tail(name: str, tail: Tail | None) -> str:
    if tail is None:
        return f"  {name:<6} no tail to speak of (too few different values)"
    ladder = tail.ladder
    rungs = range(0, ladder.count.size, max(1, ladder.count.size // 6))
    shown = "  ".join(f"{ladder.count[i]}:{show_number(ladder.index[i])}" for i in rungs)
    pareto = f"generalised Pareto xi {tail.pareto:+.2f} +- {tail.error:.2f}"
    if not math.isfinite(tail.pareto):
        pareto = "no generalised Pareto fit (too many equal values)"
    if tail.contradicted:
        pareto += ", which contradicts it: look at the plot before you rely on either"
    interval = f"{show_number(tail.low)} to {show_number(tail.high)}"
    return (
        f"  {name:<6} Hill {show_number(tail.index)} ({interval}) from "
        f"the {tail.count} rows beyond {tail.threshold:.4g}; {pareto}\n         k:Hill  {shown}"
    )


def _line(name: str, words: str) -> str:
    """Return a line with its name in a column of its own."""
    return _wrap(f"{name:<{MARGIN}}{words}", MARGIN)


def _wrap(words: str, indent: int) -> str:
    given = {"width": WIDTH, "break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(words, subsequent_indent=" " * indent, **given)  # type: ignore[arg-type]
