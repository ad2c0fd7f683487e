"""What a check leaves behind and a report reads: one set of structures, and how a report file becomes them.

Checks, reports, ``kappa.tools`` and ``kappa.app`` may import it.
"""
