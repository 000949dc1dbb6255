"""Every family of parts and its parts, found by themselves.

A part belongs to the library if a family exports it; to add one is to write it and to export it
there. What is found here may be named in files, and must be built by a test.
"""

from types import ModuleType
from typing import NamedTuple

from ..core import protocols
from ..core.conformance import fault
from ..core.part import public_module
from . import arms, estimators, filters, links, noises, policies, radii, recorders, worlds


class Family(NamedTuple):
    """A module that exports parts of one kind, and the contract they keep."""

    module: ModuleType
    contract: type

    def parts(self) -> dict[str, type]:
        """Return the parts of this kind that the module exports, by name.

        >>> list(FAMILIES["link"].parts())
        ['Exponential', 'Identity', 'Logistic', 'Probit']
        """
        found = exported_parts(self.module).items()
        return {name: part for name, part in found if fault(part, self.contract) is None}


FAMILIES: dict[str, Family] = {
    "link": Family(links, protocols.Link),
    "noise": Family(noises, protocols.Noise),
    "arm set": Family(arms, protocols.ArmSet),
    "filter": Family(filters, protocols.Filter),
    "projection": Family(estimators, protocols.Projection),
    "estimator": Family(estimators, protocols.Estimator),
    "per-arm estimator": Family(estimators, protocols.PerArmEstimator),
    "radius": Family(radii, protocols.Radius),
    "policy": Family(policies, protocols.Policy),
    "noise that sees the arm": Family(worlds, protocols.ArmNoise),
    "drift": Family(worlds, protocols.Drift),
    "delay": Family(worlds, protocols.Delay),
    "adversary": Family(worlds, protocols.Adversary),
    "recorder": Family(recorders, protocols.Recorder),
}


def exported_parts(module: ModuleType) -> dict[str, type]:
    """Return the NamedTuple classes that a module exports, by name."""
    exported = {name: getattr(module, name) for name in sorted(module.__all__)}
    return {
        name: item
        for name, item in exported.items()
        if isinstance(item, type) and issubclass(item, tuple) and hasattr(item, "_fields")
    }


def library_parts() -> dict[str, type]:
    """Every part of the library by the name of its family's module and its own.

    >>> library_parts()["heavybandits.filters:Clip"].__name__
    'Clip'
    """
    modules = {family.module for family in FAMILIES.values()}
    return {
        f"{public_module(module.__name__)}:{name}": part
        for module in sorted(modules, key=lambda module: module.__name__)
        for name, part in exported_parts(module).items()
    }
