"""The robust standard deviation, in its own file because no other module of this package needs NumPy."""

import numpy as np
from numpy.typing import NDArray

# The median absolute deviation of a normal distribution is 0.6745 sigma (Rousseeuw & Croux 1993).
MAD_TO_SIGMA = 1.4826


def robust_deviation(values: NDArray[np.float64]) -> float:
    """Return the standard deviation, from the median absolute deviation of the finite values; NaN without any."""
    known = values[np.isfinite(values)]
    return MAD_TO_SIGMA * float(np.median(np.abs(known - np.median(known)))) if known.size else np.nan
