"""What the experiments share: statistics, verdicts, tuning, cells, figures and tables as data."""
