"""Simulated machines: a YAML file with units and sources, topologies and routes, and the platform for SimGrid.

``sites``, checks, reports and ``kappa.app`` may import it.
"""
