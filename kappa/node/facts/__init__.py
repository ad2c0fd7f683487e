"""Readers of a node's facts, with a module for each subject. ``kappa.node.table`` names the facts of each."""
