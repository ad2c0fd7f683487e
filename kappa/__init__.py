"""Kappa: ``core`` is what all parts share, ``app`` the command, ``embedded_cluster`` a cluster on one machine."""

__version__ = "0.1.0"
