"""Every experiment at its smallest setting; statistics and verdicts against known answers."""

import html
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heavybandits import InvalidInputError
from heavybandits._utils import statistics as st
from heavybandits._utils.statistics import Estimate
from heavybandits._utils.tables import escape_latex, to_csv, to_latex
from heavybandits.experiments import table1, table2, tails
from heavybandits.experiments.figure1 import analysis as figure1
from heavybandits.experiments.figure1 import make_problem
from heavybandits.experiments.figure1.settings import ALGORITHMS, CLAIMS, PRIMARY
from heavybandits.experiments.outputs import Findings, Verdict, judge
from heavybandits.experiments.roster import LINK, make_policy, make_setting
from heavybandits.experiments.rows import choices, curve_of
from heavybandits.experiments.run import NAMES, PROFILES, Run, load_experiment, settings_of
from heavybandits.experiments.summary import group_claims, make_rows, say_total
from heavybandits.experiments.table1 import PAPER as COSTS
from heavybandits.experiments.table2 import PAPER as SECONDS
from heavybandits.experiments.table2 import STAND_INS
from heavybandits.noises import StudentT
from heavybandits.sweeps.search import choose, log_grid, search
from heavybandits.sweeps.simulation_cell import simulation_cells

# ---- every experiment, uncompiled in a process of its own: compiling all policies takes minutes

SCRIPT = """
import json, sys
from heavybandits.experiments.report import as_json, make_report
from heavybandits.experiments.run import NAMES, run_experiments
from heavybandits.sweeps import Runner
out = sys.argv[1]
names = [name for name in NAMES if name not in ("levels", "realdata")]
runs = run_experiments(names, "smallest", Runner(out, jobs=1, backend="sequential", progress=False))
path = make_report(runs, "smallest", out + "/smallest")
again = run_experiments(names, "smallest", Runner(out, stored=True))
same = all(a.rows == b.rows for a, b in zip(runs, again, strict=True))
print(json.dumps(as_json(runs, path) | {"same": same, "rows": [len(run.rows) for run in runs]},
                 default=str))
"""


@pytest.fixture(scope="module")
def smallest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smallest")
    made = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-3000:]
    return json.loads(made.stdout), folder / "smallest"


def test_every_experiment_runs_at_its_smallest_setting(smallest):
    found, folder = smallest
    assert [e["failed"] for e in found["experiments"]] == [[]] * len(found["experiments"])
    assert min(found["rows"]) > 0
    for experiment in found["experiments"]:
        assert experiment["verdicts"], experiment["name"]
        assert all(rows for rows in experiment["tables"].values())
        assert (folder / "rows" / f"{experiment['name']}.parquet").stat().st_size > 0
    for ending in ("png", "svg", "pdf"):
        assert len(list((folder / "figures").glob(f"*.{ending}"))) >= 6
    assert (folder / "tables" / "verdicts.csv").read_text().startswith("claim,reading,")


def test_a_report_can_be_built_again_from_what_is_stored(smallest):
    assert smallest[0]["same"]


def test_the_page_names_its_profile_and_needs_nothing_from_elsewhere(smallest):
    text = (smallest[1] / "report.html").read_text(encoding="utf-8")
    assert "Profile <b>smallest</b>" in text
    assert "data:image/png;base64," in text
    assert 'src="http' not in text
    assert 'href="http' not in text


def test_the_page_starts_with_what_was_found(smallest):
    text = (smallest[1] / "report.html").read_text(encoding="utf-8")
    assert text.index("tests of claims:") < text.index("What was found") < text.index("This run")
    found = text[text.index('id="found"') : text.index('id="run"')]
    claims = {v["claim"] for e in smallest[0]["experiments"] for v in e["verdicts"]}
    assert claims
    assert all(found.count(html.escape(claim)) >= 1 for claim in claims)


def make_verdict(claim, outcome):
    return Verdict(claim, "a setting", "margin", 1.0, (0.5, 2.0), outcome)


def test_claims_are_grouped_by_what_came_out():
    made = [("A", "holds"), ("A", "holds"), ("B", "holds"), ("B", "undecided")]
    made += [("C", "does not hold"), ("D", "undecided")]
    groups = group_claims([make_verdict(*pair) for pair in made])
    assert [(group.outcome, group.claims) for group in groups] == [
        ("holds", ["A"]),
        ("does not hold", ["C"]),
        ("undecided", ["D"]),
        (None, ["B (holds in 1 of 2 settings, undecided in 1)"]),
    ]


