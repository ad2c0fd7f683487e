"""Half-open spans of whole seconds, as arrays: a million of them in a fraction of a second."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Seconds = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
#: Starts and ends.
Spans = tuple[Seconds, Seconds]


def union(starts: npt.ArrayLike, ends: npt.ArrayLike) -> Spans:
    """Return the union of any spans, disjoint and in order; empty and reversed ones are nothing."""
    first, last = np.asarray(starts, dtype=np.int64), np.asarray(ends, dtype=np.int64)
    keep = last > first
    order = np.argsort(first[keep], kind="stable")
    first, last = first[keep][order], last[keep][order]
    reach = np.maximum.accumulate(last)
    begins = np.append(True, first[1:] > reach[:-1])[: len(first)]
    return first[begins], reach[np.append(begins[1:], True)[: len(first)]]


def depth(spans: Spans, moments: Seconds) -> Seconds:
    """Return the number of any spans at each moment."""
    begun, ended = (np.searchsorted(np.sort(times), moments, "right") for times in spans)
    return begun - ended


def pairs(spans: Spans) -> Iterator[tuple[int, int]]:
    return zip(spans[0].tolist(), spans[1].tolist(), strict=True)


def runs(edges: Seconds, segments: Flags) -> Spans:
    """Return the union of the chosen segments between each two of ``edges``."""
    return union(edges[:-1][segments], edges[1:][segments])
