"""Checks of file systems, of a node's own and of shared ones: bandwidth, metadata, each target, output of a solver."""
