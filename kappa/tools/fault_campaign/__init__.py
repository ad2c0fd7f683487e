"""Faults put into a cluster of its own, at random and from a seed: is each found, and its node named?"""
