"""Provenance: what a result was computed from, as plain JSON."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._utils.errors import printable
from .._utils.files import jsonable
from .._utils.version import __version__
from ..core import sources
from ..core.part import describe, identity, is_part, own_classes
from ..core.protocols import Policy
from .problem import Problem

LONG = 20_000  # characters of JSON, above which a figure has the settings alone
LARGE = 1_000  # numbers of an array, above which its hash is recorded instead

Runs = Mapping[tuple[str, str], tuple[Policy, Problem]]  # by names of the policy and the problem


def describe_runs(runs: Runs, **settings: Any) -> dict[str, Any]:
    """Return what the runs of a simulation depend on.

    >>> import heavybandits as hb
    >>> problem = hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), hb.noises.Gaussian())
    >>> made = describe_runs({("LinUCB", ""): (hb.linucb(dim=2, radius=1.0), problem)}, seed=7)
    >>> made["seed"], made["problems"][""]["fields"]["noise"]["fields"]
    (7, {'scale': 1.0})
    """
    own = own_classes(tuple(runs.values()))
    modules = {part.__module__ for part in own if sources.source_file(part.__module__)}
    return {
        "heavybandits": __version__,
        **settings,
        "problems": {place: describe_part(problem) for (_, place), (_, problem) in runs.items()},
        "policies": [
            {"policy": name, "problem": place, "parts": describe_part(policy)}
            for (name, place), (policy, _) in runs.items()
        ],
        "own_sources": sources.digest(modules) if modules else None,
    }


def describe_part(value: Any) -> Any:
    """Return a part as plain JSON; a large array becomes its shape and its hash."""
    if is_part(value):
        fields = zip(value._fields, value, strict=True)
        inner = {name: describe_part(field) for name, field in fields}
        return {"part": identity(type(value)), "fields": inner}
    if isinstance(value, np.ndarray) and value.size > LARGE:
        data = np.ascontiguousarray(value).data
        return {"shape": list(value.shape), "sha256": hashlib.sha256(data).hexdigest()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return jsonable(describe(value))


def is_provenance(value: Any) -> bool:
    """Return True for what `describe_runs` returns, and for an empty dictionary.

    >>> is_provenance({}), is_provenance({"policies": [{"policy": "a"}]})
    (True, False)
    """
    listed = value.get("policies", []) if isinstance(value, dict) else None
    return isinstance(listed, list) and all(
        isinstance(each, dict)
        and isinstance(each.get("policy"), str)
        and isinstance(each.get("parts"), dict)
        for each in listed
    )


def in_one_line(provenance: Mapping[str, Any]) -> str:
    """Return the version and the plain settings, for the comment of a file.

    >>> in_one_line({"heavybandits": "0.1.0", "seed": 7, "problems": {}})
    'heavybandits 0.1.0, seed 7'
    """
    plain = {k: v for k, v in provenance.items() if isinstance(v, str | int | float)}
    return printable(", ".join(f"{name} {value}" for name, value in plain.items()))


def for_figure(provenance: Mapping[str, Any]) -> str:
    """Return the provenance for the metadata of a figure: without the parts if they are many."""
    whole = to_json(provenance) if provenance else ""
    return whole if len(whole) <= LONG else in_one_line(provenance)


def to_json(provenance: Mapping[str, Any]) -> str:
    """Return the provenance as JSON, the same text for the same content."""
    return json.dumps(provenance, sort_keys=True, allow_nan=False)
