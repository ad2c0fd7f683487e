"""A real Slurm cluster on one Linux machine, in namespaces of its own.

Everything it writes lies in one state directory; everything it runs ends with one process.
"""
