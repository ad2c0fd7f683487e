"""List the attempts behind an acceptance that no figure comes from: superseded, interrupted, or gone."""

import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Literal

from reports.acceptance.campaign.folder import ABORTED, NO_REPORT, Attempt
from reports.acceptance.campaign.layout import RECORD
from reports.acceptance.campaign.operations import operation_folders


@dataclass(frozen=True)
class SetAside:
    """An attempt that does not count. ``series``: the series, or the id of a clause about operation.

    ``missing``: there are later attempts at the same repeat, but not this one. Only the first is listed.
    """

    kind: Literal["superseded", "interrupted", "missing"]
    series: str
    repeat: int
    number: int
    why: str = ""

    @property
    def doubtful(self) -> bool:
        """Return whether neither a stop nor a crash of a run explains it."""
        return self.kind == "missing" or (self.kind == "interrupted" and self.why not in (NO_REPORT, ABORTED))

    @property
    def place(self) -> str:
        return f"repeat {self.repeat}, attempt {self.number}: {self.kind}{self.why and f', {self.why}'}"

    def __str__(self) -> str:
        return f"{self.series}, {self.place}"


def set_aside(attempts: Iterable[Attempt]) -> list[SetAside]:
    """Return the attempts at series that do not count, by series, repeat and number."""
    return _set_aside([(str(one.series), one.repeat, one.number, one.interruption) for one in attempts])


def set_aside_operations(campaign: pathlib.Path) -> list[SetAside]:
    """Return the attempts at clauses about operation that do not count."""
    folders = operation_folders(campaign)
    return _set_aside([(*place, "" if (folder / RECORD).exists() else NO_REPORT) for folder, place in folders])


def _set_aside(attempts: Sequence[tuple[str, int, int, str]]) -> list[SetAside]:
    """:param attempts: series, repeat, number and interruption of each."""
    aside = []
    for (series, repeat), group in groupby(sorted(attempts), key=lambda attempt: attempt[:2]):
        interruptions = {number: interruption for _, _, number, interruption in group}
        gone = max(interruptions) - len(interruptions)
        if gone:
            first = next(number for number in count(1) if number not in interruptions)
            aside.append(SetAside("missing", series, repeat, first, f"{gone} in all"))
        finished = [number for number, interruption in interruptions.items() if not interruption]
        for number, interruption in interruptions.items():
            if interruption:
                aside.append(SetAside("interrupted", series, repeat, number, interruption))
            elif number != finished[-1]:
                aside.append(SetAside("superseded", series, repeat, number))
    return aside
