"""Sets of half-open intervals of whole seconds, as arrays: a million of them in a fraction of a second."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Seconds = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Intervals:
    """Disjoint and in order: ``starts[i] < ends[i] <= starts[i + 1]``."""

    starts: Seconds
    ends: Seconds

    @classmethod
    def of(cls, starts: npt.ArrayLike, ends: npt.ArrayLike) -> "Intervals":
        """Return the union of any intervals; empty and reversed ones are nothing."""
        first, last = np.asarray(starts, dtype=np.int64), np.asarray(ends, dtype=np.int64)
        keep = last > first
        order = np.argsort(first[keep], kind="stable")
        first, last = first[keep][order], last[keep][order]
        reach = np.maximum.accumulate(last)
        begins = np.ones(len(first), dtype=np.bool_)
        begins[1:] = first[1:] > reach[:-1]
        return cls(first[begins], reach[np.append(begins[1:], True)[: len(first)]])

    @property
    def total(self) -> int:
        """Return the length in seconds."""
        return int((self.ends - self.starts).sum())

    def __len__(self) -> int:
        return len(self.starts)

    def __or__(self, other: "Intervals") -> "Intervals":
        return Intervals.of(np.concatenate((self.starts, other.starts)), np.concatenate((self.ends, other.ends)))

    def __and__(self, other: "Intervals") -> "Intervals":
        return self._combined(other, lambda mine, theirs: mine & theirs)

    def __sub__(self, other: "Intervals") -> "Intervals":
        return self._combined(other, lambda mine, theirs: mine & ~theirs)

    def _combined(self, other: "Intervals", wanted: Callable[[Flags, Flags], Flags]) -> "Intervals":
        edges = _distinct(np.concatenate((self.starts, self.ends, other.starts, other.ends)))
        inside = wanted(self.holds(edges[:-1]), other.holds(edges[:-1]))
        return Intervals.of(edges[:-1][inside], edges[1:][inside])

    def holds(self, moments: Seconds) -> Flags:
        """Return whether each moment is inside."""
        begun: Seconds = np.searchsorted(self.starts, moments, "right")
        ended: Seconds = np.searchsorted(self.ends, moments, "right")
        return begun > ended

    def pairs(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts.tolist(), self.ends.tolist(), strict=True)

    def at_least(self, seconds: int) -> "Intervals":
        """Return the intervals that are this long."""
        keep = self.ends - self.starts >= seconds
        return Intervals(self.starts[keep], self.ends[keep])


NONE = Intervals.of([], [])


def _distinct(moments: Seconds) -> Seconds:
    """Return each moment once, in order; a sort is several times quicker than ``np.unique``, which hashes."""
    ordered = np.sort(moments)
    keep = np.ones(len(ordered), dtype=np.bool_)
    keep[1:] = ordered[1:] != ordered[:-1]
    return ordered[keep]


def depth_at_least(starts: Seconds, ends: Seconds, depth: int) -> Intervals:
    """Return where at least ``depth`` of any intervals overlap."""
    edges = _distinct(np.concatenate((starts, ends)))
    count = np.searchsorted(np.sort(starts), edges, "right") - np.searchsorted(np.sort(ends), edges, "right")
    deep = count[:-1] >= depth
    return Intervals.of(edges[:-1][deep], edges[1:][deep])
