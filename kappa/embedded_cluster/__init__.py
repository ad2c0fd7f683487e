"""Run a real Slurm cluster on one Linux machine, in separate namespaces.

All its files are in one state folder. All its processes end with one process. It needs only the standard library, and
imports only core. ``site_configs/embedded/cluster`` starts it.
"""
