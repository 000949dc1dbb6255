"""An agent of ours next to coba's LinUCB in coba's own Experiment, under heavy noise.

python benchmarks/coba_experiment.py [--rounds 2000] [--seeds 10]
"""

import argparse
import warnings
from typing import Any

import coba
import numpy as np

import heavybandits as hb
from heavybandits.integrations.coba import Learner

ARMS, DIM, SPREAD = 10, 5, 0.5
THETA = np.ones(DIM) / np.sqrt(DIM)
NOISES = {"normal": None, "Student t, 3": 3.0, "Student t, 1.5": 1.5, "Student t, 1.2": 1.2}


def simulation(rounds: int, dof: float | None, seed: int) -> tuple[Any, float]:
    """Linear rewards with noise, drawn beforehand; and the mean reward of the best actions."""
    rng = np.random.default_rng([seed, 0])
    arms = rng.normal(size=(rounds, ARMS, DIM))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    size = (rounds, ARMS)
    noise = rng.normal(size=size) if dof is None else rng.standard_t(dof, size)
    means = arms @ THETA
    actions = [[tuple(arm) for arm in offered] for offered in arms.tolist()]
    rewards = (means + SPREAD * noise).tolist()
    paid = [dict(zip(*row, strict=True)) for row in zip(actions, rewards, strict=True)]
    environment = coba.Environments.from_lambda(
        rounds, lambda t: None, lambda t, c: actions[t], lambda t, c, a: paid[t][a]
    )
    return environment, float(means.max(axis=1).mean())


def learners() -> dict[str, Any]:
    clip = hb.filters.AdaptiveClip()
    return {
        "coba's LinUCB": coba.LinUCBLearner(features=["a"]),
        "LinUCB": Learner(hb.linucb(dim=DIM, radius=1.0), name="LinUCB"),
        "LinUCB, AdaptiveClip": Learner(hb.linucb(dim=DIM, radius=1.0, filter=clip), name="clip"),
    }


def regret(rounds: int, dof: float | None, seed: int) -> list[float]:
    """The mean regret per round of each learner, without the noise of what it was paid."""
    environment, best = simulation(rounds, dof, seed)
    result = coba.Experiment(environment, list(learners().values())).run(quiet=True)
    played: dict[int, list[Any]] = {}
    for row in result.interactions.to_dicts():
        played.setdefault(row["learner_id"], []).append(row["action"])
    return [best - float((np.array(a) @ THETA).mean()) for _, a in sorted(played.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=10)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # of coba's
    print("| noise |", " | ".join(learners()), "|")
    print("|---" * (1 + len(learners())) + "|")
    for name, dof in NOISES.items():
        found = np.array([regret(chosen.rounds, dof, seed) for seed in range(chosen.seeds)])
        mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
        cells = (f"{m:.4f} +- {e:.4f}" for m, e in zip(mean, error, strict=True))
        print(f"| {name} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
