"""The gallery: every experiment's main picture, with what came out of it.

    python docs/making/gallery.py out/full

takes the pictures out of a full run into docs/images, each under the name of its experiment; what
such a run has no picture of, or what another command makes, keeps the one it has. Text and title
are those of the experiment's own README, so that neither is written twice.
"""

import re
import shutil
import sys
from pathlib import Path

import heavybandits.experiments
from heavybandits.experiments.run import NAMES

ELSEWHERE = {"map": "reproduce map --full --points 40 --repetitions 100 --device cuda"}
FIRST = ("outlier", "map", "untuned")  # what a newcomer asks first
INTRODUCTION = """# Gallery

The main picture of every experiment, from the last full run. The command under a picture makes it
again, with every table,
verdict and setting.
"""
DIAGNOSIS = """The diagnosis of the medical expenses of the RAND Health Insurance Experiment: the
upper side is a power law of index 1.63, so that there is no variance to speak of, and the ten
largest of 20,186 rows carry 44% of the sum of squares."""
ALTERNATIVES = {
    "outlier": "Cumulative regret over plays, without and with one reward of -10,000: with it "
    "GLOC, LinUCB and OL2M climb towards random play, CRTM stays flat",
    "figure1": "Cumulative regret over a million plays of six algorithms and random play, in three "
    "panels: Student's t noise, Pareto noise as printed, Pareto noise centred",
    "map": "Four maps of tail index by noise level, one square per point in the colour of the "
    "algorithm with the lowest regret, hatched where it is not separated, grey where none "
    "learns",
    "table1": "CPU time of every algorithm over the number of plays and over the dimension",
    "table2": "How many times longer than CRTM and CRMM the others take, as dots with intervals",
    "coverage": "How much of each theorem's confidence region its estimate uses, by noise",
    "tails": "Final regret over the truncation threshold at three radii, one panel per noise",
    "levels": "Final regret of fixed thresholds and of an adaptive one, by noise",
    "realdata": "Share of the oracle's gain that every policy has on real data, with intervals",
    "evaluation": "How often 95% intervals contain the truth, by estimator and tail",
    "beyond": "Regret of every algorithm, tuned, over that of random play, one panel per noise",
    "untuned": "Regret of policies without tuning and of peers over that of random play, one dot "
    "per world, by group of worlds",
    "diagnosis": "Survival of rewards on log-log axes with a power law, the Hill plot of both "
    "sides, and quantiles against the normal",
}


def experiments() -> dict[str, Path]:
    """The README of every experiment by name."""
    folder = Path(heavybandits.experiments.__file__).parent
    return {name: folder / name / "README.md" for name in NAMES}


def main_picture(name: str, figures: Path) -> Path | None:
    """The picture that an experiment wrote first: of its main figure the first view."""
    found = [path for mark in "._-" for path in figures.glob(f"{name}{mark}*png")]
    return min(found, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)


def take_pictures(run: Path, images: Path) -> list[str]:
    """Copy the main pictures of a run; the names of the experiments that had one."""
    names = [name for name in NAMES if name not in ELSEWHERE]
    pictures = {name: main_picture(name, run / "figures") for name in names}
    for name, picture in pictures.items():
        if picture is not None:
            shutil.copyfile(picture, images / f"{name}.png")
    return [name for name, picture in pictures.items() if picture is not None]


def outcome(text: str) -> str:
    """What a README says came out, or what the experiment asks if it has no such paragraph."""
    paragraphs = [each.strip() for each in text.split("\n\n") if not each.startswith(("#", "    "))]
    told = [each for each in paragraphs if not each.startswith("|")]
    found = next((each for each in told if each.startswith("**What came out**")), None)
    if found is None:
        return typeset(told[0])
    setting, _, said = found.removeprefix("**What came out** (").partition("):")
    said = said.strip() or told[told.index(found) + 1]  # behind its table
    return typeset(f"{said[0].upper()}{said[1:]} *({setting}.)*")


def typeset(text: str) -> str:
    """Powers and theta* as formulas."""
    return re.sub(r"\b10\^(\d+)", r"$10^{\1}$", text).replace("theta*", r"$\theta_*$")


def make_page(images: Path) -> str:
    """The gallery as Markdown."""
    texts = {name: path.read_text() for name, path in experiments().items()}
    pictured = [name for name in texts if (images / f"{name}.png").exists()]
    shown = [
        section(name, title(texts[name]), outcome(texts[name]), command(name))
        for name in sorted(pictured, key=[*FIRST, *NAMES].index)
    ]
    diagnosis = (
        "diagnosis",
        "Is it heavy-tailed at all?",
        DIAGNOSIS,
        "diagnose rand --plot page.png",
    )
    parts = [INTRODUCTION, *shown, section(*diagnosis)]
    rest = [name for name in texts if name not in pictured]
    if rest:
        parts.append("\n## Also in the report\n\n" + "".join(brief(n, texts[n]) for n in rest))
    return "".join(parts)


def command(name: str) -> str:
    """What makes the picture of an experiment."""
    return ELSEWHERE.get(name, f"reproduce {name} --full")


def section(name: str, heading: str, text: str, command: str) -> str:
    """One picture with what came out and the command that makes it."""
    alternative = ALTERNATIVES.get(name, f"The main figure of the experiment {name}")
    return (
        f"\n## {heading}\n\n```{{image}} images/{name}.png\n:alt: {alternative}\n```\n\n"
        f"{text}\n\n```console\n$ heavybandits {command}\n```\n"
    )


def brief(name: str, text: str) -> str:
    """One experiment whose picture is only in the report."""
    told = outcome(text).replace("\n", " ")
    return f"**{title(text)}** (`heavybandits reproduce {name} --full`). {told}\n\n"


def title(text: str) -> str:
    return text.split("\n", 1)[0].removeprefix("# ")


if __name__ == "__main__":
    taken = take_pictures(Path(sys.argv[1]), Path(__file__).parents[1] / "images")
    print(f"pictures of {', '.join(taken)}" if taken else f"{sys.argv[1]} has no pictures")
    sys.exit(not taken)
