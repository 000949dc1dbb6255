"""The papers of the algorithms, for tables and for citations. docs/literature.md says more."""

from typing import NamedTuple

from .._utils.version import __version__

NEURIPS = "Advances in Neural Information Processing Systems"
ICML = "International Conference on Machine Learning"


class Reference(NamedTuple):
    """One paper.

    >>> SHAO.short, SHAO.key
    ('Shao, Yu, King, Lyu (2018)', 'shao2018')
    """

    authors: tuple[str, ...]
    year: int
    title: str
    venue: str

    @property
    def short(self) -> str:
        """Authors and year, as tables show them."""
        return f"{', '.join(self.authors)} ({self.year})"

    @property
    def key(self) -> str:
        """Key of the BibTeX entry."""
        return f"{self.authors[0].lower().replace('-', '')}{self.year}"

    @property
    def text(self) -> str:
        """One line of plain text."""
        return f"{self.short}. {self.title}. {self.venue}."

    @property
    def bibtex(self) -> str:
        """One BibTeX entry."""
        return (
            f"@inproceedings{{{self.key},\n"
            f"  author = {{{' and '.join(self.authors)}}},\n"
            f"  title = {{{self.title}}},\n"
            f"  booktitle = {{{self.venue}}},\n"
            f"  year = {{{self.year}}},\n"
            "}"
        )


XUE23 = Reference(
    ("Xue", "Wang", "Wan", "Yi", "Zhang"),
    2023,
    "Efficient algorithms for generalized linear bandits with heavy-tailed rewards",
    f"{NEURIPS} 36",
)
XUE20 = Reference(
    ("Xue", "Wang", "Wang", "Zhang"),
    2020,
    "Nearly optimal regret for stochastic linear bandits with heavy-tailed payoffs",
    "International Joint Conference on Artificial Intelligence",
)
ZHANG = Reference(
    ("Zhang", "Yang", "Jin", "Xiao", "Zhou"),
    2016,
    "Online stochastic linear optimization under one-bit feedback",
    ICML,
)
JUN = Reference(
    ("Jun", "Bhargava", "Nowak", "Willett"),
    2017,
    "Scalable generalized linear bandits: online computation and hashing",
    f"{NEURIPS} 30",
)
ZHONG = Reference(
    ("Zhong", "Huang", "Yang", "Wang"),
    2021,
    "Breaking the moments condition barrier: no-regret algorithm for bandits with super "
    "heavy-tailed payoffs",
    f"{NEURIPS} 34",
)
ABBASI = Reference(
    ("Abbasi-Yadkori", "Pál", "Szepesvári"),
    2011,
    "Improved algorithms for linear stochastic bandits",
    f"{NEURIPS} 24",
)
MEDINA = Reference(
    ("Medina", "Yang"), 2016, "No-regret algorithms for heavy-tailed linear bandits", ICML
)
SHAO = Reference(
    ("Shao", "Yu", "King", "Lyu"),
    2018,
    "Almost optimal algorithms for linear stochastic bandits with heavy-tailed payoffs",
    f"{NEURIPS} 31",
)
WANG = Reference(
    ("Wang", "Zhang", "Zhao", "Zhou"),
    2025,
    "Heavy-tailed linear bandits: Huber regression with one-pass update",
    ICML,
)
HUANG = Reference(
    ("Huang", "Zhong", "Wang", "Yang"),
    2023,
    "Tackling heavy-tailed rewards in reinforcement learning with function approximation: minimax "
    "optimal and instance-dependent regret bounds",
    f"{NEURIPS} 36",
)
YU = Reference(
    ("Yu", "Baek", "Li", "Sun"),
    2025,
    "Corruption-robust variance-aware algorithms for generalized linear bandits under heavy-tailed "
    "rewards",
    "Conference on Uncertainty in Artificial Intelligence",
)
PAPERS = (XUE23, XUE20, ZHANG, JUN, ZHONG, ABBASI, MEDINA, SHAO, WANG, HUANG, YU)
BY_NAME = {paper.short: paper for paper in PAPERS}

TITLE = "heavybandits: contextual bandits for rewards with heavy tails"
LIBRARY_TEXT = f"The heavybandits developers. {TITLE}. Version {__version__}."
LIBRARY_BIBTEX = (
    "@software{heavybandits,\n"
    "  author = {{The heavybandits developers}},\n"
    f"  title = {{{TITLE}}},\n"
    f"  version = {{{__version__}}},\n"
    "}"
)
