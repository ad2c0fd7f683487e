"""From ReFrame's report to a verdict: a pure function of stored results and site files that never reruns anything.

Nothing in here starts ReFrame: ``kappa.app.conduct`` does. ``kappa.app.command`` has the commands.
"""
