"""A policy behind a product: the agent, its tickets, its ledger, its state files, its checks."""
