"""The live page: the server writes all of it, a small script replaces the parts that change."""

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any
from urllib.parse import urlencode

from .charts import draw_histogram, draw_interval, draw_lines, draw_shares

Summary = Mapping[str, Any]
MOST_ROWS = 20  # of the table of actions
MOST_FEATURES = 12  # of an explanation
MODES = {
    "online": "The policy decides and learns.",
    "apprentice": "The baseline decides; the policy learns from its rewards.",
    "frozen": "The policy decides as it was when it was frozen.",
    "off": "The baseline decides; nothing is recorded.",
}
SPANS = {
    "seconds": (5, "%H:%M:%S", "2 minutes ago", "per second"),
    "minutes": (5, "%H:%M", "3 hours ago", "per minute"),
}


# ---- numbers


def show_number(value: float | None, digits: int = 3) -> str:
    """Return a number for people to read.

    >>> [show_number(x) for x in (None, 12345, 0.123456, -1234.5678, 2.5e7, 1.0)]
    ['-', '12,345', '0.123', '-1,235', '25,000,000', '1']
    """
    if value is None or not math.isfinite(value):
        return "-"
    if abs(value) >= 1e12:
        return f"{value:.2e}"
    if value == int(value):
        return f"{int(value):,}"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{min(places, 9)}f}"


def show_share(value: float) -> str:
    """Return a share in percent."""
    return f"{100.0 * value:.1f}%"


def show_seconds(value: float | None) -> str:
    """Return a duration in its largest unit.

    >>> show_seconds(0.2), show_seconds(95.0), show_seconds(7300.0), show_seconds(None)
    ('0 s', '2 min', '2 h', '-')
    """
    if value is None:
        return "-"
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if value >= 1.5 * size or (value >= size and unit != "min"):
            return f"{value / size:.0f} {unit}"
    return f"{value:.0f} s"


def show_interval(low: float | None, high: float | None) -> str:
    """Return an interval in words."""
    return "-" if low is None else f"{show_number(low)} to {show_number(high)}"


# ---- the page


def write_page(summaries: Iterable[Summary]) -> str:
    """Return the page of these agents, complete without the script."""
    listed = list(summaries)
    parts = {name: html for one in listed for name, html in write_parts(one).items()}
    links = "".join(f'<a href="#{one["agent"]}">{one["agent"]}</a>' for one in listed)
    sections = "".join(_write_section(one["agent"], parts) for one in listed)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<title>Decision service</title>"
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="live.css">'
        '<script src="live.js" defer></script></head><body>'
        "<header><h1>Decision service</h1>"
        f'<nav aria-label="Agents">{links if len(listed) > 1 else ""}</nav>'
        '<div class="spans" role="group" aria-label="Time span of the series">'
        '<button type="button" data-span="seconds" aria-pressed="true">2 min</button>'
        '<button type="button" data-span="minutes" aria-pressed="false">3 h</button></div>'
        '<span id="status" role="status">as of loading</span></header>'
        f'<main data-span="seconds">{sections}</main>'
        '<dialog id="dialog"><form method="dialog"><button aria-label="Close">&times;</button>'
        "</form>"
        '<div id="explanation"></div></dialog></body></html>'
    )


LAYOUT = (  # part, and its columns of twelve on a wide screen
    *(("decisions", "span3"), ("rewards", "span3"), ("latency", "span3"), ("commits", "span3")),
    *(("traffic", "span6"), ("shares", "span6")),
    *(("uplift", "span6"), ("propensities", "span6")),
    ("actions", "span12"),
    *(("tickets", "span4"), ("tails", "span4"), ("settings", "span4")),
    *(("largest", "span8"), ("rollout", "span4")),
)


def _write_section(agent: str, parts: Mapping[str, str]) -> str:
    cards = "".join(
        f'<section class="card {kind}" id="{agent}-{part}">{parts[f"{agent}-{part}"]}</section>'
        for part, kind in LAYOUT
    )
    return (
        f'<article id="{agent}"><div class="title" id="{agent}-title">{parts[f"{agent}-title"]}'
        f'</div><div class="grid">{cards}</div></article>'
    )


def write_parts(one: Summary) -> dict[str, str]:
    """Return the HTML of each part of an agent, by the id of its element."""
    written = {"title": write_title(one)}
    written |= {part: WRITERS[part](one) for part, _ in LAYOUT}
    return {f"{one['agent']}-{part}": html for part, html in written.items()}


