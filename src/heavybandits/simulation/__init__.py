"""Policies that play problems, and what came of it."""
