"""GPUs of the nodes of a job, as ``nvidia-smi`` reports them.

Each line is ``HOST, `` and then the values of ``REQUIRED`` and ``OPTIONAL``, as
``nvidia-smi --query-gpu=… --format=csv,noheader,nounits`` writes them.
"""

import re
from collections import Counter
from dataclasses import dataclass

from kappa.core.ground.clean_text import clean
from reframe_checks.parsers.text import Output, Quantity

REQUIRED = "index,name,driver_version,memory.total"
# Asked apart, since a driver may not know one; drivers from 535 on have another name for the last, and some no other.
OPTIONAL = (
    "ecc.mode.current", "pcie.link.gen.max", "pcie.link.width.current",
    "clocks_throttle_reasons.active|clocks_event_reasons.active",
)  # fmt: skip
# Bits of nvml.h: a slow-down by heat or lack of power that hardware or driver ordered; not by idleness or a set limit.
SLOWED_DOWN = 0x08 | 0x20 | 0x40 | 0x80


@dataclass(frozen=True)
class GpuFacts:
    """``memory_mib``, ``ecc``, the PCIe fields and ``slowed_down`` are ``None`` where the device does not report them.

    ``pcie_gen`` is what GPU and slot can do together: an idle GPU lowers its generation, but not its lanes
    (``pcie_width``), to save power. ``slowed_down`` is of the moment.
    """

    host: str
    index: int
    name: str
    driver_version: str
    memory_mib: int | None
    ecc: bool | None
    pcie_gen: int | None
    pcie_width: int | None
    slowed_down: bool | None

    @property
    def kind(self) -> tuple[str | int | None, ...]:
        """What all GPUs of a partition share, also those that do nothing."""
        return self.name, self.driver_version, self.memory_mib, self.ecc, self.pcie_gen, self.pcie_width


# `[N/A]`, `[Not Supported]`, `[Unknown Error]`, `[GPU requires reset]` and the like.
_NONE = r"\[[A-Za-z][A-Za-z/ ]{1,40}\]"
_LINE = re.compile(
    r"(?P<host>[\w.-]{1,255}), (?P<index>[0-9]{1,3}), (?P<name>[\w()/+. -]{1,100})"
    r", (?P<driver>[0-9]{1,4}(?:\.[0-9]{1,4}){1,3})"
    rf", (?P<memory>[0-9]{{1,9}}|{_NONE}), (?P<ecc>Enabled|Disabled|{_NONE}), (?P<gen>[1-9]|{_NONE})"
    rf", (?P<width>1|2|4|8|12|16|32|{_NONE}), (?P<reasons>0x[0-9A-Fa-f]{{16}}|{_NONE})",
    re.ASCII,
)


def parse(text: str, *, expect_nodes: int | None = None, expect_per_node: int | None = None) -> tuple[GpuFacts, ...]:
    """GPUs in order of host and index.

    :param expect_nodes: number of hosts that there must be.
    :param expect_per_node: number of GPUs that every host must have. Lost lines can be noticed only with both.
    :raises ParseError: a line that is not one of these (also nvidia-smi's own errors), a GPU twice, or indices of a
        host that do not run from 0.
    """
    output = Output.read("nvidia-smi output", clean(text))
    found: dict[tuple[str, int], GpuFacts] = {}
    for number, line in enumerate(output.lines, start=1):
        match = _LINE.fullmatch(line)
        if not match:
            raise output.error(number, f"HOST, {', '.join([*REQUIRED.split(','), *OPTIONAL])}")
        facts = GpuFacts(
            host=match["host"],
            index=int(match["index"]),
            name=match["name"],
            driver_version=match["driver"],
            memory_mib=None
            if match["memory"].startswith("[")
            else output.positive_integer(number, "memory in MiB", match["memory"], Quantity.MEMORY_MIB),
            ecc={"Enabled": True, "Disabled": False}.get(match["ecc"]),
            pcie_gen=_optional(match["gen"]),
            pcie_width=_optional(match["width"]),
            slowed_down=None if (reasons := _optional(match["reasons"])) is None else bool(reasons & SLOWED_DOWN),
        )
        if (facts.host, facts.index) in found:
            raise output.error(number, f"one line for GPU {facts.index} of {facts.host}")
        found[facts.host, facts.index] = facts
    per_host = Counter(host for host, _ in found)
    if expect_nodes is not None and len(per_host) != expect_nodes:
        raise output.missing(f"GPUs of {expect_nodes} nodes, found {len(per_host)}")
    for host, count in per_host.items():
        if {index for name, index in found if name == host} != set(range(count)):
            raise output.missing(f"the GPUs of {host} numbered from 0")
        if expect_per_node is not None and count != expect_per_node:
            raise output.missing(f"{expect_per_node} GPUs on {host}, found {count}")
    return tuple(facts for _, facts in sorted(found.items()))


def _optional(token: str) -> int | None:
    return None if token.startswith("[") else int(token, base=0)
