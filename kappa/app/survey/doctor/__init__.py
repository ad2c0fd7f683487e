"""What ``kappa doctor`` finds right, wrong or untold of a site, as pure functions. Nothing is started here.

``kappa.app.conduct.doctor`` and ``kappa.app.command.doctor`` import it.
"""
