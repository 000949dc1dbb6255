"""The run: the experiments by name, and how much of each a profile runs."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from .._utils.errors import SweepError
from .._utils.tables import Row
from .._utils.validation import one_of
from ..sweeps import Runner
from ..sweeps.gpu_cells import Twins
from .outputs import Findings

NAMES = (
    *("figure1", "table2", "table1", "coverage", "tails", "outlier"),
    *("levels", "realdata", "evaluation", "beyond", "map", "untuned"),
)


def load_experiment(name: str) -> Any:
    """Return the package of an experiment.

    >>> load_experiment("figure1").PROFILES["default"]["horizon"]
    1000000
    """
    return importlib.import_module(f"{__package__}.{one_of('experiment', name, NAMES)}")


class Profile(NamedTuple):
    """A named amount of work."""

    name: str
    summary: str
    experiments: tuple[str, ...]
    leaves_out: tuple[str, ...]


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "quick",
            "a short version in about two minutes: T = 10^5, five tuning values, a small Table 2",
            ("figure1", "table2", "coverage", "outlier", "beyond", "map"),
            (
                "the paper's horizon of 10^6",
                "centred Pareto noise, unprojected baselines, arms redrawn at every decision",
                "Table 2 at the paper's size, Table 1, the tails experiment",
                "most of the experiments beyond and map, and the study untuned",
            ),
        ),
        Profile(
            "default",
            "both panels at T = 10^6, tuned, primary reading; Table 2, the outlier, coverage",
            ("figure1", "table2", "coverage", "outlier", "beyond", "map"),
            (
                "the readings with unprojected baselines and with arms redrawn at every decision",
                "Table 1, the tails experiment",
                "logistic rewards, intercepts, batch rivals and real data in `beyond`; the longer "
                "horizon and the median-based algorithms in `map`; the study `untuned`",
            ),
        ),
        Profile("full", "all readings, all noises, all experiments", NAMES, ()),
        Profile("smallest", "everything in seconds, for tests: it shows nothing", NAMES, ()),
    )
}


def settings_of(experiment: str, profile: str, **wanted: int | None) -> dict[str, Any]:
    """Return the settings of an experiment in a profile, with the user's numbers in place.

    Timing and coverage have `runs` of their own, which `repetitions` leaves alone, and only the map
    has `points`.

    >>> settings_of("figure1", "quick", repetitions=20)["repetitions"]
    20
    """
    chosen = {name: value for name, value in wanted.items() if value is not None}
    return override(load_experiment(experiment).PROFILES[profile], chosen)


def override(given: dict[str, Any], chosen: dict[str, int]) -> dict[str, Any]:
    """Return the settings with the chosen numbers in place, also in the settings within them.

    >>> override({"repetitions": 50, "variants": {"repetitions": 10}}, {"repetitions": 3})
    {'repetitions': 3, 'variants': {'repetitions': 3}}
    """
    return {
        name: override(value, chosen) if isinstance(value, dict) else chosen.get(name, value)
        for name, value in given.items()
    }


NOTHING = Findings(notes=["Nothing to run here: what it needs is not installed."])


@dataclass
class Run:
    """The rows and findings of one experiment, or its failed cells."""

    name: str
    title: str
    settings: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)
    cpu_seconds: float = 0.0
    failed: list[tuple[str, str]] = field(default_factory=list)


def run_experiments(
    names: Sequence[str],
    profile: str,
    compute: Runner,
    *,
    announce: Callable[[str], None] = lambda text: None,
    **wanted: int | None,
) -> list[Run]:
    """Collect and analyse experiments; one with failed cells is listed, and the others continue.

    wanted: numbers of the user in place of those of the profile (see `settings_of`).
    """
    runs = []
    for name in names:
        experiment = load_experiment(name)
        announce(experiment.TITLE)
        run = Run(name, experiment.TITLE, settings_of(name, profile, **wanted))
        mine = replace(compute, twins=Twins(), seconds={})
        try:
            run.rows = experiment.collect(run.settings, mine)
            run.cpu_seconds = sum(mine.seconds.values())
            found = experiment.analyse(run.rows) if run.rows else NOTHING
            run.findings = replace(found, notes=[*found.notes, *device_notes(mine)])
        except SweepError as error:
            if not error.failures:
                raise
            run.failed = [(c.label or c.key, last_line(text)) for c, text in error.failures]
        runs.append(run)
    return runs


def last_line(text: str) -> str:
    """Return the last line of an error report, which is the one that is shown."""
    return text.strip().splitlines()[-1][:300]


def device_notes(compute: Runner) -> list[str]:
    """Return which cells a device played, and which not and why; nothing without a device."""
    if compute.device == "cpu":
        return []
    left: dict[str, list[str]] = {}
    for name, why in compute.twins.reasons.items():
        left.setdefault(why, []).append(name)
    notes = ["Played on a GPU; seconds are its own, shared among the runs that it played at once."]
    for why, names in left.items():
        shown = "; ".join(names[:3])
        notes.append(f"On the CPU ({why}): {shown}, {len(names)} kinds of cells in all.")
    return notes
