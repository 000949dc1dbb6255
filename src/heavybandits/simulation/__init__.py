"""Simulation of policies on problems with a known answer, and its results."""
