"""Start ReFrame, run commands on nodes, and keep the runs of a site apart.

``session.py`` runs one ReFrame session, ``validation.py`` a mode with its re-measurements, ``night.py`` a night.
Only ``kappa.app.command`` imports this package.
"""