def write_title(one: Summary) -> str:
    """Return name, policy, mode and version."""
    tags = [
        ("", "policy", one["policy"]),
        (f"mode {one['mode']}", MODES.get(one["mode"], ""), one["mode"]),
        ("", "version of the policy", f"version {one['version']}"),
        ("", "where events are stored", "durable" if one["durable"] else "in memory"),
    ]
    if not one["ready"]:
        tags.append(("bad", "the agent cannot decide and record yet", "not ready"))
    shown = "".join(
        f'<span class="tag {kind}" title="{escape(words)}">{escape(str(text))}</span>'
        for kind, words, text in tags
    )
    return f"<h2>{escape(one['agent'])}</h2>{shown}"


def _card(title: str, body: str, note: str = "") -> str:
    tail = f'<p class="note">{note}</p>' if note else ""
    return f"<h3>{title}</h3>{body}{tail}"


def _figure(text: str, unit: str = "") -> str:
    return f'<div class="figure">{text}<small>{unit}</small></div>'


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in rows)}</dl>"


def _rate(counts: list[int], slots: int = 10) -> float:
    """Return the mean of the last slots."""
    last = counts[-slots:]
    return sum(last) / max(len(last), 1)


def write_decisions(one: Summary) -> str:
    """Return the rate of decisions."""
    rate = _rate(one["series"]["seconds"]["decisions"])
    note = f"{show_number(one['counts']['decisions'])} since the start"
    return _card('<i class="key a"></i>Decisions', _figure(show_number(rate), "per second"), note)


def write_rewards(one: Summary) -> str:
    """Return the rate of rewards."""
    rate = _rate(one["series"]["seconds"]["rewards"])
    note = f"{show_number(one['counts']['applied'])} since the start"
    return _card('<i class="key b"></i>Rewards', _figure(show_number(rate), "per second"), note)


def write_latency(one: Summary) -> str:
    """Return quantiles of the latency."""
    found = one["latency"]
    note = f"99% within {show_number(found['p99'])} ms, last 10 seconds"
    return _card("Latency, median", _figure(show_number(found["p50"]), "ms"), note)


def write_commits(one: Summary) -> str:
    """Return the number of requests per commit, and how many wait."""
    counts = one["counts"]
    each = counts["rows"] / counts["commits"] if counts["commits"] else None
    return _card(
        "Requests per commit",
        _figure(show_number(each)),
        f"{show_number(one['queue'])} wait in the queue",
    )


def write_traffic(one: Summary) -> str:
    """Return decisions and rewards over time."""
    drawn = []
    for span, (_, _, start, unit) in SPANS.items():
        series = one["series"][span]
        lines = {"a": series["decisions"], "b": series["rewards"]}
        most = max(1, *lines["a"], *lines["b"])
        drawn.append(
            f'<div class="{span}"><div class="axis"><span>{show_number(most)} {unit}</span></div>'
            f'{draw_lines(lines, most)}<div class="axis"><span>{start}</span><span>now</span>'
            "</div></div>"
        )
    keys = '<i class="key a"></i>Decisions and <i class="key b"></i>rewards over time'
    return _card(keys, "".join(drawn))


def write_shares(one: Summary) -> str:
    """Return the share of each action over time."""
    drawn, names = [], list(one["series"]["seconds"]["actions"])
    for span, (together, form, start, _) in SPANS.items():
        series = one["series"][span]
        names = max(names, list(series["actions"]), key=len)
        drawn.append(
            f'<div class="{span}">'
            f"{draw_shares(series['times'], series['actions'], together, form)}"
            f'<div class="axis"><span>{start}</span><span>now</span></div></div>'
        )
    keys = "".join(
        f'<li><i class="key c{place}"></i>{escape(name)}</li>' for place, name in enumerate(names)
    )
    return _card("Share of each action", f'{"".join(drawn)}<ul class="keys">{keys}</ul>')


