"""When each node was measured on its own last."""

import datetime
from dataclasses import dataclass

from reports.nightly.archive import Archive


@dataclass(frozen=True)
class Coverage:
    """``nights_ago`` is 0 for the newest night, ``None`` for a node that was never covered."""

    node: str
    last: datetime.date | None
    nights_ago: int | None
    overdue: bool


def coverage(archive: Archive) -> list[Coverage]:
    """Every node that has turns, longest not covered first.

    A node is overdue when the nights that the newest one promised have gone by since it was covered, or since the
    first night.
    """
    if not archive.nights:
        return []
    promised = archive.nights[-1].nights
    seen: dict[str, tuple[datetime.date | None, int | None]] = {}
    for number, night in enumerate(reversed(archive.nights)):
        for node in night.covered:
            seen.setdefault(node, (night.day, number))
    found = []
    for node in archive.nodes_with_turns:
        day, ago = seen.get(node, (None, None))
        passed = len(archive.nights) if ago is None else ago
        found.append(Coverage(node, day, ago, bool(promised) and passed >= promised))
    return sorted(found, key=lambda one: (one.last or datetime.date.min, one.node))
