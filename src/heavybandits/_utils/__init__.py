"""Errors, validation, files, progress, statistics, tables and drawing. Nothing about bandits."""
