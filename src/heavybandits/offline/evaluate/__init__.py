"""Off-policy evaluation: the value of a policy, from the log of another."""
