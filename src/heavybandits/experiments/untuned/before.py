"""Mean regret of the earlier form of `auto`, by problem and horizon. Data only."""

BEFORE_RUNS = 20  # the first runs of the reported seed

BEFORE: dict[tuple[str, int], float] = {}
