"""Open Bandit Pipeline's own estimators on logs from a file, or its own sample of data as a file.

    python obp_estimators.py estimate LOGS.npz     prints value, low and high by run and method
    python obp_estimators.py sample FOLDER         writes the logs of the sample there

Runs in an environment of its own. `import obp` imports all there is, PyTorch included. None of
these estimators uses it, so that their modules are imported alone, and what they find in place of
PyTorch is a module with the one name they mention.
"""

import importlib.metadata
import importlib.util
import json
import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

BOOTSTRAPS = 200
LAMBDAS = [1.0, 3.0, 10.0, 30.0, 100.0]  # of weights, among which obp chooses
SHARES = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0]  # of sub-Gaussian weights
FEW = 10  # actions
CAMPAIGNS = ("all", "men", "women")


def import_alone() -> None:
    """Let modules of obp be imported one by one, without what its packages import."""
    spec: Any = importlib.util.find_spec("obp")
    root = Path(spec.submodule_search_locations[0])
    for name in ("obp", "obp.ope", "obp.dataset"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    torch: Any = ModuleType("torch")
    torch.tensor = torch.Tensor = type("Tensor", (), {})
    sys.modules["torch"] = torch


def estimators() -> dict[str, Any]:
    from obp.ope import estimators as plain
    from obp.ope import estimators_tuning as tuned

    return {
        "IPW": plain.InverseProbabilityWeighting(estimator_name="IPW"),
        "SNIPW": plain.SelfNormalizedInverseProbabilityWeighting(estimator_name="SNIPW"),
        "DM": plain.DirectMethod(estimator_name="DM"),
        "DR": plain.DoublyRobust(estimator_name="DR"),
        "SNDR": plain.SelfNormalizedDoublyRobust(estimator_name="SNDR"),
        "Switch-DR": tuned.SwitchDoublyRobustTuning(LAMBDAS, estimator_name="Switch-DR"),
        "DRos": tuned.DoublyRobustWithShrinkageTuning(LAMBDAS, estimator_name="DRos"),
        "SG-IPW": tuned.SubGaussianInverseProbabilityWeightingTuning(
            SHARES, estimator_name="SG-IPW"
        ),
        "SG-DR": tuned.SubGaussianDoublyRobustTuning(SHARES, estimator_name="SG-DR"),
    }


def make_model(actions: int) -> Any:
    """obp's model of the rewards: a ridge regression, here on context, action and their products;
    without the products where there are many actions."""
    from obp.ope.regression_model import RegressionModel
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    products = make_pipeline(PolynomialFeatures(2, interaction_only=True), Ridge())
    return RegressionModel(products if actions <= FEW else Ridge(), actions)


def estimate(log: dict[str, Any], seed: int) -> list[list[float]]:
    """Value, low and high of every estimator, the model cross-fitted."""
    from obp.ope.meta import OffPolicyEvaluation

    rows, actions = log["shares"].shape
    model = make_model(actions)
    told = {name: log[name] for name in ("context", "action", "reward")}
    predicted = model.fit_predict(**told, n_folds=4, random_state=seed)
    feedback = told | {"pscore": log["pscore"], "n_rounds": rows, "n_actions": actions}
    feedback["position"] = None
    judge = OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=[*estimators().values()])
    given = {"action_dist": log["shares"][:, :, None], "estimated_rewards_by_reg_model": predicted}
    values = judge.estimate_policy_values(**given)
    ends = judge.estimate_intervals(**given, n_bootstrap_samples=BOOTSTRAPS, random_state=seed)
    return [
        [float(values[n]), *(float(ends[n][f"95.0% CI ({end})"]) for end in ("lower", "upper"))]
        for n in estimators()
    ]


def estimate_all(path: Path) -> dict[str, Any]:
    """What every estimator makes of every log of a file, whose arrays have one entry per run."""
    logs = dict(np.load(path))
    runs = range(len(logs["reward"]))
    found = [estimate({name: each[run] for name, each in logs.items()}, run) for run in runs]
    version = importlib.metadata.version("obp")
    return {"version": version, "methods": list(estimators()), "found": found}


def write_sample(folder: Path) -> dict[str, Any]:
    """The log of Bernoulli Thompson sampling and the clicks of uniform play, by campaign."""
    import pandas
    from obp.dataset.real import OpenBanditDataset

    class Sample(OpenBanditDataset):
        def pre_process(self) -> None:  # obp's own asks for pandas before version 2
            users = self.data.loc[:, self.data.columns.str.startswith("user_feature")]
            self.context = pandas.get_dummies(users, drop_first=True, dtype=float).values
            self.action_context = None

    for campaign in CAMPAIGNS:
        log = Sample(behavior_policy="bts", campaign=campaign).obtain_batch_bandit_feedback()
        chance = Sample(behavior_policy="random", campaign=campaign).obtain_batch_bandit_feedback()
        kept = {name: log[name] for name in ("context", "action", "reward", "pscore", "n_actions")}
        np.savez(folder / f"{campaign}.npz", clicks=chance["reward"], **kept)
    return {"campaigns": list(CAMPAIGNS)}


def main() -> None:
    logging.disable()
    import_alone()
    what, path = sys.argv[1], Path(sys.argv[2])
    print(json.dumps(estimate_all(path) if what == "estimate" else write_sample(path)))


if __name__ == "__main__":
    main()