def test_the_table_of_experiments_has_a_total_and_the_failures():
    good = Run("outlier", "One outlier", {})
    good.findings = Findings(verdicts=[make_verdict("A", "holds"), make_verdict("B", "undecided")])
    bad = Run("map", "Map", {}, failed=[("cell", "error")])
    assert make_rows([good]) == [
        {"experiment": "One outlier", "holds": 1, "does not hold": 0, "undecided": 1}
    ]
    total = {"experiment": "total", "holds": 1, "does not hold": 0, "undecided": 1}
    assert make_rows([good, bad])[-1] == total | {"failed cells": 1}
    expected = "2 tests of claims: 1 hold, 0 do not hold, and 1 are undecided"
    assert say_total([good, bad]).startswith(expected)


# ---- statistics


@pytest.mark.parametrize(("probability", "dof"), [(0.975, 1), (0.975, 9), (0.9, 3), (0.025, 30)])
def test_student_quantile(probability, dof):
    assert st.student_quantile(probability, dof) == pytest.approx(
        stats.t.ppf(probability, dof), rel=1e-5
    )


def test_expanded_tail_is_hesterbergs():
    wanted = stats.norm.cdf(-math.sqrt(10 / 9) * stats.t.ppf(0.975, 9))
    assert st.expanded_tail(10) == pytest.approx(wanted, rel=1e-4)


def test_bootstrap_covers_the_mean_as_often_as_it_says():
    generator = np.random.default_rng(1)
    samples = generator.exponential(1.0, size=(400, 10))
    made = [st.bootstrap(sample, draws=2000) for sample in samples]
    share = np.mean([e.low <= 1.0 <= e.high for e in made])
    assert 0.89 < share < 0.98  # the plain percentile interval manages 0.86


def test_bootstrap_keeps_pairs_together():
    generator = np.random.default_rng(2)
    shared = 1000.0 * generator.standard_normal(10)
    pairs = np.column_stack([shared, shared + 1.0 + 0.01 * generator.standard_normal(10)])
    made = st.difference(pairs[:, 1], pairs[:, 0])
    assert 0.9 < made.low <= made.value <= made.high < 1.1


def test_one_repetition_decides_nothing():
    made = st.bootstrap([5.0])
    assert made == (5.0, -math.inf, math.inf)
    assert judge("", "", "", made).outcome == "undecided"


def test_wilson_is_scipys():
    wanted = stats.binomtest(7, 20).proportion_ci(method="wilson")
    assert st.wilson(7, 20)[1:] == pytest.approx((wanted.low, wanted.high))


def test_slope_is_scipys():
    x, y = [1.0, 2.0, 4.0, 8.0], [1.0, 3.9, 17.0, 60.0]
    wanted = stats.linregress(np.log(x), np.log(y))
    made = st.slope(x, y)
    half = stats.t.ppf(0.975, 2) * wanted.stderr
    assert made == pytest.approx((wanted.slope, wanted.slope - half, wanted.slope + half))


def test_ratio_has_the_pooled_interval():
    deviation, dof = st.pooled_deviation([[1.0, math.e], [5.0], [7.0, 7.0]])
    assert dof == 2
    assert deviation == pytest.approx(0.5)
    made = st.ratio([math.e**2], [1.0], deviation, dof)
    half = stats.t.ppf(0.975, 2) * 0.5 * math.sqrt(2.0)
    assert np.log(made) == pytest.approx([2.0, 2.0 - half, 2.0 + half], rel=1e-4)


# ---- tuning, verdicts


def test_the_grid_is_the_papers():
    assert log_grid(9)[0] == 1e-4
    assert log_grid(9)[-1] == 1.0
    assert np.allclose(np.diff(np.log10(log_grid(9))), 0.5, atol=1e-3)


def test_the_constant_of_the_smallest_mean_is_chosen():
    rows = [
        {"constant": c, "regret": r, "algorithm": "A"}
        for c, r in ((0.1, 1.0), (0.1, 9.0), (1.0, 4.0), (1.0, 5.0), (10.0, 9.0))
    ]
    assert choose(curve_of(rows)) == (1.0, "inside", 4.5)
    assert choices(rows[:4], "algorithm")["A"].at == "upper end"


