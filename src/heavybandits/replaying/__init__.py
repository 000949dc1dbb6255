"""Policies on recorded data: rows, days, cells and logged decisions."""
