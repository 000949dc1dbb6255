"""The experiments by name, and profiles: how much of everything one command runs."""

import importlib
from typing import Any, NamedTuple

from ..support.errors import InvalidInput

NAMES = ("figure1", "table2", "table1", "coverage", "tails", "outlier", "levels", "realdata")


def load_experiment(name: str) -> Any:
    """The package of an experiment.

    >>> load_experiment("figure1").settings.PROFILES["default"]["horizon"]
    1000000
    """
    if name not in NAMES:
        raise InvalidInput(f"experiment must be one of {', '.join(NAMES)}, got {name!r}")
    return importlib.import_module(f"{__package__}.{name}")


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
            "a look in about two minutes: T = 10^5, five constants, a small Table 2",
            ("figure1", "table2", "coverage", "outlier"),
            (
                "the paper's horizon of 10^6",
                "centred Pareto noise, unprojected baselines, arms redrawn at every decision",
                "Table 2 at the paper's size, Table 1, the tails experiment",
            ),
        ),
        Profile(
            "default",
            "both panels at T = 10^6, tuned, primary reading; Table 2, the outlier, coverage",
            ("figure1", "table2", "coverage", "outlier"),
            (
                "the readings with unprojected baselines and with arms redrawn at every decision",
                "Table 1, the tails experiment",
            ),
        ),
        Profile("full", "all readings, all noises, all experiments", NAMES, ()),
        Profile("smallest", "everything in seconds, for tests: it shows nothing", NAMES, ()),
    )
}


def settings_of(
    experiment: str, profile: str, repetitions: int | None = None, seed: int | None = None
) -> dict[str, Any]:
    """The settings of an experiment in a profile, with the user's numbers in place.

    Timing and coverage have `runs` of their own, which `repetitions` leaves alone.

    >>> settings_of("figure1", "quick", repetitions=20)["repetitions"]
    20
    """
    given = dict(load_experiment(experiment).settings.PROFILES[profile])
    if repetitions is not None and "repetitions" in given:
        given["repetitions"] = repetitions
    if seed is not None:
        given["seed"] = seed
    return given
