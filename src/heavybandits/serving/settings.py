"""What the service remembers of an agent between two starts, in a small JSON file."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from .._utils.errors import InvalidInputError
from .._utils.files import replace_atomically
from .config import AgentConfig
from .ledgers import first_name

Description = dict[str, Any]  # of a policy: its name, parameters and epsilon


@dataclass
class Settings:
    """Mode, hold-out, policies and marks of an agent, as the administration has set them.

    `ledger` names the one in use, without the secrets of an address. `version` grows with each
    promotion; `policies` are those promoted, the newest last; `frozen` is the file of the state
    that decides when the mode is "frozen".
    """

    mode: str
    holdout: float
    baseline: str
    version: int = 1
    ledger: str | None = None
    policies: list[Description] = field(default_factory=list)
    marks: dict[str, Description] = field(default_factory=dict)
    frozen: str | None = None
    rollout: Description | None = None


class SettingsFile:
    """The file of the settings of one agent.

    Parameters
    ----------
    config : AgentConfig
        The configuration, which the settings start from.
    folder : Path
        Where the file is.
    """

    def __init__(self, config: AgentConfig, folder: Path) -> None:
        self._config, self._path = config, folder / f"{config.name}.service.json"

    def load(self) -> Settings:
        """Return the settings; those of the configuration if nothing was ever set."""
        config = self._config
        if not self._path.exists():
            first = first_name(config)
            return Settings(config.mode, config.holdout, config.baseline, ledger=first)
        try:
            given = json.loads(self._path.read_text())
            known = {one.name for one in fields(Settings)}
            return Settings(**{name: value for name, value in given.items() if name in known})
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidInputError(
                f"{self._path} must be what the service has written: {error}. Remove it to start "
                "from the configuration again"
            ) from error

    def save(self, settings: Settings) -> None:
        """Write the settings; the file is replaced at once."""
        text = json.dumps(asdict(settings), indent=1)
        replace_atomically(self._path, lambda path: path.write_text(text))
