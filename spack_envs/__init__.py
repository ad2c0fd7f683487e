"""Spack environments with the benchmarks, and the table of the programs that each promises."""
