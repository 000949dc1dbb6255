"""What robustness costs: CRHL next to CRTM, CRCM next to CRMM, and the rivals that keep it all."""

from pathlib import Path
from typing import Any

import heavybandits as hb
from heavybandits.core.allocation import state_bytes
from measuring import ARMS, DIM, Outcome, Row, best_of, crtm, play, taker

PART = "Beyond"
NOISE_SCALE, PLAYS = 3.0**0.5, 75  # of Student's t_3; k at T = 10^6
SETS = {"fresh": hb.arms.PerRound(ARMS, DIM), "fixed": hb.arms.Fixed(ARMS, DIM)}


def measure(folder: Path, quick: bool) -> Outcome:
    horizon, repeats = (3_000, 2) if quick else (100_000, 9)
    rows = one_pass(horizon, repeats) + columns(horizon, repeats) + unaided(horizon, repeats)
    return Outcome(rows + histories(500 if quick else 10_000), [])


def one_pass(horizon: int, repeats: int) -> list[Row]:
    """CRHL over CRTM, both tuned, per round."""
    made = {
        "CRTM": crtm(horizon),
        "CRHL": hb.crhl(dim=DIM, noise_scale=NOISE_SCALE, radius_scale=1e-3),
    }
    rows = []
    for name, arms in SETS.items():
        takers = {algorithm: taker(policy, arms, horizon) for algorithm, policy in made.items()}
        best = best_of(repeats, takers)
        what, ratio = f"CRHL over CRTM per round, {name} arms", best["CRHL"] / best["CRTM"]
        note = f"{best['CRHL']:.3f} us over {best['CRTM']:.3f} us"
        rows.append(Row(PART, what, ratio, "x", most=1.15, note=note))
    return rows


def columns(horizon: int, repeats: int) -> list[Row]:
    """CRCM over CRMM, both tuned, per play."""
    sized: dict[str, Any] = {"dim": DIM, "horizon": horizon, "central_moment": 3.0, "plays": PLAYS}
    made = {make.__name__: make(**sized, radius_scale=1e-2) for make in (hb.crmm, hb.crcm)}
    best = best_of(
        repeats, {name: taker(policy, SETS["fixed"], horizon) for name, policy in made.items()}
    )
    projected = play(made["crcm"], SETS["fixed"], horizon)[0].projections[-1] / horizon
    note = f"{best['crcm']:.3f} us over {best['crmm']:.3f} us; {projected:.1%} of plays projected"
    what = f"CRCM over CRMM per play, {PLAYS} plays each"
    return [Row(PART, what, best["crcm"] / best["crmm"], "x", most=2.0, note=note)]


def unaided(horizon: int, repeats: int) -> list[Row]:
    """auto, which needs no constant, over LinUCB with a clip that sets itself, per round."""
    clipped = hb.linucb(dim=DIM, radius=1.0, filter=hb.filters.AdaptiveClip())
    made, rows = {"auto": hb.auto(dim=DIM), "linucb": clipped}, []
    for name, arms in SETS.items():
        takers = {algorithm: taker(policy, arms, horizon) for algorithm, policy in made.items()}
        best = best_of(repeats, takers)
        what, ratio = (
            f"auto over clipped LinUCB per round, {name} arms",
            best["auto"] / best["linucb"],
        )
        note = f"{best['auto']:.3f} us over {best['linucb']:.3f} us"
        rows.append(Row(PART, what, ratio, "x", most=1.3, note=note))
    return rows


def histories(horizon: int) -> list[Row]:
    """Whole runs of those that fit all rewards again and again."""
    sized: dict[str, Any] = {
        "dim": DIM,
        "horizon": horizon,
        "noise_scale": NOISE_SCALE,
        "radius_scale": 0.01,
    }
    rows = []
    for make in (hb.heavy_oful, hb.gada_oful):
        policy = make(**sized)
        play(policy, SETS["fresh"], 2)
        note = f"state {state_bytes(policy) / 1e6:.1f} MB"
        seconds = play(policy, SETS["fresh"], horizon)[1]
        what = f"{make.__name__}, T = {horizon:,}, d = {DIM}"
        rows.append(Row(PART, what, seconds, "s", most=60.0, note=note))
    return rows
