"""What a site says: ``site.yaml``, what it expects, its references and its contract.

It imports the other packages of core. Checks, reports and ``kappa.app`` import it.
"""
