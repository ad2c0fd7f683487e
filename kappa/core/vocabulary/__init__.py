"""The names that a site and a check share: features, scales, targets, programs, states of nodes, modes.

Tables and their checks, no behaviour. Every package but ``ground`` and its neighbours may import it.
"""
