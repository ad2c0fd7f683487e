"""The names that a site and a check share: features, scales, programs, rules, states of nodes, modes.

Tables and what compares with them. Every package but ``ground`` and its neighbours may import it.
"""
