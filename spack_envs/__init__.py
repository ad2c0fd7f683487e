"""Spack environments with the benchmarks, and a table of the programs of each."""