def write_uplift(one: Summary) -> str:
    """Return policy against hold-out."""
    found, title = one["uplift"], "Policy against hold-out"
    first, second = found["first"], found["second"]
    rows = "".join(
        f"<tr><th scope=row>{name}</th><td>{show_number(part['rewards'])}</td>"
        f"<td>{show_number(part['mean'])}</td>"
        f"<td>{show_interval(part['low'], part['high'])}</td></tr>"
        for name, part in (("policy", first), ("hold-out", second))
    )
    table = (
        "<table><thead><tr><th>group</th><th>rewards</th><th>mean</th><th>95% interval</th></tr>"
        f"</thead><tbody>{rows}</tbody></table>"
    )
    if found["difference"] is None:
        share = one["holdout"]
        words = f"{show_share(share)} of the units get the baseline" if share else "no hold-out"
        body = f'<p class="dim">Each group needs 20 rewards. Now: {words}.</p>'
        return _card(title, body + table)
    low, high = found["low"], found["high"]
    kind = "good" if low > 0.0 else "bad" if high < 0.0 else ""
    sign = "+" if found["difference"] > 0.0 else ""
    value = f'<span class="{kind}">{sign}{show_number(found["difference"])}</span>'
    edge = 0.05 * (max(high, 0.0) - min(low, 0.0))
    scale = min(low, 0.0) - edge, max(high, 0.0) + edge
    drawn = draw_interval(found["difference"], low, high, scale, zero=True)
    note = "95% interval, valid at a time that is fixed in advance."
    if not found["certain"]:
        note += " Few large rewards decide the means: the interval may miss."
    words = f"per decision, {show_interval(low, high)}"
    body = f'{_figure(value, words)}<div class="difference">{drawn}</div>{table}'
    return _card(title, body, note)


def write_propensities(one: Summary) -> str:
    """Return the histogram of propensities and the effective sample size."""
    bins = one["propensities"]
    axis = '<div class="axis"><span>0</span><span>probability of the action</span><span>1</span>'
    note = (
        f"Effective sample size {show_number(round(one['effective_sample_size']))} of "
        f"{show_number(sum(bins))} decisions of the policy: how much they tell about others."
    )
    return _card("Propensities", f"{draw_histogram(bins)}{axis}</div>", note)


def write_actions(one: Summary) -> str:
    """Return plays, mean and interval of each action."""
    rows = one["actions"][:MOST_ROWS]
    ends = [row for row in rows if row["low"] is not None]
    scale = min((r["low"] for r in ends), default=0.0), max((r["high"] for r in ends), default=1.0)
    every = sum(one["groups"].values()) or 1
    body = "".join(_write_action(row, scale, every) for row in rows)
    more = len(one["actions"]) - len(rows)
    table = (
        "<table><thead><tr><th>action</th><th>plays</th><th class=wide>share</th>"
        "<th class=wide>rewards</th><th>mean reward</th><th>95% interval</th>"
        f'<th class="wide bar"></th></tr></thead><tbody>{body}</tbody></table>'
    )
    notes = [f"{more} more actions are not shown."] if more > 0 else []
    notes.append(
        "The policy takes each action in other contexts, so the means do not compare actions."
    )
    if any(not row["certain"] for row in ends):
        notes.append("? means that few large rewards decide the mean: the interval may miss.")
    return _card("Actions", table, " ".join(notes))


def _write_action(row: Summary, scale: tuple[float, float], every: int) -> str:
    interval, drawn = show_interval(row["low"], row["high"]), ""
    if row["low"] is not None:
        interval += "" if row["certain"] else " ?"
        drawn = draw_interval(row["mean"], row["low"], row["high"], scale)
    return (
        f"<tr><th scope=row>{escape(row['action'])}</th><td>{show_number(row['plays'])}</td>"
        f"<td class=wide>{show_share(row['plays'] / every)}</td>"
        f"<td class=wide>{show_number(row['rewards'])}</td><td>{show_number(row['mean'])}</td>"
        f'<td>{interval}</td><td class="wide bar">{drawn}</td></tr>'
    )


def write_tickets(one: Summary) -> str:
    """Return what became of decisions and rewards."""
    counts, counters = one["counts"], one["counters"]
    rows = [
        ("pending", show_number(counters["pending"])),
        ("oldest pending", show_seconds(one["oldest"])),
        ("expired", show_number(counters["expired"])),
        ("late rewards", show_number(counts["late"])),
        ("duplicate rewards", show_number(counts["duplicate"])),
        ("rejected rewards", show_number(counts["rejected"])),
        ("repeated decisions", show_number(counts["repeated"])),
    ]
    return _card("Tickets", _pairs(rows))


