"""What a sample of the pairs finds, by simulation: ``python -m tests.pair_sampling``."""
