"""Figures of simulated fabrics: fitted to a real partition, held against measured ones, as the tables of docs/."""
