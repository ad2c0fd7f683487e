"""What starts ReFrame and runs commands on nodes, and what keeps the runs of a site apart.

``session.py`` is one session of ReFrame, ``validation.py`` a mode and what is measured again, ``night.py`` a night.
Only ``kappa.app.command`` imports it.
"""
