"""Whether a site can run what it promises, asked of the machine, Slurm and a few nodes.

Only ``kappa.app.command.doctor`` imports it.
"""
