"""Compare two runs, or a run with the one before it."""
