"""Judge a run PASS, FAIL or INCOMPLETE, with reasons: bounds, expectations, confirmation, suspects.

This package imports no other package of ``reports``. All others may import it.
"""
