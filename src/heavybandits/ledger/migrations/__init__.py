"""Numbered SQL files: the tables of ledgers on a PostgreSQL server."""
