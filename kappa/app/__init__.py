"""The command ``kappa`` and what it conducts: the only place that starts anything.

``survey`` asks a cluster what it is; ``conduct`` runs checks and commands; ``command`` has a file for each subcommand.
It imports all other packages; none of them imports it.
"""
