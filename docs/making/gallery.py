"""The gallery: every experiment's picture that the repository keeps, with what came out of it.

A picture of the last full run lies in docs/images under the name of its experiment; text and title
are those of the experiment's own README, so that neither is written twice.
"""

import re
from pathlib import Path

from heavybandits import paper
from heavybandits.paper.run import NAMES

INTRODUCTION = """# Gallery

What came out, picture by picture. Each comes from the last full run of the experiments; the command
under it makes it again, with every table, verdict and setting around it.
"""
DOCTOR = """The tail doctor on the medical expenses of the RAND Health Insurance Experiment: the
upper side is a power law of index 1.63, so that there is no variance to speak of, and the ten
largest of 20 186 rows carry 44% of the sum of squares."""
ALTERNATIVES = {
    "outlier": "Cumulative regret over plays, without and with one reward of -10 000: with it "
    "GLOC, LinUCB and OL2M climb towards random play, CRTM stays flat",
    "figure1": "Cumulative regret over a million plays of six algorithms and random play, in three "
    "panels: Student's t noise, Pareto noise as printed, Pareto noise centred",
    "map": "Four maps of tail index by noise level, one square per point in the colour of the "
    "algorithm with the lowest regret, hatched where it is not clearly ahead, grey where nobody "
    "learns",
    "tail_doctor": "Survival of rewards on log-log axes with a power law, the Hill plot of both "
    "sides, and quantiles against the normal",
}


def experiments() -> dict[str, Path]:
    """The README of every experiment by name."""
    folder = Path(paper.__file__).parent
    return {name: folder / name / "README.md" for name in NAMES}


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
        section(name, title(texts[name]), outcome(texts[name]), f"reproduce {name} --full")
        for name in sorted(pictured, reverse=True)
    ]
    doctor = ("tail_doctor", "Is it heavy-tailed at all?", DOCTOR, "diagnose rand --plot page.png")
    parts = [INTRODUCTION, *shown, section(*doctor)]
    rest = [name for name in texts if name not in pictured]
    if rest:
        parts.append("\n## Also in the report\n\n" + "".join(brief(n, texts[n]) for n in rest))
    return "".join(parts)


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
