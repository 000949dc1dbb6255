"""Agents: a policy behind a product, with tickets, late rewards and state files."""
