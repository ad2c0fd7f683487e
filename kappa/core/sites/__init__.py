"""What a site says: ``site.yaml``, what it expects, its contract, and where it and its results lie.

It imports the other packages of core. Checks, reports and ``kappa.app`` import it.
"""
