"""Output of ``ring_of_links.sh``: OSU bandwidth tables, each behind a line ``@link NODE NODE``."""

import itertools
import re

from reframe_checks.parsers import osu
from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.text import Output

_MARK = re.compile(r"^@link ([\w.-]{1,255}) ([\w.-]{1,255})$", re.MULTILINE)


def parse(text: str, *, message_bytes: int, expect_nodes: int, expect_repeats: int) -> dict[tuple[str, str], float]:
    """Best bandwidth in MB/s of each link, keyed by its two nodes.

    :raises ParseError: no link, text before the first one, a table missing, a link measured too few times or not
        at one go, or links that are no ring of ``expect_nodes`` nodes (two nodes have one link).
    """
    own = Output.read("link bandwidths", text).lines
    before, *parts = _MARK.split("".join(f"{line}\n" for line in own))
    if before.strip() or not parts:
        raise ParseError("link bandwidths", "a line `@link NODE NODE`", text=text, line=1)
    samples: dict[tuple[str, str], list[float]] = {}
    pairs = list(zip(parts[0::3], parts[1::3], strict=True))
    if len(list(itertools.groupby(pairs))) != len(set(pairs)):
        raise ParseError("link bandwidths", "the measurements of a link one after the other", text=text, line=1)
    for first, second, output in zip(parts[0::3], parts[1::3], parts[2::3], strict=True):
        tables = osu.parse(output, expect_sizes=[message_bytes], expect_tables=1)
        samples.setdefault((first, second), []).append(osu.curve(tables, "max")[message_bytes])
    for pair, values in samples.items():
        if len(values) != expect_repeats:
            raise ParseError(
                "link bandwidths", f"{expect_repeats} measurements of {'-'.join(pair)}, found {len(values)}",
                text=text, line=1,
            )  # fmt: skip
    starts, ends = (sorted(nodes) for nodes in zip(*samples, strict=True))
    links = expect_nodes if expect_nodes > 2 else 1
    if len(samples) != links or (links > 1 and starts != ends):
        raise ParseError("link bandwidths", f"links that close a ring of {expect_nodes} nodes", text=text, line=1)
    return {pair: max(values) for pair, values in samples.items()}
