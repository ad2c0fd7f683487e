"""Tools that examine the suite itself: what its checks cover, which slow-downs its bounds find, which faults it finds.

``kappa catalogue``, ``kappa coverage``, ``kappa power`` and ``kappa fault-campaign`` call them; no other package does.
"""
