"""Sweeps, tuning and experiments on a device: what is asked of it, and what is made of its answer.

Device and CPU are both played by a formula here, so that nothing is compiled. What a real device
computes is compared with the CPU by `make gpu-check`, on a machine that has one.
"""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from all_policies import POLICIES
from heavybandits.core.loop import make_trace
from heavybandits.experiments import figure1
from heavybandits.experiments import map as who_wins
from heavybandits.experiments.map import cells as playing
from heavybandits.experiments.run import device_notes, settings_of
from heavybandits.gpu.layout import numbers_of
from heavybandits.sweeps import Runner
from heavybandits.sweeps import gpu_cells as devices
from heavybandits.sweeps import simulation_cell as simulation

DEVICES = ("cuda", "cpu")
COUNTED = ("regret", "updates", "projections", "truncated", "fallbacks")
SIZE: dict[str, Any] = {"horizon": 60, "repetitions": 3, "checkpoints": 2}
NOISES: dict[str, Any] = {"light": hb.noises.Gaussian(), "heavy": hb.noises.StudentT(2.0)}
PROBLEMS = {
    name: hb.Problem(hb.arms.Fixed(5, 3), hb.links.Logistic(), noise)
    for name, noise in NOISES.items()
}


def crtm(constant):
    return hb.crtm(dim=3, horizon=60, raw_moment=3.5, radius_scale=constant)


def play_run(job, plays, repetition):
    """Regrets that differ with all they depend on; with their constant as if 0.3 were the best."""
    known = [*numbers_of(job.policy), *numbers_of(job.problem[:3]), job.horizon, job.seed]
    distance = sum(
        abs(np.log(max(number, 1e-9) / 0.3)) for number in known if isinstance(number, float)
    )
    trace = make_trace(plays)
    trace.regret[:] = distance + np.sin(job.seed + repetition) + plays / job.horizon
    return trace._replace(updates=plays + repetition)


def play_job(job, recorder=None):
    assert recorder is None
    plays, runs = np.array(job.checkpoints), range(job.first, job.last)
    traces = [play_run(job, plays, repetition) for repetition in runs]
    columns = {name: np.stack([getattr(trace, name) for trace in traces]) for name in COUNTED}
    return {"play": plays, **columns, "cpu_seconds": np.array(runs, float)}


@pytest.fixture
def launches(monkeypatch):
    """How many jobs a device is given at a time."""
    sizes = []

    def play_on_device(jobs, advance=lambda plays: None):
        sizes.append(len(jobs))
        advance(sum(job.size * job.horizon for job in jobs))
        return [play_job(job) for job in jobs]

    monkeypatch.setattr(devices, "play_on_device", play_on_device)
    for module in (simulation, playing):
        monkeypatch.setattr(module, "play_job", play_job)
    return sizes


def runner(folder, device, **options):
    return Runner(
        folder, backend="sequential", device=device, progress=False, fallback=True, **options
    )


def same(first, second):
    return all((first.data[n] == second.data[n]).all() for n in first.columns if "seconds" not in n)


def test_a_sweep_on_a_device_is_one_launch_and_the_same_result(launches):
    policies = {"CRTM": crtm(0.1), "LinUCB": hb.linucb(dim=3, radius=1.0)}
    there = hb.sweep(policies, PROBLEMS, **SIZE, device="cuda")
    assert launches == [4]
    assert same(there, hb.sweep(policies, PROBLEMS, **SIZE))


def test_cells_of_a_device_are_kept_and_are_not_those_of_the_cpu(launches, tmp_path):
    for _ in range(2):
        hb.sweep(crtm(0.1), PROBLEMS["light"], **SIZE, device="cuda", folder=tmp_path)
    assert launches == [1]
    hb.sweep(crtm(0.1), PROBLEMS["light"], **SIZE, folder=tmp_path)
    assert len(list((tmp_path / "cells").glob("*.npz"))) == 2


@pytest.mark.filterwarnings("ignore:the best value of CRTM is not inside")
def test_tuning_on_a_device_plays_all_that_its_grid_may_hold_at_once(launches):
    given: dict[str, Any] = {
        "tuning_repetitions": 2,
        "grid": [0.1, 1.0],
        "bounds": (1e-3, 10.0),
    }
    there = hb.tune({"CRTM": crtm}, PROBLEMS, **SIZE, **given, device="cuda")
    assert launches == [2 * 5, 2]  # two problems at five constants; then both at the best
    here = hb.tune({"CRTM": crtm}, PROBLEMS, **SIZE, **given)
    assert same(there.result, here.result)
    assert there.choices == here.choices
    assert {key: list(curve) for key, curve in there.curves.items()} == {
        key: list(curve) for key, curve in here.curves.items()
    }


@pytest.mark.parametrize("run", [hb.sweep, hb.tune])
def test_a_policy_that_no_device_can_play_is_refused_before_anything_runs(launches, run):
    policies = {"CRTM": crtm if run is hb.tune else crtm(0.1), "TOFU": POLICIES["tofu"]}
    with pytest.raises(hb.InvalidInputError, match=r"TOFU, heavy: .*keeps its history"):
        run(policies, {"heavy": PROBLEMS["heavy"]}, horizon=60, repetitions=2, device="cuda")
    assert launches == []


def test_a_function_has_no_device():
    with pytest.raises(TypeError, match="device"):
        hb.map_cells(dict, [{"number": 1}], device="cuda")  # type: ignore[call-arg]


def test_an_experiment_plays_there_what_it_can_and_says_what_it_cannot(launches, tmp_path):
    given = settings_of("figure1", "smallest")
    there, here = (runner(tmp_path, d) for d in DEVICES)
    rows = figure1.collect(given, there)
    assert rows == figure1.collect(given, here)
    assert rows == figure1.collect(given, runner(tmp_path, "cuda", stored=True))
    assert len(device_notes(there)) == 1
    assert device_notes(here) == []
    timed = figure1.make_group(given, "report", given["readings"][0], "t3", "CRTM", 1.0)[1]
    there([cell.__class__("builtins:dict", {"seconds": 1.0}) for cell in timed])
    assert "On the CPU (device='cuda' has no form of dict)" in device_notes(there)[1]


def test_the_map_is_played_there(launches, tmp_path):
    given = settings_of("map", "smallest", points=3)
    there, here = (runner(tmp_path, d) for d in DEVICES)
    assert who_wins.collect(given, there) == who_wins.collect(given, here)
    assert len(launches) == 1
    assert len({(row["index"], row["level"]) for row in who_wins.collect(given, there)}) == 9
