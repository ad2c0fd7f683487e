"""Checks of the network and of the MPI library: pairs of nodes, patterns, collectives, transports and settings."""
