"""Sources: where backends come from."""
