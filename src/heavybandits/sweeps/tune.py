"""Tuning: parameters searched on tuning seeds, results reported on other seeds."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._utils import records
from .._utils.display import Card, show_html, show_text
from .._utils.drawing import Axes, Figure, Panel, Series, View, make_look, plot_view
from .._utils.errors import InvalidInputError, warn_caller
from .._utils.records import Frame, to_frame, to_records
from .._utils.statistics import Array
from .._utils.tables import to_latex
from .._utils.validation import whole
from ..core.part import is_part
from ..core.protocols import Policy
from ..parts.policies.checks import check_names
from ..simulation.problem import Problem
from ..simulation.provenance import for_figure, in_one_line
from ..simulation.result import Result
from ..simulation.run import make_checkpoints
from .grid import Makers, Point, Size, check_problems, make_point, play_all, point_cells
from .run import Runner
from .search import (
    TUNING_SEEDS,
    Choice,
    check_grid,
    choose,
    mean_losses,
    remark,
    search,
    warnings_of,
)

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Key = tuple[str, str]  # problem, policy
COLUMNS = ("problem", "policy", "constant", "repetition", "regret")


class Tuning:
    """Store the result of `tune`: one row per problem, policy, hyperparameter value and tuning run.

    Attributes
    ----------
    data : dict of str to array
        Columns `problem`, `policy`, `constant` (the value tried), `repetition` and `regret`.
    choices : dict of (str, str) to Choice
        Best value of every (problem, policy), and its position: "inside" its grid, or else "flat",
        "flat below", "lower end" and so on. A choice that is not inside depends on the grid.
    result : Result
        The tuned policies on other seeds than those of the tuning.
    bounds : tuple of float
        Range in which the grid could grow.
    columns : tuple of str
        Names of the columns.
    policies : list of str
        Names of the tuned policies.

    Examples
    --------
    >>> curve = {c: np.array([abs(c - 0.1)]) for c in (0.01, 0.1, 1.0)}
    >>> Tuning({("p", "a"): curve}, {}, None, (0.01, 1.0)).choices["p", "a"]
    Choice(constant=0.1, at='inside', loss=0.0)
    """

    columns, policies = property(records.column_names), property(records.policy_names)
    names, rows, to_pandas = records.distinct, records.rows, records.to_pandas
    to_polars, to_parquet, to_csv = records.to_polars, records.to_parquet, records.to_csv
    __len__, __iter__ = records.count_rows, records.iterate
    __repr__, _repr_html_ = show_text, show_html

    def __init__(
        self,
        curves: Mapping[Key, Mapping[float, Array]],
        made: Mapping[Key, Policy],
        result: Result,
        bounds: tuple[float, float],
    ) -> None:
        rows = [
            (place, name, constant, repetition, regret)
            for (place, name), curve in curves.items()
            for constant in sorted(curve)
            for repetition, regret in enumerate(curve[constant].tolist())
        ]
        self.data = records.to_columns(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))
        self.curves, self.made, self.bounds = curves, made, bounds
        self.result = result
        self.choices: dict[Key, Choice] = {key: choose(curve) for key, curve in curves.items()}

    def _card(self) -> Card:
        rows = [
            {"problem": problem, "policy": policy, "best": c.constant, "position": c.at}
            for (problem, policy), c in self.choices.items()
        ]
        tried = sorted(self.names("constant"))
        facts = {"values tried": f"{len(tried)}, {tried[0]:g} to {tried[-1]:g}" if tried else None}
        return Card(f"Tuning: {records.describe(self)}", facts, rows)

    @property
    def about(self) -> str:
        """The provenance of `result` as JSON, for the metadata of files; empty if there is none."""
        return self.result.about

    def tuned(self, problem: str | None = None) -> dict[str, Policy]:
        """Return the policies with their best hyperparameters, by name.

        Parameters
        ----------
        problem : str, optional
            Name of the problem. Default: the first.

        Returns
        -------
        dict of str to Policy
            The policies of this problem.

        Raises
        ------
        KeyError
            There is no such problem.
        """
        where = self.names("problem")[0] if problem is None else problem
        if where not in self.names("problem"):
            there = ", ".join(self.names("problem"))
            raise KeyError(f"no problem {where!r} here; there are {there}")
        return {name: policy for (place, name), policy in self.made.items() if place == where}

    def summary(self) -> Frame:
        """Return the best value of each policy, its position in the grid, and its regret.

        Returns
        -------
        pandas.DataFrame, or a list of dict without pandas
            One row per problem and policy. `tuning` is the mean regret on the tuning seeds; `mean`
            and the columns after it are those of the reported seeds.
        """
        reported = {self._key(row): row for row in to_records(self.result.summary())}
        return to_frame([self._row(key) | _rest(reported[key]) for key in self.made])

    def _key(self, row: dict[str, Any]) -> Key:
        return row.get("problem", self.names("problem")[0]), row["policy"]

    def _row(self, key: Key) -> dict[str, Any]:
        named = {"problem": key[0]} if self.result.problems else {}
        named |= {"policy": key[1]}
        if key not in self.choices:
            return named | {"constant": float("nan"), "at": "not tuned", "tuning": float("nan")}
        choice = self.choices[key]
        return named | {"constant": choice.constant, "at": choice.at, "tuning": choice.loss}

    def to_latex(self, caption: str | None = None) -> str:
        """Return a LaTeX table of the best values, their positions, and the regret on other seeds.

        Parameters
        ----------
        caption : str, optional
            Caption. Default: a caption that explains the numbers.

        Returns
        -------
        str
            LaTeX source, for the package booktabs.
        """
        low, high = self.bounds
        usual = (
            "Constants chosen on tuning seeds from one grid per problem, which could grow within "
            f"[{low:g}, {high:g}], and mean final regret on other seeds."
        )
        names = ("problem", "policy", "constant", "at", "mean", "standard_error")
        rows = [
            {name: row[name] for name in names if name in row} for row in to_records(self.summary())
        ]
        comment = in_one_line(self.result.provenance)
        return to_latex(rows, usual if caption is None else caption, comment=comment)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        axes: Axes | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Plot the mean regret on the tuning seeds against the values tried, one panel per problem.

        The bands extend from the smallest to the largest run. A choice that is not inside its grid
        is named above the panel.

        Parameters
        ----------
        path : str or Path, optional
            PDF, SVG or PNG file to write.
        axes : Axes, optional
            Matplotlib axes to draw in, if there is one problem.
        size : tuple of float, optional
            Width and height of the figure in inches.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        several = len(self.names("problem")) > 1
        panels = [self._panel(name, name if several else "") for name in self.names("problem")]
        about = for_figure(self.result.provenance)
        return plot_view(View("", panels), path, axes, make_look(size), about)

    def _panel(self, problem: str, title: str) -> Panel:
        mine = {name: curve for (place, name), curve in self.curves.items() if place == problem}
        series = [loss_series(name, curve) for name, curve in mine.items()]
        head = f"{title}\n{remark({name: self.choices[problem, name] for name in mine})}".strip()
        return Panel(head, "value", "final regret", series, "log", "log")


def loss_series(name: str, curve: Mapping[float, Array]) -> Series:
    """Return mean loss over the values, the band from the smallest run to the largest."""
    means = mean_losses(curve)
    lows, highs = ([float(f(curve[c])) for c in means] for f in (np.min, np.max))
    return Series(name, list(means), list(means.values()), lows, highs)


def _rest(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("problem", "policy")}


# ---- the search


def tune(
    policies: Makers,
    problems: Problem | Mapping[str, Problem],
    /,
    *,
    horizon: int,
    repetitions: int = 10,
    tuning_repetitions: int = 10,
    seed: int = 0,
    grid: int | Iterable[float] = 9,
    bounds: tuple[float, float] = (1e-6, 1e4),
    checkpoints: int | Iterable[int] = 100,
    folder: str | Path | None = None,
    jobs: int | None = None,
    backend: str = "threads",
    address: str | None = None,
    retries: int = 3,
    progress: bool | None = None,
    device: str = "cpu",
) -> Tuning:
    """Tune one hyperparameter of every policy on tuning seeds, and report the best on other seeds.

    All policies of a problem try the same values in the same number of runs. If a policy is best at
    an end of the grid, or as good there, the grid grows at that end by its ratio, for all policies,
    until every optimum is inside or the range `bounds` is used up. A policy on which the value has
    no effect does not make the grid grow. The smallest mean final regret wins; among equals, the
    smaller value.

    Parameters
    ----------
    policies : mapping of str to function or Policy
        Functions by name that make a policy from a value, or from a value and a problem. The value
        can be any argument of any constructor. A policy in place of a function is not tuned. A
        function whose only parameter is called `problem` is not tuned either; it makes the policy
        of each problem, as in `sweep`.
    problems : Problem or mapping of str to Problem
        One problem, or problems by name.
    horizon : int
        T, plays per run.
    repetitions : int, default 10
        Reported runs per policy and problem.
    tuning_repetitions : int, default 10
        Tuning runs per value.
    seed : int, default 0
        Seed of the reported runs; the tuning runs have seed + 1,000,000.
    grid : int or iterable of float, default 9
        First values to try, or how many: log-spaced in [1e-4, 1], or in the part of it that
        `bounds` allow.
    bounds : tuple of float, default (1e-6, 1e4)
        Range in which the grid may grow.
    checkpoints : int or iterable of int, default 100
        Number of plays to report at, or these plays themselves.
    folder : str or Path, optional
        Folder in which results are stored. None stores nothing. All machines of a cluster must see
        it.
    jobs : int, optional
        Workers. None for all cores, or for all of the cluster.
    backend : str, default "threads"
        "threads" of this process, which compiled policies do not block; "loky" for processes,
        "dask", "ray", or "sequential".
    address : str, optional
        Address of a Dask or Ray cluster that is already running.
    retries : int, default 3
        Attempts before a cell fails.
    progress : bool, optional
        True shows a bar on stderr, and lines where there is no terminal. None shows the bar alone.
    device : str, default "cpu"
        "cpu", or "cuda" for a GPU, which plays all policies and problems together; then `jobs` and
        `backend` have no effect.

    Returns
    -------
    Tuning
        The values tried, the best of them, and the result on other seeds.

    Warns
    -----
    UserWarning
        The choice of a policy is not inside its grid.

    Examples
    --------
    >>> import heavybandits as hb
    >>> problem = hb.Problem(hb.arms.Fixed(20, 10), hb.links.Logistic(), hb.noises.StudentT(3.0))
    >>> def crtm(value: float) -> hb.policies.UCB:
    ...     return hb.crtm(dim=10, horizon=1000, raw_moment=3.5, radius_scale=value)
    >>> found = hb.tune({"CRTM": crtm}, problem, horizon=1000, repetitions=2,
    ...                 tuning_repetitions=2, grid=[0.01, 0.1, 1.0], bounds=(0.01, 1.0))
    >>> found.choices["problem", "CRTM"].constant, found.result.policies
    (0.1, ['CRTM'])
    """
    run = Runner(folder, jobs, backend, address, retries, progress, device)
    start, seed = check_grid(grid, bounds), whole("seed", seed, least=0)
    horizon, repetitions = whole("horizon", horizon), whole("repetitions", repetitions)
    tuning_repetitions = whole("tuning_repetitions", tuning_repetitions)
    places = check_problems(problems)
    makers = check_names("policies", policies, "policy")
    size = Size(horizon, tuning_repetitions, seed + TUNING_SEEDS)
    plays = make_checkpoints(horizon, checkpoints).tolist()
    curves = search_points(places, makers, size, start, bounds, run)
    best = {key: choose(curve).constant for key, curve in curves.items()}
    points = [
        tuned_point(place, name, problem, maker, best.get((place, name)))
        for place, problem in places.items()
        for name, maker in makers.items()
    ]
    reported = Size(horizon, repetitions, seed)
    result = play_all(points, reported, plays, run, isinstance(problems, Mapping))
    made = {(point.problem_name, point.policy_name): point.policy for point in points}
    found = Tuning(curves, made, result, bounds)
    for name in makers:
        mine = {place: choice for (place, other), choice in found.choices.items() if other == name}
        for message in warnings_of(name, mine, {place: curves[place, name] for place in mine}):
            warn_caller(message)
    return found


def search_points(
    places: Mapping[str, Problem],
    makers: Mapping[str, Any],
    size: Size,
    start: Sequence[float],
    bounds: tuple[float, float],
    run: Runner,
) -> dict[Key, dict[float, Array]]:
    """Return the final regrets of all tuning runs, by problem and policy.

    What the device cannot play raises an error before anything runs.
    """
    tuned = [name for name, maker in makers.items() if not is_part(maker) and not is_untuned(maker)]
    if not tuned:
        raise InvalidInputError(
            "policies must have at least one function of a value, got "
            f"{', '.join(makers)}, which have none to tune"
        )

    for place, problem in places.items() if run.device != "cpu" else ():
        for name, maker in makers.items():
            first = tuned_point(place, name, problem, maker, start[0] if name in tuned else None)
            run.place(point_cells(first, size, [size.horizon]))

    def evaluate(points: Sequence[tuple[str, str, float]]) -> list[Array]:
        made = [tuned_point(p, name, places[p], makers[name], c) for p, name, c in points]
        groups = [point_cells(point, size, [size.horizon]) for point in made]
        results = iter(run([cell for cells in groups for cell in cells]))
        return [np.concatenate([next(results)["regret"][:, -1] for _ in g]) for g in groups]

    ahead = None if run.device == "cpu" else evaluate
    return search(evaluate, dict.fromkeys(places, tuned), start, bounds, ahead)


def tuned_point(
    place: str, name: str, problem: Problem, maker: Any, constant: float | None = None
) -> Point:
    """Return a policy at a value on a problem; without a value, a policy as it is."""
    if constant is not None:
        made = make_tuned(name, maker, constant, problem)
    else:
        made = maker(problem=problem) if is_untuned(maker) else maker
    return make_point(place, name, problem, made)


def is_untuned(maker: Any) -> bool:
    """Return True for a function of a problem alone.

    >>> is_untuned(lambda problem: None), is_untuned(lambda constant, problem: None)
    (True, False)
    """
    if is_part(maker) or not callable(maker):
        return False
    needed = [p for p in _parameters(maker).values() if p.default is p.empty]
    required = [p.name for p in needed if p.kind not in VARIADIC]
    return required == ["problem"] and needed[0].kind is not inspect.Parameter.POSITIONAL_ONLY


def _parameters(maker: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(maker).parameters
    except (TypeError, ValueError):  # of C, without a signature
        return {}


def make_tuned(name: str, maker: Any, constant: float, problem: Problem) -> Policy:
    """Make the policy of a value, or of a value and a problem."""
    if not callable(maker):
        raise InvalidInputError(f"policies[{name!r}] must be a function of a value, got {maker!r}")
    named = _parameters(maker)
    needed = [p for p in named.values() if p.default is p.empty and p.kind in POSITIONAL]
    try:
        if "problem" in named and named["problem"].kind is inspect.Parameter.KEYWORD_ONLY:
            return maker(constant, problem=problem)
        return maker(constant, problem) if len(needed) > 1 else maker(constant)
    except (AttributeError, TypeError) as error:
        raise InvalidInputError(
            f"policies[{name!r}] must be a function of a value, of a value and a problem, or "
            f"of `problem` alone (the name of its parameter); called with the value "
            f"{constant:g}, it raised {type(error).__name__}: {error}"
        ) from error
