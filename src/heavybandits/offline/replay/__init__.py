"""Replay: policies play over rows whose rewards are all known."""
