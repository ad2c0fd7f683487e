"""What a cluster says of itself, and the site that is made of it. Nothing is started here.

``kappa.app.conduct`` and ``kappa.app.command`` import it.
"""
