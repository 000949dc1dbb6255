"""Errors, validation, files, progress, statistics, tables, figures: nothing about bandits."""
