"""The description of a site: ``site.yaml``, its expectations, its references and its contract.

It imports the other packages of core. Checks, reports and ``kappa.app`` may import it.
"""
