"""The tail doctor: how heavy rewards are, and what to do about it."""
