"""Result of ``link_use.so``: what the busiest links of a simulated machine carried, one JSON object."""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

SHOWN = 10


@dataclass(frozen=True)
class Link:
    """One direction of a link. ``use``: the share of its bandwidth over all of the simulated time."""

    link: str
    bandwidth_bytes_s: float
    messages: int
    bytes: int
    use: float


@dataclass(frozen=True)
class LinkUse:
    """``busiest``: at most ten of the ``links_used`` links that carried anything, by falling use."""

    simulated_s: float
    links_used: int
    busiest: tuple[Link, ...]


def parse(text: str) -> LinkUse:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a use that is
        not that of its bytes, or links that are not the ten busiest, each once.
    """
    output = Output.read("link use", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-link-use" or record.integer("version") != 1:
        raise record.error("kappa-link-use, version 1", "format")
    seconds = record.number("simulated_s", Quantity.RUN_S, 0)
    busiest = tuple(_link(entry, seconds) for entry in record.records("busiest"))
    used = record.integer("links_used")
    if len(busiest) != min(used, SHOWN):
        raise record.error(f"{min(used, SHOWN)} links, found {len(busiest)}", "busiest")
    if len({link.link for link in busiest}) != len(busiest):
        raise record.error("each link once", "busiest")
    if sorted(busiest, key=lambda link: (-link.use, link.link)) != list(busiest):
        raise record.error("falling use, and links of the same use by name", "busiest")
    return LinkUse(seconds, used, busiest)


def _link(entry: Record, seconds: float) -> Link:
    link = Link(
        entry.text("link"),
        entry.number("bandwidth_bytes_s", Quantity.BYTES_S, 1),
        entry.integer("messages", 1),
        entry.integer("bytes", 0, Quantity.BYTES),
        entry.number("use", Quantity.COUNT, 0),
    )
    expected = link.bytes / (link.bandwidth_bytes_s * seconds) if seconds else 0
    # To the last bit: the program computes the same from the same figures.
    if link.use != expected:
        raise entry.error(f"{expected:g}, bytes over bandwidth and simulated time", "use")
    return link
