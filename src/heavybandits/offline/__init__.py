"""Recorded data: diagnosis, replay and off-policy evaluation."""
