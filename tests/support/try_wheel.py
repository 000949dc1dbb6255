"""The wheel where nothing but numpy and numba is installed; `make wheel` runs this there."""

import importlib.metadata
import sys
import tempfile
from pathlib import Path

import numpy as np

import heavybandits as hb

OURS = {"heavybandits", "numpy", "numba", "llvmlite"}
PYTHONS = {"pip", "setuptools"}


def play() -> float:
    """A small run; the regret at its end."""
    policy = hb.crtm(dim=3, horizon=200, raw_moment=3.5, radius_scale=1e-3)
    problem = hb.Problem(hb.arms.Fixed(5, 3), hb.links.Logistic(), hb.noises.StudentT(3.0))
    result = hb.simulate({"CRTM": policy}, problem, horizon=200, repetitions=2, seed=0, jobs=1)
    return float(result.data["regret"][-1])


def decide() -> None:
    """One decision of an agent that is written down and read again in between."""
    agent = hb.Agent(hb.linucb(dim=3, radius=1.0), rng=0)
    ticket = agent.select(np.eye(3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bandit.state"
        agent.save(path)
        again = hb.Agent.load(path)
    again.update(ticket.id, 1.0)
    assert again.updates == 1


def main() -> None:
    installed = {found.name.lower() for found in importlib.metadata.distributions()}
    assert installed - PYTHONS == OURS, f"installed: {', '.join(sorted(installed))}"
    assert importlib.metadata.version("heavybandits") == hb.__version__
    assert Path(hb.__file__).is_relative_to(sys.prefix), f"{hb.__file__} is not the wheel's"
    decide()
    regret = play()
    assert 0.0 < regret < 200.0, regret
    print(f"heavybandits {hb.__version__} plays with numpy and numba alone")


if __name__ == "__main__":
    main()
