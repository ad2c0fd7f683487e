"""Result of ``bit_sweep`` and ``emt alike``: with which bits each core ended its rounds of each work, one JSON."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

_DIGEST = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class CoreBits:
    """``rounds``: pairs of a digest (16 hexadecimal digits) and how many rounds ended with it; one pair where all is
    well. ``basis``: what the bits depend on besides the work and its variant. ``core`` is the kernel's number."""

    node: str
    core: int
    work: str
    basis: str
    rounds: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class BitSweep:
    """``variant``: number of the data that the works began with."""

    variant: int
    nodes: dict[str, tuple[CoreBits, ...]]

    @property
    def bits(self) -> list[CoreBits]:
        """Of all nodes."""
        return [bits for of_node in self.nodes.values() for bits in of_node]


def parse(text: str) -> BitSweep:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a node, core
        or work missing or there twice, or a core without a round.
    """
    output = Output.read("bit sweep", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-bit-sweep" or record.integer("version") != 1:
        raise record.error("kappa-bit-sweep, version 1", "format")
    told = record.records("nodes")
    nodes = {node.text("node"): _node(node) for node in told}
    ranks = record.integer("ranks", 1, Quantity.RANKS)
    if not len(nodes) == len(told) == ranks:
        raise record.error(f"{ranks} nodes, each once", "nodes")
    return BitSweep(record.integer("variant"), nodes)


def _node(record: Record) -> tuple[CoreBits, ...]:
    cores = record.integers("cores", Quantity.RANKS)
    works = record.records("works")
    if not cores or len(set(cores)) != len(cores):
        raise record.error("one core or more, each once", "cores")
    if not works or len({work.text("work") for work in works}) != len(works):
        raise record.error("one work or more, each once", "works")
    found = []
    for work in works:
        of_cores = work.lists_of_records("cores")
        if len(of_cores) != len(cores):
            raise work.error("one list for each core", "cores")
        for core, rounds in zip(cores, of_cores, strict=True):
            of_digest = dict(map(_rounds, rounds))
            if not rounds or len(of_digest) != len(rounds):
                raise work.error("one digest or more of each core, each once", "cores")
            pairs = tuple(sorted(of_digest.items()))
            found.append(CoreBits(record.text("node"), core, work.text("work"), work.text("basis"), pairs))
    return tuple(found)


def _rounds(record: Record) -> tuple[str, int]:
    digest = record.text("digest")
    if not _DIGEST.fullmatch(digest):
        raise record.error("16 hexadecimal digits", "digest")
    return digest, record.integer("rounds", 1)
