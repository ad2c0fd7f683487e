"""Checks of processors, memory and GPUs: speed, places of ranks, and the bits that they compute."""