def write_tails(one: Summary) -> str:
    """Return tail index, threshold, share clipped, restarts and drift."""
    drift, agreed = one["drift"], one["agreed"]
    changes = "not watched"
    if drift is not None:
        seen = drift["level"] + drift["unit"]
        since = drift["rewards_since"]
        changes = f"{seen} changes, the last {show_number(since)} rewards ago" if seen else "none"
    rows = [
        ("tail index", show_number(one["tail_index"])),
        ("threshold in force", show_number(one["threshold"])),
        ("share clipped", show_share(one["truncated_share"])),
        ("restarts", show_number(one["restarts"])),
        ("drift", changes),
    ]
    if agreed[1]:
        rows.append(("agrees with the baseline", show_share(agreed[0] / agreed[1])))
    index = one["tail_index"]
    note = "Below 2 the variance is infinite." if index is not None and index < 2.0 else ""
    return _card("Tails and learning", _pairs(rows), note)


def write_settings(one: Summary) -> str:
    """Return mode, hold-out, groups and marks."""
    rows = [
        ("mode", escape(one["mode"])),
        ("hold-out", show_share(one["holdout"])),
        ("baseline", escape(one["baseline"])),
        ("version", show_number(one["version"])),
    ]
    rows += [(f"group {escape(g)}", show_number(plays)) for g, plays in one["groups"].items()]
    rows.append(("marks", escape(", ".join(one["marks"]) or "none")))
    return _card("Settings", _pairs(rows), MODES.get(one["mode"], ""))


def write_largest(one: Summary) -> str:
    """Return the largest rewards, each with a link to its explanation."""
    rows = "".join(
        f"<tr><th scope=row>{escape(row['action'])}</th><td>{show_number(row['reward'])}</td>"
        f"<td class=dim>{escape(row['ticket'].rpartition(':')[2])}</td>"
        f"<td>{_write_link(one, row['ticket'])}</td></tr>"
        for row in one["largest"]
    )
    table = (
        "<table><thead><tr><th>action</th><th>reward</th><th>ticket</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
    return _card("Largest rewards", table if rows else '<p class="dim">No rewards yet.</p>')


def _write_link(one: Summary, ticket: str) -> str:
    if not one["durable"]:
        return ""
    query = urlencode({"agent": one["agent"], "ticket": ticket})
    return f'<a class="explain" href="explain?{escape(query)}">explain</a>'


def write_rollout(one: Summary) -> str:
    """Return the state of the challenger."""
    found = one["rollout"]
    if found is None:
        words = "No challenger. POST .../rollout starts one, in the shadow or for some units."
        return _card("Roll-out", f'<p class="dim">{words}</p>')
    agreed = show_share(found["agreed"] / found["watched"]) if found["watched"] else "-"
    rows = [
        ("stage", escape(found["stage"])),
        ("challenger", escape(found["policy"]["policy"])),
        ("share of the units", show_share(found["share"])),
        ("agrees with the policy", agreed),
        ("difference", show_number(found["difference"])),
        ("interval", show_interval(found["low"], found["high"])),
    ]
    return _card("Roll-out", _pairs(rows))


WRITERS = {
    "decisions": write_decisions,
    "rewards": write_rewards,
    "latency": write_latency,
    "commits": write_commits,
    "traffic": write_traffic,
    "shares": write_shares,
    "uplift": write_uplift,
    "propensities": write_propensities,
    "actions": write_actions,
    "tickets": write_tickets,
    "tails": write_tails,
    "settings": write_settings,
    "largest": write_largest,
    "rollout": write_rollout,
}


# ---- explanations


def write_explanation(ticket: str, found: Any) -> str:
    """Return why the action of a ticket has its score now, the features that add most first."""
    added = found.contributions[0] + found.bonuses[0]
    order = sorted(range(len(added)), key=lambda place: -abs(added[place]))
    rows = "".join(
        f"<tr><th scope=row>{escape(found.feature_names[place])}</th>"
        f"<td>{show_number(float(found.contributions[0][place]))}</td>"
        f"<td>{show_number(float(found.bonuses[0][place]))}</td></tr>"
        for place in order[:MOST_FEATURES]
    )
    rest = len(order) - MOST_FEATURES
    more = f"{rest} more features add less. " if rest > 0 else ""
    score = show_number(float(found.score[0]))
    return (
        f"<h3>{escape(found.actions[0])}</h3>"
        f'<p class="dim">Ticket {escape(ticket)}. Expected reward '
        f"{show_number(float(found.mean[0]))}, by what the agent knows now.</p>"
        "<table><thead><tr><th>feature</th><th>adds to the score</th><th>adds as uncertain</th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
        f'<p class="note">{more}The score {score} is the sum of both columns.</p>'
    )
