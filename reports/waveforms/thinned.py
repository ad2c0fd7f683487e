"""Long waveforms with as many points as a picture can show, without losing an extreme."""

import numpy as np

from reports.waveforms.recording import Values


def thinned(seconds: Values, values: Values, most_intervals: int) -> tuple[Values, Values]:
    """The first, the last, and of each of ``most_intervals`` equal parts the least and the greatest value, in order.

    Values that are no numbers are left out.
    """
    known = np.isfinite(values)
    seconds, values = seconds[known], values[known]
    if len(values) <= 2 * most_intervals:
        return seconds, values
    edges = np.linspace(0, len(values), most_intervals + 1).astype(int)[:-1]
    ends = [*edges[1:], len(values)]
    kept = {0, len(values) - 1}
    for begin, end in zip(edges, ends, strict=True):
        part = values[begin:end]
        kept |= {int(begin + part.argmin()), int(begin + part.argmax())}
    order = sorted(kept)
    return seconds[order], values[order]
