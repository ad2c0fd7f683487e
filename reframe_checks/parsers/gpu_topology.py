"""Output of ``nvidia-smi topo -mp``: how each pair of a node's GPUs is connected by PCIe.

Tried with what users published of ``-m``, which newer drivers underline, also into a file. ``-m`` says NV# where there
is NVLink, which leaves open how PCIe connects the two.
"""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import Output

_SELF, _BEHIND_ONE_SWITCH = "X", {"PIX", "PXB"}
_UNDERLINE = re.compile("\x1b\\[[04]m")
_WORD = r"[\w.,:/-]{1,60}"
_HEADING = re.compile(rf"\s+GPU0(?:\s+{_WORD})*\s*")
_ROW = re.compile(r"GPU([0-9]{1,3})((?:\s+(?:X|PIX|PXB|PHB|NODE|SYS|NV[0-9]{1,3}))+)(?:\s.*)?")


@dataclass(frozen=True)
class GpuTopology:
    """``relations``: a row and a column for each GPU, in nvidia-smi's words; ``X`` is a GPU itself."""

    relations: tuple[tuple[str, ...], ...]

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """GPUs that a PCIe switch connects without the host, whose links to it they share."""
        gpus = range(len(self.relations))
        found = {tuple(b for b in gpus if a == b or self.relations[a][b] in _BEHIND_ONE_SWITCH) for a in gpus}
        return tuple(sorted(found))


def parse(text: str, *, expect_gpus: int) -> GpuTopology:
    """
    :raises ParseError: no heading, a GPU missing or twice, or relations that are not the same both ways.
    """
    output = Output.read("nvidia-smi topo -mp", _UNDERLINE.sub("", text))
    number, _ = output.one(_HEADING, "a heading that begins with GPU0")
    rows = []
    for row in range(expect_gpus):
        at = number + 1 + row
        found = _ROW.fullmatch(output.lines[at - 1]) if at <= len(output.lines) else None
        if not found or int(found[1]) != row or len(relations := found[2].split()[:expect_gpus]) != expect_gpus:
            raise output.error(at, f"GPU{row} and its relation to each of {expect_gpus} GPUs")
        rows.append(tuple(relations))
    pairs = [(a, b) for a in range(expect_gpus) for b in range(a + 1)]
    if any((rows[a][b] == _SELF) != (a == b) or rows[a][b] != rows[b][a] for a, b in pairs):
        raise output.error(number + 1, "X on the diagonal, and the same relation both ways")
    if number + expect_gpus < len(output.lines) and output.lines[number + expect_gpus].startswith("GPU"):
        raise output.error(number + 1 + expect_gpus, f"{expect_gpus} GPUs")
    topology = GpuTopology(tuple(rows))
    if sum(map(len, topology.groups)) != expect_gpus:
        raise output.error(number + 1, "each GPU behind one switch at most")
    return topology