@pytest.mark.parametrize(
    ("means", "at"),
    [
        ((9.0, 1.0, 5.0), "inside"),
        ((1.0, 5.0, 9.0), "lower end"),
        ((1.0, 1.001, 9.0), "flat below"),
        ((9.0, 5.0, 1.0), "upper end"),
        ((9.0, 1.0, 1.0), "flat above"),
        ((5.0, 5.02, 5.0), "flat"),
        ((5.0, 9.0, 5.0), "lower end and upper end"),
        ((0.0, 0.0), "flat"),
    ],
)
def test_a_choice_says_where_on_its_curve_it_lies(means, at):
    found = choose({10.0**i: np.array([mean, mean]) for i, mean in enumerate(means)})
    assert (found.at, found.inside) == (at, at == "inside")


def test_the_grid_grows_by_its_ratio_until_the_optimum_of_everybody_is_inside():
    tried: list[tuple[str, str, float]] = []

    def evaluate(points):
        tried.extend(points)
        best = {"low": 1e-5, "mid": 1e-2, "flat": None, "far": 1e9}
        return [
            np.array([7.0 if best[m] is None else abs(math.log10(c / best[m])) + 1.0])
            for _, m, c in points
        ]

    found = search(
        evaluate, {"a": ["low", "mid"], "b": ["mid"], "c": ["far"]}, log_grid(3), (1e-6, 1e3)
    )
    assert sorted(found["a", "low"]) == sorted(found["a", "mid"]) == [1e-6, 1e-4, 1e-2, 1.0]
    assert sorted(found["b", "mid"]) == [1e-4, 1e-2, 1.0]
    assert choose(found["c", "far"])[:2] == (100.0, "upper end")
    assert len(tried) == len(set(tried)) == 8 + 3 + 4
    flat = search(evaluate, {"d": ["flat"]}, log_grid(3), (1e-6, 1e3))["d", "flat"]
    assert choose(flat).at == "flat"
    assert sorted(flat) == [1e-4, 1e-2, 1.0]  # a constant without effect makes no grid grow


@pytest.mark.parametrize(
    ("estimate", "low", "high", "outcome"),
    [
        ((5.0, 4.0, 6.0), 1.0, math.inf, "holds"),
        ((5.0, 0.5, 6.0), 1.0, math.inf, "undecided"),
        ((0.5, 0.2, 0.9), 1.0, math.inf, "does not hold"),
        ((1.5, 1.2, 1.9), 1.0, 2.0, "holds"),
        ((3.0, 2.5, 4.0), 1.0, 2.0, "does not hold"),
        ((1.9, 1.2, 2.5), 1.0, 2.0, "undecided"),
        ((math.nan, 1.2, 1.5), 1.0, 2.0, "undecided"),
    ],
)
def test_verdicts_follow_the_interval(estimate, low, high, outcome):
    assert judge("", "", "", st.Estimate(*estimate), low, high).outcome == outcome


def regret_rows(means, noise="t3", deviation=1.0):
    """Reported rows of ten repetitions with these mean final regrets."""
    generator = np.random.default_rng(0)
    common = generator.standard_normal(10)
    return [
        {
            "phase": "report",
            "reading": PRIMARY,
            "noise": noise,
            "algorithm": name,
            "constant": 0.1,
            "repetition": r,
            "play": play,
            "regret": (mean + deviation * common[r]) * play / 10**6,
            "updates": 97,
            "projections": 0,
            "truncated": 0,
        }
        for name, mean in means.items()
        for r in range(10)
        for play in (5 * 10**5, 10**6)
    ]


def test_a_verdict_that_rests_on_an_edge_or_a_flat_curve_says_so():
    tuning = [
        {"phase": "tuning", "reading": PRIMARY, "noise": "t3", "algorithm": name, "play": 10**6}
        | {"constant": c, "regret": 3.0 if name == "GLOC" else c + 0.1 / c}
        for name in ALGORITHMS
        for c in (0.1, 0.3, 1.0)
    ]
    rows = regret_rows(dict(zip(ALGORITHMS, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True)))
    notes = {v.claim: v.note for v in figure1.verdicts([*tuning, *rows])}
    assert notes["CRMM outperforms the other four"] == "not inside the grid: GLOC (flat)"
    table = figure1.regret_table([*tuning, *rows]).rows
    assert {row["algorithm"]: row["c at"] for row in table}["CRTM"] == "inside"
    (panel,) = figure1.constant_figure([*tuning, *rows]).views[0].panels
    assert panel.title.endswith("not inside the grid: GLOC (flat)")


def outcomes(verdicts):
    return {verdict.claim: verdict.outcome for verdict in verdicts}


