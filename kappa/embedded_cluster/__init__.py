"""A real Slurm cluster on one Linux machine, in namespaces of its own.

Everything it writes lies in one state directory; everything it runs ends with one process. It needs only the standard
library and imports only core; ``site_configs/embedded/cluster`` starts it.
"""
