"""PASS, FAIL or INCOMPLETE, and why: bounds, expectations, confirmation, suspects.

It imports no other package of ``reports``; all of them may import it.
"""
