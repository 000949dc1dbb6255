"""Policies on recorded data: rows, days, groups and logged decisions."""
