"""What a site says: ``site.yaml``, what it expects, its references and its contract.

It imports the other packages of core. Checks, reports, ``kappa.tools`` and ``kappa.app`` may import it.
"""
