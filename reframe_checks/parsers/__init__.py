"""Parsers: pure functions that turn a program's output into typed records, without ReFrame.

Parsers import core. Checks and ``kappa.app`` import parsers.
"""
