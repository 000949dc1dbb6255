"""Diagnosis of rewards: how heavy their tails are, and which policy to use."""
