"""Rates with confidence intervals, and the places of generated tables in pages."""

import argparse
import math
import pathlib
from dataclasses import dataclass

from scipy.stats import binomtest

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Rate:
    """A rate: ``hits`` out of ``trials``."""

    hits: int
    trials: int

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval (Clopper and Pearson, Biometrika 26, 1934), for any number of trials."""
        if not self.trials:
            return 0.0, 1.0
        found = binomtest(self.hits, self.trials).proportion_ci(_CONFIDENCE, method="exact")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        if not self.trials:
            return "–"
        low, high = self.interval()
        return f"{self.hits}/{self.trials} ({100 * low:.0f}–{100 * high:.0f} %)"


def least_trials(rate: float) -> int:
    """Return the number of trials without a hit after which the interval ends at ``rate`` or below."""
    return math.ceil(math.log((1 - _CONFIDENCE) / 2) / math.log1p(-rate))


@dataclass(frozen=True)
class Place:
    """The lines of a page between the marker lines ``begin`` and ``end``."""

    begin: str
    end: str

    def filled(self, page: str, text: str) -> str:
        """Return ``page`` with ``text`` in this place.

        :raises InputError: the page does not have both marker lines, in order.
        """
        before, begin, rest = page.partition(f"{self.begin}\n")
        _, end, after = rest.partition(self.end)
        if not begin or not end:
            raise InputError(f"expected the lines `{self.begin}` and `{self.end}`: add them where the table belongs")
        return f"{before}{begin}{text}\n{end}{after}"

    def page(self, path: pathlib.Path, text: str) -> str:
        """Return the page at ``path`` with ``text`` in this place.

        :raises InputError: the page cannot be read, or does not have the place.
        """
        try:
            return self.filled(path.read_text(encoding="utf-8"), text)
        except (InputError, OSError, UnicodeDecodeError) as err:
            why = err.strerror if isinstance(err, OSError) else err
            raise InputError(f"{clean(str(path))}: {why}") from None

    def write(self, path: pathlib.Path, text: str) -> None:
        """Write ``text`` into this place of the page at ``path``.

        :raises InputError: as :meth:`page`, or the page cannot be written.
        """
        write_atomically(path, self.page(path, text), 0o644)


def add_table(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "--table", metavar="FILE", type=pathlib.Path, help="write the tables between the markers of this Markdown file"
    )
