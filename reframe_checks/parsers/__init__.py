"""From a program's output to typed records: pure functions of text, without ReFrame.

They import core. Checks and ``kappa.app`` import them.
"""
