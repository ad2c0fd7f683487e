"""Test on this machine, in Slurm and on a few nodes whether the cluster is as the site's description says.

Only ``kappa.app.command.doctor`` imports this package.
"""
