"""NVIDIA's and AMD's tools for GPUs: ``nvidia-smi``, nvbandwidth, nccl-tests and rccl-tests.

- The GPUs of the job's nodes, by ``kappa-node``, which asks ``nvidia-smi --query-gpu=…``.
- ``nvidia-smi topo -mp``: the PCIe connection of each pair of a node's GPUs. Tried with published outputs of ``-m``.
  Newer drivers underline the heading, also in a file. ``-m`` prints NV# for NVLink and hides the PCIe connection.
- nvbandwidth 0.5 to 0.10: copies between host and GPUs, and between GPUs.
- nccl-tests and rccl-tests (``all_reduce_perf`` …) with checked data (``-c 1``). Tried with 2.18 and a version between
  2.13 and 2.17 (published). Support of rccl-tests, 2.19 and versions before 2.13 follows their sources. Versions before
  2.13 print the largest relative error, not the number of wrong elements. Bus bandwidth is algorithm bandwidth times a
  factor of the collective, for comparison with the hardware's bandwidth (the project's ``PERFORMANCE.md``).

GB are 10^9 bytes.
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import MisfitError, converted
from reframe_checks.parsers.job_scripts import node_facts
from reframe_checks.parsers.json_reader import Index, Mebibytes, OwnDocument, Text
from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Unit

# Bits of nvml.h: slow-downs that hardware or driver order for heat or lack of power, not for idleness or a set limit.
SLOWED_DOWN = 0x08 | 0x20 | 0x40 | 0x80


_FACT = re.compile(r"gpu\.([0-9]{1,3})\.([a-z_]+)")


class GpuFacts(OwnDocument, frozen=True, kw_only=True):
    """The facts ``gpu.INDEX.*`` of a node (``kappa/node/facts/gpus.py``); ``None`` where the device reports none.

    ``pcie_gen``: the highest generation of GPU and slot together. To save power, an idle GPU lowers its current
    generation, but not its lanes (``pcie_width``). ``slowed_down_by``: the reasons at the time of the query.
    """

    host: Text
    index: Index
    name: Annotated[str, Meta(pattern=r"^[\w()/+. -]{1,100}$")]
    driver_version: Annotated[str, Meta(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){1,3}$")]
    memory_mib: Mebibytes | None
    ecc: Literal["Enabled", "Disabled"] | None
    pcie_gen: Annotated[int, Meta(ge=1, le=9)] | None
    pcie_width: Literal[1, 2, 4, 8, 12, 16, 32] | None
    slowed_down_by: Annotated[str, Meta(pattern=r"^0x[0-9A-Fa-f]{16}$")] | None
    compute_capability: Text | None
    mig: Text | None

    @property
    def slowed_down(self) -> bool | None:
        return None if self.slowed_down_by is None else bool(int(self.slowed_down_by, base=16) & SLOWED_DOWN)

    @property
    def kind(self) -> tuple[str | int | None, ...]:
        """Return the facts that must be equal for all GPUs of a partition, also for idle ones."""
        return self.name, self.driver_version, self.memory_mib, self.ecc, self.pcie_gen, self.pcie_width


def inventory(
    text: str, *, expect_nodes: int | None = None, expect_per_node: int | None = None
) -> tuple[GpuFacts, ...]:
    """Parse the GPUs in the facts of nodes (:func:`job_scripts.node_facts`), in order of host and index.

    :param expect_nodes: expected number of hosts.
    :param expect_per_node: expected number of GPUs of each host.
    :raises ParseError: a node has no GPU, a fact does not fit, or the indices of a host do not run from 0.
    """
    output = Output.read("kappa-node output", text)
    found: list[GpuFacts] = []
    for node in node_facts(text, expect_nodes=expect_nodes):
        gpus: dict[int, dict[str, object]] = {}
        for name, value in node.facts.items():
            if fact := _FACT.fullmatch(name):
                said = clean(value) if isinstance(value, str) else value
                gpus.setdefault(int(fact[1]), {"host": node.host, "index": int(fact[1])})[fact[2]] = said
        if expect_per_node is not None and len(gpus) != expect_per_node:
            raise output.missing(f"{expect_per_node} GPUs on {node.host}, found {len(gpus)}")
        if not gpus or {*gpus} != set(range(len(gpus))):
            raise output.missing(f"the GPUs of {node.host} numbered from 0, found {sorted(gpus) or 'none'}")
        for index, fields in sorted(gpus.items()):
            try:
                found.append(converted(fields, GpuFacts))
            except MisfitError as err:
                raise output.missing(f"gpu.{index} of {node.host}: {err}") from None
    return tuple(found)


_SELF, _BEHIND_ONE_SWITCH = "X", {"PIX", "PXB"}
_UNDERLINE = re.compile("\x1b\\[[04]m")
_WORD = r"[\w.,:/-]{1,60}"
_TOPO_HEADING = re.compile(rf"\s+GPU0(?:\s+{_WORD})*\s*")
# SOC: SYS of drivers before 384.
_TOPO_ROW = re.compile(r"GPU([0-9]{1,3})((?:\s+(?:X|PIX|PXB|PHB|NODE|SYS|SOC|NV[0-9]{1,3}))+)(?:\s.*)?")


@dataclass(frozen=True)
class GpuTopology:
    """The topology; ``relations``: a row and a column for each GPU, in nvidia-smi's terms; ``X`` on the diagonal."""

    relations: tuple[tuple[str, ...], ...]

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return groups of GPUs that a PCIe switch connects without the host; a group shares its links to the host."""
        gpus = range(len(self.relations))
        found = {tuple(b for b in gpus if a == b or self.relations[a][b] in _BEHIND_ONE_SWITCH) for a in gpus}
        return tuple(sorted(found))


def topology(text: str, *, expect_gpus: int) -> GpuTopology:
    """Parse the output of ``nvidia-smi topo -mp``.

    :raises ParseError: no heading, a GPU missing or twice, or a relation that differs between the two directions.
    """
    output = Output.read("nvidia-smi topo -mp", _UNDERLINE.sub("", text))
    number, _ = output.one(_TOPO_HEADING, "a heading that begins with GPU0")
    rows = []
    for row in range(expect_gpus):
        at = number + 1 + row
        found = _TOPO_ROW.fullmatch(output.lines[at - 1]) if at <= len(output.lines) else None
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


@dataclass(frozen=True)
class CopyBandwidths:
    """Bandwidth of one kind of copy in GB/s (10^9 bytes per second).

    ``gb_s`` has a row for the host or for each GPU, and a column for each GPU; ``None`` where there is no copy.
    """

    gb_s: tuple[tuple[float | None, ...], ...]
    sum_gb_s: float

    def values(self) -> dict[tuple[int, int], float]:
        """Return (row, column) -> bandwidth, for each copy."""
        return {
            (row, column): value
            for row, values in enumerate(self.gb_s)
            for column, value in enumerate(values)
            if value is not None
        }


_COPY_VERSION = re.compile(r"nvbandwidth Version: v0\.[0-9]{1,3}(?:\.[0-9]{1,3})?")
_COPY_BEGIN = re.compile(r"Running (\w{1,80})\.")
_COPY_TITLE = re.compile(r"memcpy (?:CE|SM) (?:CPU|GPU)\(row\) (?:->|<-) GPU\(column\) bandwidth \(GB/s\)")
_COPY_CELL = r"(?: +(?:N/A|[0-9]{1,9}\.[0-9]{2}))"
_COPY_COLUMNS = re.compile(r"(?: +[0-9]{1,3}){1,256}")
_COPY_ROW = re.compile(rf" *({INTEGER})({_COPY_CELL}{{1,256}})")
_COPY_SUM = re.compile(r"SUM (\w{1,80}) ([0-9]{1,12}\.[0-9]{2})")


def nvbandwidth(text: str, *, expect: Collection[str], expect_gpus: int) -> dict[str, CopyBandwidths]:
    """Parse the bandwidths of each test: name -> bandwidths.

    :param expect: names of the tests; each prints one matrix.
    :raises ParseError: other tests ran, a test was waived or failed, a matrix is not for ``expect_gpus`` GPUs, or its
        sum is wrong.
    """
    output = Output.read("nvbandwidth output", text)
    output.one(_COPY_VERSION, "`nvbandwidth Version: v0.…`")
    begins = output.find(_COPY_BEGIN)
    names = [match[1] for _, match in begins]
    if sorted(names) != sorted(expect):
        raise output.missing(f"the tests {', '.join(sorted(expect))} once each, found {', '.join(names) or 'none'}")
    return {match[1]: _bandwidths(output, number, match[1], expect_gpus) for number, match in begins}


def _bandwidths(output: Output, begin: int, name: str, gpus: int) -> CopyBandwidths:
    """Parse the matrix of the test ``name``; its title is on line ``begin``."""
    rows = 1 if "host" in name else gpus
    last = begin + 2 + rows
    if len(output.lines) < last + 2:
        raise output.missing(f"the matrix of {name} and its sum")
    if not _COPY_TITLE.fullmatch(output.lines[begin]):
        raise output.error(begin + 1, f"the title of the matrix of {name}")
    heading = output.lines[begin + 1]
    if not _COPY_COLUMNS.fullmatch(heading) or heading.split() != [str(gpu) for gpu in range(gpus)]:
        raise output.error(begin + 2, f"columns for GPUs 0 to {gpus - 1}")
    cells = tuple(_copy_row(output, begin + 3 + row, row, gpus, between_gpus=rows > 1) for row in range(rows))
    found = _COPY_SUM.fullmatch(output.lines[last + 1])
    if output.lines[last] or not found or found[1] != name:
        raise output.error(last + 2, f"`SUM {name} …` behind the matrix")
    values = [value for row in cells for value in row if value is not None]
    total = output.positive(last + 2, "the sum", found[2], Unit.GB_S)
    if abs(total - math.fsum(values)) > 0.0051 * (len(values) + 1):
        raise output.error(last + 2, f"the sum of the matrix, {math.fsum(values):.2f}")
    return CopyBandwidths(cells, total)


def _copy_row(output: Output, number: int, row: int, gpus: int, *, between_gpus: bool) -> tuple[float | None, ...]:
    found = _COPY_ROW.fullmatch(output.lines[number - 1])
    if not found or int(found[1]) != row:
        raise output.error(number, f"row {row} of the matrix")
    cells = tuple(
        None if token == "N/A" else output.positive(number, "a bandwidth", token, Unit.GB_S)
        for token in found[2].split()
    )
    expected_none = {row} if between_gpus else set()
    if len(cells) != gpus or {column for column, cell in enumerate(cells) if cell is None} != expected_none:
        raise output.error(number, f"{gpus} bandwidths, N/A only from a GPU to itself")
    return cells


@dataclass(frozen=True)
class NcclTransfer:
    """Time of one operation and its bandwidths."""

    time_us: float
    algorithm_gb_s: float
    bus_gb_s: float


@dataclass(frozen=True)
class NcclRow:
    size_bytes: int
    out_of_place: NcclTransfer
    in_place: NcclTransfer


@dataclass(frozen=True)
class NcclResult:
    """A run; ``hosts``: the host of each rank. ``mean_bus_gb_s``: mean over all rows, out of place and in place."""

    hosts: tuple[str, ...]
    rows: tuple[NcclRow, ...]
    mean_bus_gb_s: float


_RANK = re.compile(
    rf"# +Rank +({INTEGER}) +(?:Group +{INTEGER} +)?Pid +{INTEGER} on +([\w.-]{{1,255}}) device .{{1,200}}"
)
# Versions before 2.13 print the columns redop and root only if the collective has them.
_NCCL_HEADING = re.compile(
    r"# +size +count +type(?P<redop> +redop)?(?P<root> +root)? +time +algbw +busbw +(?P<checked>#wrong|error)"
    r" +time +algbw +busbw +(?P=checked) *"
)
_CPU_TIME = re.compile(r"# +size +count +type .{0,40}cputime .{1,200}")
_OPTIONS = re.compile(r"# nThread .{1,300} validation: ([01])\b.{0,100}")
_NCCL_UNITS = re.compile(r"# +\(B\) +\(elements\)" + 2 * r" +\(us\) +\(GB/s\) +\(GB/s\)" + " *")
_DECIMAL = r"[0-9]{1,12}(?:\.[0-9]{1,3})?"
# Since 2.17, a bandwidth of 1000 or more has as many decimals as fit into six characters.
_BANDWIDTH = r"([0-9]{1,9}\.[0-9]{2}|[0-9]{4}\.[0-9]|[0-9]{5,6})"
_TRANSFER = rf" +({_DECIMAL}) +{_BANDWIDTH} +{_BANDWIDTH}"
_TYPE = r"(?:u?int(?:8|32|64)|half|float|double|bfloat16|fp8_e4m3|fp8_e5m2|f8e4m3|f8e5m2)"
# Error per rank, but one, that nccl-tests before 2.13 allowed for half precision; it allowed less for other types.
_MOST_ERROR = 0.01
# The last digit of a bandwidth.
_LEAST_GB_S = 0.01
_WRONG = re.compile(rf"# Out of bounds values : ({INTEGER}) (OK|FAILED)")
_MEAN = re.compile(rf"# Avg bus bandwidth    : ({GENERAL}) *(?:OK)?")


def nccl_tests(text: str, *, expect_sizes: Sequence[int], expect_ranks: int) -> NcclResult:
    """Parse the output of nccl-tests or rccl-tests.

    :param expect_sizes: size in bytes of each row. The programs round it down to a multiple of the ranks.
    :raises ParseError: a rank or a row is missing or repeated, data was wrong or not checked, or figures that depend
        on each other do not agree.
    """
    output = Output.read("nccl-tests output", text)
    for number, options in output.find(_OPTIONS):
        if options[1] == "0":
            raise output.error(number, "checked data (`-c 1`), and `validation: 0` says that they are unchecked")
    for number, _ in output.find(_CPU_TIME):
        raise output.error(number, "the time of operations (`-C 0`): `-C 1` prints the time of the CPU")
    _, heading = output.one(_NCCL_HEADING, "the heading `size count type redop root time algbw busbw #wrong …`")
    output.one(_NCCL_UNITS, "the units below the heading")
    rows = [_nccl_row(output, number, match, expect_ranks) for number, match in output.find(_nccl_pattern(heading))]
    slack = 64 * expect_ranks
    if len(rows) != len(expect_sizes) or not all(
        size - slack < row.size_bytes <= size for size, row in zip(expect_sizes, rows, strict=True)
    ):
        raise output.missing(f"rows of {list(expect_sizes)} bytes, found {[row.size_bytes for row in rows]}")
    number, found = output.one(_WRONG, "`# Out of bounds values : 0 OK`")
    if (found[1], found[2]) != ("0", "OK"):
        raise output.error(number, "no wrong values")
    number, found = output.one(_MEAN, "`# Avg bus bandwidth    : …`")
    mean = output.positive(number, "the mean bus bandwidth", found[1], Unit.GB_S)
    expected = sum(row.out_of_place.bus_gb_s + row.in_place.bus_gb_s for row in rows) / (2 * len(rows))
    if abs(mean - expected) > 0.005 + 1e-5 * expected:
        raise output.error(number, f"the mean of the rows, {expected:.3f}")
    return NcclResult(_hosts(output, expect_ranks), tuple(rows), mean)


def _hosts(output: Output, ranks: int) -> tuple[str, ...]:
    found = output.find(_RANK)
    if [int(match[1]) for _, match in found] != list(range(ranks)):
        raise output.missing(f"a line for each of {ranks} ranks in order, found {len(found)}")
    return tuple(match[2] for _, match in found)


def _nccl_pattern(heading: re.Match[str]) -> re.Pattern[str]:
    """Return the pattern of a row below ``heading``."""
    columns = _TYPE + (r" +[a-z]{1,6}" if heading["redop"] else "") + (" +-?[0-9]{1,6}" if heading["root"] else "")
    # N/A: unchecked, since the operation cannot run in place or the option is `-c 0`.
    checked = rf" +({INTEGER if heading['checked'] == '#wrong' else '[0-9]e[+-][0-9]{2,3}'}|N/A)"
    return re.compile(rf" *({INTEGER}) +({INTEGER}) +{columns}{_TRANSFER}{checked}{_TRANSFER}{checked} *")


def _nccl_row(output: Output, number: int, match: re.Match[str], ranks: int) -> NcclRow:
    out_of_place_wrong, in_place_wrong = match[6], match[10]
    if out_of_place_wrong == "N/A":
        raise output.error(number, "checked data (`-c 1`), and N/A says that they are unchecked")
    for wrong in (out_of_place_wrong, in_place_wrong):
        if wrong != "N/A" and float(wrong) > (_MOST_ERROR * ranks if "e" in wrong else 0):
            raise output.error(number, "no wrong elements (#wrong 0, before 2.13 a small error)")
    # The programs round a size of fewer elements than ranks down to 0.
    size = int(match[1]) and output.positive_integer(number, "size in bytes", match[1], Unit.BYTES)
    out_of_place, in_place = (
        _transfer(output, number, size, tokens) for tokens in (match.group(3, 4, 5), match.group(7, 8, 9))
    )
    return NcclRow(size, out_of_place, in_place)


def _half_digit(token: str) -> float:
    """Return half of the last printed digit."""
    return 0.5 * 10.0 ** -len(token.partition(".")[2])


def _transfer(output: Output, number: int, size: int, tokens: Sequence[str]) -> NcclTransfer:
    time_us = output.positive(number, "time", tokens[0], Unit.OPERATION_US)
    # With two decimals, the bandwidth of a few bytes is 0.00.
    algorithm_gb_s, bus_gb_s = (
        float(token) and output.positive(number, "bandwidths", token, Unit.GB_S) for token in tokens[1:]
    )
    if not bus_gb_s and algorithm_gb_s > _LEAST_GB_S:
        raise output.error(number, "a bus bandwidth above 0")
    transfer = NcclTransfer(time_us, algorithm_gb_s, bus_gb_s)
    # Half of the last printed digit of the time, and of the bandwidth.
    half_digit_us = _half_digit(tokens[0])
    slowest, fastest = (size / 1e3 / (transfer.time_us + shift) for shift in (half_digit_us, -half_digit_us))
    half_digit_gb_s = 1.02 * _half_digit(tokens[1])
    if not slowest - half_digit_gb_s <= transfer.algorithm_gb_s <= fastest + half_digit_gb_s:
        raise output.error(number, f"an algorithm bandwidth of {size} bytes in {tokens[0]} us")
    return transfer
