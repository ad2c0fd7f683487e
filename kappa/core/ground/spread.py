"""The robust standard deviation. A file of its own, because nothing else of this package needs numpy."""

import numpy as np
from numpy.typing import NDArray

# The median absolute deviation of a normal distribution is 0.6745 sigma (Rousseeuw & Croux 1993).
MAD_TO_SIGMA = 1.4826


def robust_deviation(values: NDArray[np.float64]) -> float:
    """The standard deviation as the median absolute deviation of the finite values gives it; NaN without any."""
    known = values[np.isfinite(values)]
    return MAD_TO_SIGMA * float(np.median(np.abs(known - np.median(known)))) if known.size else np.nan
