"""Checks of what a node or a partition is: state, facts, software and GPUs; ``src/`` runs on the nodes."""
