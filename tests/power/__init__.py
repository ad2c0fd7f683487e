"""What bounds and nights can see, by simulation: ``python -m tests.power``."""
