"""What everything stands on: checks, files, progress. It knows nothing of bandits."""
