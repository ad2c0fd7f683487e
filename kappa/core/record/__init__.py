"""The data that checks write and reports read: one set of structures, and a reader for report files.

Checks, reports and ``kappa.app`` may import it.
"""
