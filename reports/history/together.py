"""All checks of a node together: what slows a node slows them all, each by less than its noise."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reports.history.adding_up import LEAST_EARLIER, nights_of
from reports.history.query import Series
from reports.history.robust_statistics import Array, centre_and_scale

LEAST_CHECKS = 2


def together(series: Sequence[Series]) -> Iterator[Series]:
    """For each node that several checks have measured, a series of its speed in each night, a share of the usual one.

    The mean over the checks, each weighted by its precision; metrics of one check are averaged first, since they are
    not independent. Nights with one check only are left out.
    """
    of_node: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for one in series:
        fit = one.gates and one.sign and len(one.values) >= LEAST_EARLIER and one.values.min() > 0
        if fit and one.of_one_node:
            of_node[one.partition, one.nodes].append(one)
    for members in of_node.values():
        checks = sorted({one.check_class for one in members})
        if len(checks) >= LEAST_CHECKS:
            yield from _together(members, checks)


def _together(members: Sequence[Series], checks: Sequence[str]) -> Iterator[Series]:
    times = np.unique(np.concatenate([one.times for one in members]))
    nights = nights_of(times)
    # The mean speed in each check and night; none where it was not measured.
    sums, counts = np.zeros((2, len(checks), nights[-1] + 1))
    rows = [""] * (nights[-1] + 1)
    for one in members:
        night = nights[np.searchsorted(times, one.times)]
        check = checks.index(one.check_class)
        sums[check] += np.bincount(night, _relative(one), len(rows))
        counts[check] += np.bincount(night, minlength=len(rows))
        for number, row in zip(night, one.rows, strict=True):
            rows[number] = row
    measured = counts > 0
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=measured)
    precision = [centre_and_scale(mean[there])[1] ** -2 for mean, there in zip(means, measured, strict=True)]
    weights = measured * np.array(precision)[:, None]
    several = measured.sum(0) >= LEAST_CHECKS
    if several.any():
        yield replace(
            members[0], check_class="", case=f"{len(checks)} checks together", metric="relative speed", environ="",
            unit="", lower=0.0, upper=np.inf, family="", informational=False, of_node=False,
            values=((weights * means).sum(0) / weights.sum(0).clip(1e-300))[several],
            times=times[np.searchsorted(nights, np.flatnonzero(several))],
            rows=tuple(rows[number] for number in np.flatnonzero(several)),
        )  # fmt: skip


def _relative(series: Series) -> Array:
    """1 is what is usual, less is worse."""
    usual = float(np.median(series.values))
    return series.values / usual if series.sign < 0 else usual / series.values
