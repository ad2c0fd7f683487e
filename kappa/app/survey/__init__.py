"""Parse what a cluster says about itself, and make a site from it. These modules start no program.

``kappa.app.conduct`` and ``kappa.app.command`` import this package.
"""
