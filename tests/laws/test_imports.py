"""What `import heavybandits` costs, and what a missing extra says."""

import subprocess
import sys
from pathlib import Path

import pytest

EXTRAS = (
    "matplotlib",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "scipy",
    "joblib",
    "click",
    "rich",
    "gymnasium",
    "dask",
)

# Modules of extras are made to be missing, as on a machine that has numpy and numba alone.
BARE = f"""
import sys
for name in {EXTRAS!r}:
    sys.modules[name] = None
import numpy as np
import heavybandits as hb
"""


def python(code: str, folder: Path | None = None) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_core_imports_no_extra():
    """Beyond what numba itself imports where it finds it, as it does scipy."""
    code = """
import sys, numpy, numba
before = set(sys.modules)
import heavybandits
print(*{name.split(".")[0] for name in set(sys.modules) - before})
"""
    loaded = python(code).split()
    assert "heavybandits" in loaded
    assert not set(EXTRAS) & set(loaded)


def test_a_missing_extra_says_how_to_get_it():
    said = python(
        BARE
        + """
result = hb.Result({"policy": ["a"], "play": [1], "regret": [0.0]})
for use in (result.to_pandas, lambda: result.to_parquet("x"), result.plot):
    try:
        use()
    except ModuleNotFoundError as error:
        print(error)
"""
    ).splitlines()
    assert len(said) == 3
    for line, module in zip(said, ("pandas", "pyarrow", "matplotlib"), strict=True):
        assert line == f'this needs {module}: pip install "heavybandits[lab]"'


def test_agents_and_runs_need_no_extra():
    said = python(
        BARE
        + """
agent = hb.Agent(hb.linucb(dim=3, radius=1.0), rng=0)
agent.update(agent.select(np.eye(3)), 1.0)
print(agent.clone().updates, hb.theory.median_plays(horizon=10**6))
"""
    )
    assert said.split() == ["1", "317"]


def test_encoders_of_dictionaries_need_no_extra(tmp_path):
    said = python(
        BARE
        + """
encoder = hb.Encoder.from_data(
    {"city": ["Oslo", "Rome"], "price": [1.0, 2.0]},
    context_columns=["city"],
    action_columns=["price"],
)
again = hb.Encoder.from_dict(encoder.to_dict())
print(again.encode({"city": "Oslo"}, {"tea": {"price": 1.0}}).shape)
class Frame:
    columns = ["price"]
open("log.csv", "w").close()
for given in (Frame(), "log.csv"):
    try:
        encoder.encode_rows(given)
    except ModuleNotFoundError as error:
        print(error)
""",
        tmp_path,
    ).splitlines()
    assert said == [
        "(1, 8)",
        'this needs narwhals: pip install "heavybandits[lab]"',
        'this needs pyarrow: pip install "heavybandits[lab]"',
    ]


@pytest.mark.parametrize("name", ["crtm", "crmm", "ol2m", "linucb", "Agent", "simulate", "Encoder"])
def test_public_names_have_examples(name):
    import heavybandits as hb

    assert ">>>" in getattr(hb, name).__doc__


def test_everything_public_is_documented():
    import heavybandits as hb

    bare = [name for name, item in vars(hb).items() if name[0] != "_" and not item.__doc__]
    assert bare == []
