"""The program that asks a node, ``kappa-node``: the table of facts, their readers, and the command.

It runs on nodes with Python 3.6 and the standard library alone, packed by ``kappa.node.packed``.
"""

#: The name of the program in a job's folder.
PROGRAM = "kappa-node"
