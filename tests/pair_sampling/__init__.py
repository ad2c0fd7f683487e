"""Faults found by a sample of the pairs, by simulation: ``python -m tests.pair_sampling``."""
