"""The durable event log of an agent: storage, reading, rebuilding and repair."""
