"""Simulated machines: a YAML with units and sources, topologies and routes, and SimGrid's platform of them.

``sites``, checks, reports, ``kappa.tools`` and ``kappa.app`` may import it.
"""
