"""Judge ReFrame's reports: the verdict is a pure function of stored results and site files.

This package starts no job. ``kappa.app.conduct`` starts ReFrame, and ``kappa.app.command`` has the commands.
"""