def test_figure1_verdicts_see_the_published_order_and_its_opposite():
    published = dict(zip(ALGORITHMS, (10.0, 20.0, 30.0, 40.0, 50.0, 60.0), strict=True))
    assert set(outcomes(figure1.verdicts(regret_rows(published))).values()) == {"holds"}
    reversed_order = dict(zip(ALGORITHMS, (60.0, 50.0, 40.0, 30.0, 20.0, 10.0), strict=True))
    found = outcomes(figure1.verdicts(regret_rows(reversed_order)))
    claims = [claim for claim, panel, _, _ in CLAIMS if "t3" in panel]
    assert {found[claim] for claim in claims} == {"does not hold"}


def test_figure1_is_undecided_between_equals():
    generator = np.random.default_rng(3)
    rows = regret_rows(dict.fromkeys(ALGORITHMS, 10.0))
    for row in rows:
        row["regret"] += generator.standard_normal()
    found = outcomes(figure1.verdicts(rows))
    assert found["CRTM and CRMM outperform the other four"] != "holds"
    assert found["CRTM has the lowest regret of all six"] == "undecided"


def test_the_lead_is_over_the_best_of_the_rest():
    ends = {"A": np.full(5, 1.0), "B": np.full(5, 4.0), "C": np.full(5, 9.0)}
    assert figure1.lead(ends, ["A"], ["B", "C"]).value == 3.0
    assert figure1.lead(ends, ["A", "B"], ["C"]).value == 5.0


def timing_rows(seconds):
    return [
        {"algorithm": name, "horizon": 10**4, "dim": 100, "seconds": s * jitter, "updates": 1}
        for name, s in seconds.items()
        for jitter in (0.98, 1.0, 1.02)
    ]


def test_table2_verdicts_hold_for_the_papers_own_seconds():
    seconds = dict(SECONDS)
    for stand_in, name in STAND_INS.items():
        seconds[stand_in] = seconds[name]
    made = table2.verdicts(timing_rows(seconds))
    assert {verdict.outcome for verdict in made} == {"holds"}
    row = table2.runtime_table(timing_rows(seconds)).rows[0]
    assert row["ratio"] == pytest.approx(row["paper's ratio"])


def test_table2_sees_a_slower_crtm():
    seconds = dict(SECONDS) | {"CRTM": 10.0}
    for stand_in, name in STAND_INS.items():
        seconds[stand_in] = seconds[name]
    made = outcomes(table2.verdicts(timing_rows(seconds)))
    least = "CRTM consumes the least time of the truncation-based algorithms"
    assert made[least] == "does not hold"


def test_table1_finds_the_growth_it_is_given():
    rows: list[dict[str, Any]] = [
        {"algorithm": name, "axis": axis, "horizon": T, "dim": d, "seconds": cost(T, d) * 1e-9}
        for name, (_, cost) in COSTS.items()
        for axis, sizes in (
            ("T", [(T, 20) for T in (500, 1000, 2000)]),
            ("d", [(500, d) for d in (8, 16, 32)]),
        )
        for T, d in sizes
    ]
    assert {verdict.outcome for verdict in table1.verdicts(rows)} == {"holds"}
    for row in rows:
        row["seconds"] *= row["horizon"] * row["dim"]
    assert {verdict.outcome for verdict in table1.verdicts(rows)} == {"does not hold"}


def test_tails_compare_at_the_same_radius():
    rows = [
        {
            "problem": "linear",
            "noise": "t2",
            "radius": radius,
            "level": level,
            "repetition": r,
            "truncated": 3,
        }
        | {"regret": radius + (5.0 if level == 0.0 else 2.0) + 0.01 * r}
        for radius in (1.0, 10.0)
        for level in (0.0, 1.0)
        for r in range(8)
    ]
    assert tails.gain(rows, 10.0, 1.0).value == pytest.approx(3.0)
    assert tails.best(rows, [1.0]) == (1.0, 1.0)
    assert {verdict.outcome for verdict in tails.verdicts(rows)} == {"holds"}


# ---- cells


def test_more_repetitions_add_cells_and_change_none():
    policy: Any = make_policy("CRTM", make_setting(StudentT(3.0), 10, 1000), 0.01)
    common: dict[str, Any] = {"horizon": 1000, "seed": 0, "checkpoints": [1000], "label": ""}
    problem = make_problem(PRIMARY, "t3")
    ten = simulation_cells(policy, problem, repetitions=10, **common)
    twenty = simulation_cells(policy, problem, repetitions=20, **common)
    assert [cell.key for cell in ten] == [cell.key for cell in twenty[:2]]


def sources(policy: Any) -> str:
    problem = make_problem(PRIMARY, "t3")
    common: dict[str, Any] = {"repetitions": 1, "seed": 0, "checkpoints": [10], "label": ""}
    return simulation_cells(policy, problem, horizon=10, **common)[0].sources


