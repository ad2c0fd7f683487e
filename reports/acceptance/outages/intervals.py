"""Sets of half-open intervals of whole seconds, as arrays: a million of them in a fraction of a second."""

from collections.abc import Callable
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
    def of(cls, starts: Seconds, ends: Seconds) -> "Intervals":
        """The union of any intervals; empty and reversed ones are nothing."""
        keep = ends > starts
        order = np.argsort(starts[keep], kind="stable")
        starts, ends = starts[keep][order], ends[keep][order]
        if not len(starts):
            return NONE
        reach = np.maximum.accumulate(ends)
        first = np.concatenate(([True], starts[1:] > reach[:-1]))
        last = np.concatenate((first[1:], [True]))
        return cls(starts[first], reach[last])

    @classmethod
    def one(cls, start: int, end: int) -> "Intervals":
        return cls.of(np.array([start], dtype=np.int64), np.array([end], dtype=np.int64))

    @property
    def total(self) -> int:
        """In seconds."""
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
        if not len(edges):
            return NONE
        inside = wanted(self.holds(edges[:-1]), other.holds(edges[:-1]))
        return Intervals.of(edges[:-1][inside], edges[1:][inside])

    def holds(self, moments: Seconds) -> Flags:
        """Whether each moment is inside."""
        begun: Seconds = np.searchsorted(self.starts, moments, "right")
        ended: Seconds = np.searchsorted(self.ends, moments, "right")
        return begun > ended

    def between(self, first: int, last: int) -> "Intervals":
        """Those that begin from ``first`` to before ``last``, whole."""
        low, high = np.searchsorted(self.starts, [first, last])
        return Intervals(self.starts[low:high], self.ends[low:high])

    def at_least(self, seconds: int) -> "Intervals":
        """Those that are this long."""
        keep = self.ends - self.starts >= seconds
        return Intervals(self.starts[keep], self.ends[keep])


NONE = Intervals(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def _distinct(moments: Seconds) -> Seconds:
    """In order, each once; sorting is several times quicker than ``np.unique``, which hashes."""
    ordered = np.sort(moments)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def depth_at_least(starts: Seconds, ends: Seconds, depth: int) -> Intervals:
    """Where at least ``depth`` of the intervals overlap."""
    edges = _distinct(np.concatenate((starts, ends)))
    if not len(edges):
        return NONE
    count = np.searchsorted(np.sort(starts), edges, "right") - np.searchsorted(np.sort(ends), edges, "right")
    deep = count[:-1] >= depth
    return Intervals.of(edges[:-1][deep], edges[1:][deep])
