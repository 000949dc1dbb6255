"""How parts become one compiled loop."""
