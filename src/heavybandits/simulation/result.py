"""The result of simulations: tidy rows, summaries, comparisons, tables and figures."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils import records
from .._utils.display import Card, show_html, show_text
from .._utils.drawing import Axes, Figure, View, make_look, plot_view
from .._utils.errors import InvalidInputError
from .._utils.records import Frame, to_frame
from .._utils.statistics import bootstrap, difference, holm, paired_p_value
from .._utils.tables import read_parquet, to_latex
from .._utils.validation import did_you_mean, one_of
from ..algorithms.catalogue import ALGORITHMS, find_algorithms
from ..algorithms.references import BY_NAME, LIBRARY_BIBTEX, LIBRARY_TEXT
from ..core.loop import Trace
from .figures import Band, check_band, regret_panel
from .provenance import for_figure, in_one_line, is_provenance, to_json

NEEDED = ("policy", "play", "regret")
CAPTION = (
    "Mean final regret{uncertainty}, {size} repetitions. Bold: the lowest mean, and those not "
    "significantly different from it (paired, 5%, Holm's correction)."
)
UNCERTAINTY = {"standard_error": " ± its standard error", "interval": " [95% interval]"}
SIGNIFICANT = 0.05


class Result:
    """Store the result of simulations: one row per policy, repetition and checkpoint.

    All policies of a repetition met the same arms and the same noise, so comparisons are paired.
    The result of a sweep also has one row per problem.

    Parameters
    ----------
    data : mapping of str to array
        Columns of equal length: `policy`, `repetition` and `play`; `regret`, the pseudo-regret up
        to `play`; `updates` and `projections` of the estimator; `truncated`, the rewards that were
        clipped or truncated, and `truncated_share`, their fraction of the plays; `fallbacks`, the
        updates of the whole run in which V^-1 was computed again because of rounding (normally 0);
        `cpu_seconds` of the whole run; `problem`, for a sweep.
    provenance : mapping, optional
        What the rows were computed from, plain JSON: version, seed, horizon, problems, policies
        with their hyperparameters, and the hash of the sources of your own parts. `simulate` and
        `sweep` set it.

    Attributes
    ----------
    data : dict of str to array
        The columns.
    provenance : dict
        What the rows were computed from.
    columns : tuple of str
        Names of the columns.
    policies : list of str
        Names of the policies, in the order in which they were given.
    problems : list of str
        Names of the problems of a sweep; empty for one simulation.

    Examples
    --------
    >>> rows = [(p, r, 9, regret) for p, regret in (("a", 5.0), ("b", 7.0)) for r in range(8)]
    >>> result = Result(dict(zip(("policy", "repetition", "play", "regret"), zip(*rows))))
    >>> result.compare("a")[["policy", "difference", "low", "outcome"]]
      policy  difference  low      outcome
    0      b         2.0  2.0  more regret
    """

    columns, policies = property(records.column_names), property(records.policy_names)
    names, rows, to_pandas = records.distinct, records.rows, records.to_pandas
    to_polars, to_parquet, to_csv = records.to_polars, records.to_parquet, records.to_csv
    __len__, __iter__ = records.count_rows, records.iterate
    __repr__, _repr_html_ = show_text, show_html

    def __init__(
        self, data: Mapping[str, Any], provenance: Mapping[str, Any] | None = None
    ) -> None:
        self.data = records.to_columns(data)
        self.provenance: dict[str, Any] = dict(provenance or {})

    @classmethod
    def from_parquet(cls, path: str | Path) -> "Result":
        """Read a result from a Parquet file that `to_parquet` wrote.

        Parameters
        ----------
        path : str or Path
            File to read.

        Returns
        -------
        Result
            The same rows and the same provenance.

        Raises
        ------
        InvalidInputError
            The file cannot be read.
        """
        data, about = read_parquet(Path(path))
        try:
            provenance = json.loads(about or "{}")
        except (ValueError, RecursionError):
            provenance = None
        if not is_provenance(provenance):
            raise InvalidInputError(f"path must have a valid provenance, got {str(path)!r}")
        return cls(data, provenance)

    def cite(self, style: str = "text") -> str:
        """Return citations of the library and of the papers of the simulated algorithms.

        Algorithms are recognised by their parts, with the help of the names of the policies.

        Parameters
        ----------
        style : str, default "text"
            "text" for one line each, or "bibtex" for BibTeX entries.

        Returns
        -------
        str
            The citations. Without a provenance, that of the library alone.

        Examples
        --------
        >>> print(Result({}).cite("bibtex").splitlines()[0])
        @software{heavybandits,
        """
        one_of("style", style, ("text", "bibtex"))
        names = [
            ALGORITHMS[name].paper
            for policy in self.provenance.get("policies", [])
            for name in find_algorithms(policy["parts"], policy["policy"])
        ]
        papers = [BY_NAME[name] for name in dict.fromkeys(names) if name in BY_NAME]
        if style == "text":
            return "\n".join([LIBRARY_TEXT, *(paper.text for paper in papers)])
        return "\n\n".join([LIBRARY_BIBTEX, *(paper.bibtex for paper in papers)])

    @property
    def about(self) -> str:
        """The provenance as JSON, for the metadata of files; empty if there is none."""
        return to_json(self.provenance) if self.provenance else ""

    @classmethod
    def from_runs(
        cls, runs: Sequence[tuple[str, int]], outcomes: Sequence[tuple[Trace, float]]
    ) -> "Result":
        """Make a result from runs and their traces.

        Parameters
        ----------
        runs : sequence of (str, int)
            Policy and repetition of each run.
        outcomes : sequence of (Trace, float)
            Trace and CPU seconds of each run.

        Returns
        -------
        Result
            One row per run and checkpoint.
        """
        traces, seconds = zip(*outcomes, strict=True)
        size, whole = traces[0].plays.size, Trace(*map(np.concatenate, zip(*traces, strict=True)))
        named = {
            "policy": np.repeat([name for name, _ in runs], size),
            "repetition": np.repeat([repetition for _, repetition in runs], size),
        }
        counted = whole._asdict() | {"play": whole.plays}
        return cls.from_columns(named, counted, np.repeat(seconds, size))

    @classmethod
    def from_columns(
        cls, named: Mapping[str, Any], counted: Mapping[str, Any], seconds: NDArray[np.float64]
    ) -> "Result":
        """Make a result from columns that name the rows and columns of counts.

        Parameters
        ----------
        named : mapping of str to array
            Columns that name the rows, such as `policy` and `repetition`.
        counted : mapping of str to array
            Columns of numbers at each checkpoint.
        seconds : array
            CPU seconds of the run of each row.

        Returns
        -------
        Result
            One row per entry of the columns.
        """
        ordered = ("play", "regret", "updates", "projections", "truncated")
        shares = {"truncated_share": counted["truncated"] / counted["play"]}
        columns = dict(named) | {name: counted[name] for name in ordered} | shares
        columns |= {"fallbacks": counted["fallbacks"], "cpu_seconds": seconds}
        return cls(columns | {n: counted[n] for n in counted if n not in (*Trace._fields, "play")})

    @classmethod
    def from_played(
        cls, named: Mapping[str, Sequence[str]], groups: Sequence[Sequence[Mapping[str, Any]]]
    ) -> "Result":
        """Make a result from groups of runs, each in pieces.

        Parameters
        ----------
        named : mapping of str to sequence of str
            Columns that name the rows of each group.
        groups : sequence of sequence of mapping
            Pieces of each group, with one row per run and one column per checkpoint.

        Returns
        -------
        Result
            One row per run and checkpoint.
        """
        pieces, plays = [piece for group in groups for piece in group], groups[0][0]["play"]
        counted = {
            name: np.concatenate([piece[name].ravel() for piece in pieces])
            for name in pieces[0]
            if name not in ("play", "cpu_seconds")
        }
        runs = [sum(len(piece["regret"]) for piece in group) for group in groups]
        rows = np.array(runs) * plays.size
        columns = {name: np.repeat(list(values), rows) for name, values in named.items()}
        columns["repetition"] = np.repeat(np.concatenate([*map(np.arange, runs)]), plays.size)
        counted["play"] = np.tile(plays, sum(runs))
        seconds = np.concatenate([piece["cpu_seconds"] for piece in pieces])
        return cls.from_columns(columns, counted, np.repeat(seconds, plays.size))

    @property
    def problems(self) -> list[str]:
        """The names of the problems, in the order they were given; of one simulation, none."""
        return self.names("problem")

    def _card(self) -> Card:
        return Card(
            f"Result: {records.describe(self)}",
            {"from": in_one_line(self.provenance)},
            _regrets(self),
        )

    def curves(
        self, policy: str, problem: str | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the checkpoints, and the regret of a policy at them.

        Parameters
        ----------
        policy : str
            Name of the policy.
        problem : str, optional
            Name of the problem; needed if there are several.

        Returns
        -------
        plays : array of shape (checkpoints,)
            The plays of the checkpoints.
        regret : array of shape (repetitions, checkpoints)
            The pseudo-regret, one row per repetition.

        Raises
        ------
        KeyError
            There is no such policy or problem.
        """
        records.need(self, "curves", NEEDED)
        order = self._rows(policy, problem)
        plays, found = np.unique(self.data["play"][order]), self.data["play"][order]
        if found.size % plays.size or (found.reshape(-1, plays.size) != plays).any():
            raise InvalidInputError(f"every repetition of {policy!r} must have a row at every play")
        return plays, self.data["regret"][order].reshape(-1, plays.size)

    def final(self, policy: str, problem: str | None = None) -> NDArray[np.float64]:
        """Return the regret of a policy at the last checkpoint.

        Parameters
        ----------
        policy : str
            Name of the policy.
        problem : str, optional
            Name of the problem; needed if there are several.

        Returns
        -------
        array of shape (repetitions,)
            One number per repetition.
        """
        return self.curves(policy, problem)[1][:, -1]

    def _rows(self, policy: str, problem: str | None) -> NDArray[np.int64]:
        """Return the places of a policy's rows, repetition by repetition."""
        mine = self.data["policy"] == policy
        if not mine.any():
            hint = did_you_mean(policy, self.policies)
            raise KeyError(f"the result has no policy {policy!r}{hint}")
        if len(self.problems) > 1 or problem is not None:
            if problem not in self.problems:
                there = ", ".join(self.problems) or "none"
                raise KeyError(f"no problem {problem!r} here; there are {there}")
            mine &= self.data["problem"] == problem
        order = np.flatnonzero(mine)
        if "repetition" in self.data:
            order = order[np.lexsort((self.data["play"][order], self.data["repetition"][order]))]
        return order

    def _paired(
        self, one: str, other: str, problem: str | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the final regrets of two policies, which must be of the same repetitions."""
        ends = self.final(one, problem), self.final(other, problem)
        if "repetition" in self.data:
            mine, theirs = (
                np.unique(self.data["repetition"][self._rows(name, problem)])
                for name in (one, other)
            )
            if not np.array_equal(mine, theirs):
                raise InvalidInputError(
                    f"policies that are compared need the same repetitions: {one!r} has "
                    f"{mine.size} and {other!r} {theirs.size}, and they are not the same"
                )
        return ends

    def _places(self) -> list[tuple[dict[str, str], str | None]]:
        """Every problem, with what names it in a row; of one simulation, the one without a name."""
        named: list[tuple[dict[str, str], str | None]] = [
            ({"problem": p}, p) for p in self.problems
        ]
        return named or [({}, None)]

    def summary(self) -> Frame:
        """Return mean, standard error, median and quartiles of the final regret of each policy.

        Returns
        -------
        pandas.DataFrame, or a list of dict without pandas
            One row per problem and policy.
        """
        records.need(self, "summary", NEEDED)
        return to_frame(
            [
                {**named, "policy": name, **_summarise(self.final(name, problem))}
                for named, problem in self._places()
                for name in self.policies
            ]
        )

    def compare(self, baseline: str | None = None, correction: str = "none") -> Frame:
        """Return by how much the mean final regret of each policy exceeds that of a baseline.

        Differences are paired by repetition.

        Parameters
        ----------
        baseline : str, optional
            Name of the policy to compare with. Default: the first.
        correction : str, default "none"
            "holm" corrects `p_value` and `outcome` for the number of rows (Holm 1979). `low` and
            `high` stay those of one comparison.

        Returns
        -------
        pandas.DataFrame, or a list of dict without pandas
            One row per problem and policy. `low` and `high` bound the mean `difference` at 95%
            (bootstrap over repetitions; infinite for one repetition), `better` is the fraction of
            repetitions with less regret than the baseline, `p_value` is that of equal means (the
            bootstrap inverted), and `outcome` is what it decides at 5%.
        """
        records.need(self, "compare", NEEDED)
        one_of("correction", correction, ("none", "holm"))
        against = self.policies[0] if baseline is None else baseline
        rows = [
            {**named, "policy": name, "baseline": against}
            | _compare(*self._paired(name, against, problem))
            for named, problem in self._places()
            for name in self.policies
            if name != against
        ]
        if correction == "holm":
            corrected = holm([row["p_value"] for row in rows])
            rows = [row | {"p_value": p} for row, p in zip(rows, corrected, strict=True)]
            rows = [row | {"outcome": _outcome(row)} for row in rows]
        return to_frame(rows)

    def to_latex(self, caption: str | None = None, uncertainty: str = "standard_error") -> str:
        """Return a LaTeX table of the final regret: a row per policy, a column per problem.

        Bold are the lowest mean and those not significantly different from it: paired
        comparisons at 5%, with Holm's correction for the policies of a problem.

        Parameters
        ----------
        caption : str, optional
            Caption. Default: a caption that explains the numbers and the bold type.
        uncertainty : str, default "standard_error"
            "standard_error" of the mean, or its 95% "interval".

        Returns
        -------
        str
            LaTeX source, for the package booktabs. A comment in the first line has the provenance.
        """
        records.need(self, "to_latex", NEEDED)
        kind = UNCERTAINTY[one_of("uncertainty", uncertainty, UNCERTAINTY)]
        show = _shown if uncertainty == "standard_error" else _shown_interval
        columns = {_heading(problem): problem for _, problem in self._places()}
        ends = {name: {p: self.final(p, q) for p in self.policies} for name, q in columns.items()}
        rows = [
            {"policy": policy} | {name: show(found[policy]) for name, found in ends.items()}
            for policy in self.policies
        ]
        strong = {(i, name) for name, found in ends.items() for i in _lowest(list(found.values()))}
        size = next(iter(next(iter(ends.values())).values())).size
        usual = CAPTION.format(size=size, uncertainty=kind)
        comment = in_one_line(self.provenance)
        return to_latex(rows, usual if caption is None else caption, strong, comment)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        axes: Axes | None = None,
        band: Band = (0.1, 0.9),
        scale: str = "linear",
        size: tuple[float, float] | None = None,
        palette: Sequence[str] | None = None,
        font_family: str | None = None,
        font_size: float | None = None,
    ) -> Figure:
        """Plot the mean regret against the plays, one panel per problem.

        Parameters
        ----------
        path : str or Path, optional
            PDF, SVG or PNG file to write. Its metadata has the provenance.
        axes : Axes, optional
            Matplotlib axes to draw in, if there is one problem.
        band : tuple of float or "interval", default (0.1, 0.9)
            Quantiles of the repetitions between which the bands extend, or "interval" for the 95%
            interval of the mean.
        scale : str, default "linear"
            "linear" or "log", for both axes.
        size : tuple of float, optional
            Width and height of the figure in inches, such as (5.5, 2.5) for a column of text.
        palette : sequence of str, optional
            Colours of the policies, as matplotlib names them. Default: Okabe and Ito's colours.
        font_family : str, optional
            Font of all text, such as "serif". Default: that of matplotlib.
        font_size : float, optional
            Size of the text in points. Default: 9.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        between = check_band(band)
        panels = [
            regret_panel(
                problem or "",
                {name: self.curves(name, problem) for name in self.policies},
                between,
                scale,
            )
            for _, problem in self._places()
        ]
        look = make_look(size, palette, font_family, font_size)
        return plot_view(View("", panels), path, axes, look, for_figure(self.provenance))


def _regrets(result: Result) -> list[dict[str, Any]]:
    """Return the final regret of each policy; nothing if the rows are incomplete."""
    wanted = {"mean": "mean final regret", "standard_error": "standard error", "median": "median"}
    try:
        rows = [
            {**named, "policy": name, **_summarise(result.final(name, problem))}
            for named, problem in result._places()
            for name in result.policies
        ]
    except (InvalidInputError, KeyError):
        return []
    shown = [name for name in ("problem", "policy", *wanted) if name in rows[0]] if rows else []
    return [{wanted.get(name, name): row[name] for name in shown} for row in rows]


def _summarise(values: NDArray[np.float64]) -> dict[str, float]:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return {
        "mean": float(values.mean()),
        "standard_error": _standard_error(values),
        "median": float(middle),
        "lower_quartile": float(low),
        "upper_quartile": float(high),
    }


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def _heading(problem: str | None) -> str:
    """Return the head of a problem's column, next to that of the policies."""
    return "problem policy" if problem == "policy" else problem or "regret"


def _compare(mine: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, Any]:
    if mine.size != other.size:
        raise InvalidInputError(
            f"policies that are compared need as many repetitions, got {mine.size} and {other.size}"
        )
    found = difference(mine, other)
    outcome = "less regret" if found.high < 0.0 else "undecided"
    return {
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "better": float(np.mean(mine < other)),
        "p_value": paired_p_value(mine, other),
        "outcome": "more regret" if found.low > 0.0 else outcome,
    }


def _outcome(row: Mapping[str, Any]) -> str:
    """Return what a corrected p-value decides."""
    if not row["p_value"] < SIGNIFICANT:
        return "undecided"
    return "more regret" if row["difference"] > 0.0 else "less regret"


def _lowest(ends: list[NDArray[np.float64]]) -> list[int]:
    """Return the places of the lowest mean, and of those not significantly different from it."""
    best = min(range(len(ends)), key=lambda i: ends[i].mean())
    others = [i for i in range(len(ends)) if i != best]
    corrected = holm([paired_p_value(ends[i], ends[best]) for i in others])
    tied = {i for i, p in zip(others, corrected, strict=True) if not p < SIGNIFICANT}
    return [i for i in range(len(ends)) if i == best or i in tied]


def _shown_interval(values: NDArray[np.float64]) -> str:
    """Return a mean with its 95% interval.

    >>> _shown_interval(np.array([1.0, 2.0] * 10))
    '1.5 [1.25, 1.75]'
    """
    found = bootstrap(values)
    low, high = (f"{end:,.3g}" if abs(end) < 1000.0 else f"{end:,.0f}" for end in found[1:])
    mean = f"{found.value:,.3g}" if abs(found.value) < 1000.0 else f"{found.value:,.0f}"
    return f"{mean} [{low}, {high}]"


def _shown(values: NDArray[np.float64]) -> str:
    """Return a mean with its standard error, to two digits of the latter.

    >>> _shown(np.array([1234.0, 1250.0])), _shown(np.array([0.01234]))
    ('1,242.0 ± 8.0', '0.01234')
    """
    mean, error = float(values.mean()), _standard_error(values)
    if not error > 0.0:
        return f"{mean:.4g}"
    digits = max(0, 1 - int(np.floor(np.log10(error)))) if error < 10.0 else 0
    return f"{mean:,.{min(digits, 6)}f} ± {error:,.{min(digits, 6)}f}"
