"""Logs of decisions whose features an encoder makes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._utils.errors import InvalidInputError
from ...core.arrays import Floats
from ...features import FeatureMap
from ...features import tables as frames
from ...features.infer import distinct
from ...features.logs import encode_offers
from ...features.values import read_text
from .kernels import encoded_kernel, run_timed
from .log import UNIFORM, Playable, check_uniform, find_propensity, read_log


class EncodedLog(NamedTuple):
    """Decisions taken uniformly at random: features of all actions in every row (n, A, d), the
    place of the action taken and its reward."""

    rows: Floats
    taken: NDArray[np.int64]
    rewards: Floats

    @property
    def dim(self) -> int:
        return int(self.rows.shape[2])

    @property
    def size(self) -> int:
        """The number of actions."""
        return int(self.rows.shape[1])

    def take(self, places: Any) -> "EncodedLog":
        """These rows, in this order."""
        return EncodedLog(self.rows[places], self.taken[places], self.rewards[places])

    def play(
        self, policy: Any, state: Any, arms: Any, view: Any, rewards: Floats, chosen: Any
    ) -> float:
        """Let a policy pass over the rows; CPU seconds."""
        rows = (self.rows, self.taken, rewards, np.zeros(1), chosen)
        return run_timed(encoded_kernel, policy, state, arms, view, *rows)


def read_any(frame: Any, features: Sequence[str] | FeatureMap, *columns: Any) -> Playable:
    """A log whose features are columns, or what an encoder makes of them."""
    if isinstance(features, FeatureMap):
        return read_encoded(frame, features, *columns)
    return read_log(frame, features, *columns)


def read_encoded(
    frame: Any,
    features: FeatureMap,
    reward: str,
    action: str,
    propensity: str,
    actions: Mapping[str, Any] | None,
    drop_missing: bool,
) -> EncodedLog:
    """A log from columns, with actions that have names."""
    source = frames.read_frame(frame)
    names = [reward]
    if propensity != UNIFORM:
        names.append(find_propensity(propensity, frames.column_names(source)))
    values, kept = frames.table(source, names, drop_missing=drop_missing)
    taken = [read_text(name) for name in frames.column(source, action, "action")]
    known = distinct(frames.values(source, action), action)
    known = known if actions is None else [read_text(name) for name in actions]
    places = {name: place for place, name in enumerate(known)}
    for name in taken:
        if name not in places:
            raise InvalidInputError(
                f"actions must have all offers of the log, got none for {name!r}"
            )
    check_uniform(UNIFORM if propensity == UNIFORM else values[:, 1], len(values), len(known))
    rows = encode_offers(source, features, known, action, actions)
    places_taken = np.array([places[name] for name in taken], np.int64)
    return EncodedLog(rows[kept], places_taken[kept], values[:, 0].copy())