def test_the_sources_of_a_cell_are_those_of_its_parts():
    policy: Any = make_policy("CRTM", make_setting(StudentT(3.0), 10, 1000), 0.01)
    other = make_policy("GLOC", make_setting(StudentT(3.0), 10, 1000), 0.01)
    assert sources(policy) != sources(other)
    assert sources(policy) == sources(policy._replace(radius=policy.radius._replace(squared=2.0)))


def test_the_sources_of_a_cell_do_not_depend_on_what_is_loaded():
    script = (
        "import heavybandits as hb\n"
        "from heavybandits.sweeps import simulation_cells\n"
        "policy = hb.crtm(dim=10, horizon=1000, raw_moment=1.0, radius_scale=0.01)\n"
        "problem = hb.Problem(hb.arms.Fixed(2, 10), hb.links.Logistic(), hb.noises.StudentT(3.0))\n"
        "common = {'repetitions': 1, 'seed': 0, 'checkpoints': [10], 'label': ''}\n"
        "print(simulation_cells(policy, problem, horizon=10, **common)[0].sources)"
    )
    made = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    policy: Any = make_policy("CRTM", make_setting(StudentT(3.0), 10, 1000), 0.01)
    assert made.stdout.strip() == sources(policy)


def test_profiles_and_their_settings():
    assert set(PROFILES["default"].experiments) <= set(PROFILES["full"].experiments)
    for name in NAMES:
        assert {"smallest", "quick", "default", "full"} <= set(load_experiment(name).PROFILES)
    assert settings_of("figure1", "default")["horizon"] == 10**6
    assert settings_of("figure1", "quick", repetitions=3, seed=7)["seed"] == 7
    assert "repetitions" not in settings_of("coverage", "quick", repetitions=3)
    with pytest.raises(InvalidInputError, match="experiment must be one of figure1"):
        load_experiment("figure2")


def test_the_paper_s_constants():
    known = make_setting(StudentT(3.0), 10, 10**6)
    assert known.raw_moment == pytest.approx(3.0 + LINK.mean(1.0) ** 2)
    policy: Any = make_policy("CRTM", known, 1.0)
    assert policy.radius.squared == pytest.approx(2280.3643, abs=1e-3)
    assert make_policy("OL2M_mom", known, 1.0).plays == 10206


# ---- tables


def test_tables_are_escaped():
    rows = [{"name": "x_1 & {y}", "value": 1.5}]
    assert to_csv(rows) == "name,value\nx_1 & {y},1.5\n"
    text = to_latex(rows, "a_b. 50% & more")
    assert r"\caption{a\_b. 50\% \& more}" in text
    assert r"x\_1 \& \{y\} & 1.5 \\" in text
    assert r"\begin{tabular}{lr}" in text
    assert escape_latex("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"


@pytest.mark.parametrize(("number", "unfolded"), [(3, 2), (60, 1)])
def test_many_verdicts_are_folded_by_experiment(number: int, unfolded: int):
    from heavybandits.experiments.page import verdict_groups

    verdict = judge("a claim", "a reading", "a quantity", Estimate(3.0, 2.0, 4.0))
    text = verdict_groups({"one": [verdict], "none": [], "two": [verdict] * number})
    assert (text.count("<details"), text.count("<details open")) == (2, unfolded)
    assert f"two: {number} holds" in text


def test_logarithmic_axes_show_what_they_can():
    """The curve from zero, without its zero; nothing of an algorithm without regret."""
    figure = figure1.regret_figure(regret_rows({"CRTM": 5.0, "OL2M": 0.0}))
    (panel,) = figure1.logarithmic(figure).views[0].panels
    (curve,) = panel.series
    whole = figure.views[0].panels[0].series[0]
    assert (panel.x_scale, panel.y_scale, curve.name) == ("log", "log", "CRTM")
    assert (list(curve.x), list(curve.high)) == (list(whole.x)[1:], list(whole.high)[1:])


def test_figures_are_the_same_bytes_for_the_same_data(tmp_path: Path):
    from heavybandits.experiments.outputs import write_figure

    rows = regret_rows(dict.fromkeys(("CRTM", "OL2M"), 5.0))
    figure = figure1.regret_figure(rows)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_figure(figure, tmp_path / name, colours={"OL2M": 3})
    for ending in ("png", "svg", "pdf"):
        first, second = ((tmp_path / n / f"figure1.{ending}").read_bytes() for n in ("one", "two"))
        assert first == second, ending
