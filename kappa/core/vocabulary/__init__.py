"""The names that a site and a check share: features, scales, programs, rules, states of nodes, modes.

It contains tables and their lookups. Every package may import it, except ``ground`` and packages of the same rank.
"""
