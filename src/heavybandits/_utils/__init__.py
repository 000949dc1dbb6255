"""Errors, validation, files, progress, statistics and drawing. Nothing about bandits."""
