"""Tools that tell of the suite itself: what its checks cover, what its bounds see, which faults it finds.

``kappa catalogue``, ``kappa coverage``, ``kappa power`` and ``kappa fault-campaign`` call them; no other package does.
"""
