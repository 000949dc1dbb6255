"""Checks that any policy must pass, for authors of policies."""
