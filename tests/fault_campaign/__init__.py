"""Faults put into a cluster of its own, at random and from a seed: how often is each found, and the right node named?"""
