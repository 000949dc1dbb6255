"""Several agents and their tickets in any order, also in the wrong hands, against a plain model."""

import tempfile
from collections import Counter
from pathlib import Path

from interleaving import Player


def interleave_agents(attempts: int, seed: int) -> Counter[str]:
    """Selects, rewards, refunds, lessons, clones, reopenings and rebuilds of up to five agents."""
    outcomes: Counter[str] = Counter()
    for part in range(-(-attempts // 1000)):
        with tempfile.TemporaryDirectory() as folder:
            player = Player(Path(folder), seed=1000 * seed + part)
            try:
                for n in range(min(1000, attempts - 1000 * part)):
                    player.act()
                    if n % 50 == 0:
                        for each in player.agents:
                            player.check(*each)
                outcomes += player.finish()
            except Exception as error:
                outcomes[f"FAULT: {type(error).__name__}: {error} (part {part})"] += 1
    return outcomes
