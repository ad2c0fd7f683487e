"""Plant random faults in a separate cluster, from a seed, and count whether Kappa finds each and names its node."""
