"""Handle values of simulated fabrics: fit a fabric to a partition, compare with measurements, write tables of docs/."""
