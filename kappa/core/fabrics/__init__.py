"""Simulated machines: a YAML file with units and sources, topologies and routes, and the platform for SimGrid.

``sites``, checks, reports, ``kappa.tools`` and ``kappa.app`` may import it.
"""
