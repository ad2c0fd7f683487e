"""Parse the output of the job's scripts: facts of nodes, hangs, load, places of ranks, and results of stress-ng."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from msgspec import Meta

from kappa.core.ground.node_lists import expand_nodes
from kappa.core.record.evidence import LoadByOthers
from kappa.core.vocabulary.node_facts import Value
from kappa.node.table import fact_of
from reframe_checks.parsers.json_reader import (
    Index,
    OwnDocument,
    Positive,
    Seconds,
    ShortMicroseconds,
    Text,
    decode,
    require,
)
from reframe_checks.parsers.text import INTEGER, Output, Unit

#: Reasons of a process: it is stopped, or waits in the kernel. ``kappa.node.watch.search`` has those of a node.
PROCESS_REASONS = ("stopped", "blocked")
#: Reasons of a node that the watch explains in ``said``.
SAID_REASONS = ("address", "link", "crashed")

_FIELDS = ("at_s", "cores", "busy_s", "steal_s", "own_s", "disk_bytes", "own_bytes")
_LOOK = re.compile(
    "(look=([0-9]{1,9}) "
    + " ".join(rf"{name}=([0-9]{{1,18}}(?:\.[0-9]{{1,3}})?)" for name in _FIELDS)
    + ") sha256=([0-9a-f]{16})"
)
_RANK = re.compile(rf"rank ({INTEGER}) on ([A-Za-z0-9.-]{{1,200}}) cpus ([0-9]{{1,6}}(?:[-,][0-9]{{1,6}})*) end")
_TURN = re.compile(r"([1-9][0-9]{0,6}) ([A-Za-z0-9][\w.-]{0,252}) ([0-9]{1,5})")
_STRESSED = re.compile(r"@stress-ng ([\w.-]{1,255}) ([0-9]{1,3}) ([0-9]{1,2}) ((?:[a-z0-9-]{1,40}(?: |$)){0,99})")
# stress-ng reports these as failures if a stressor was killed.
_OF_COUNTERS = re.compile(r"bogo-ops counter|metrics-check: ")


class NodeFacts(OwnDocument, frozen=True):
    """The facts of a node; ``clock_offset_us``: its clock minus task 0's, with an error of half ``clock_rtt_us``."""

    host: Text
    facts: dict[str, Value]
    clock_offset_us: Annotated[float, Meta(ge=-Unit.CLOCK_US.ceiling, le=Unit.CLOCK_US.ceiling)]
    clock_rtt_us: ShortMicroseconds

    def __post_init__(self) -> None:
        unknown = [name for name in self.facts if fact_of(name) is None]
        require(not unknown, f"facts: facts of known names, found {', '.join(unknown[:5])}")


def node_facts(text: str, *, expect_nodes: int | None = None) -> tuple[NodeFacts, ...]:
    """Parse the line of ``kappa-node facts --json`` of each node, JSON and its SHA-256; nodes in order of their names.

    :raises ParseError: a line has no correct SHA-256, or is not one object with the right keys and types; a fact has an
        unknown name; a node is missing or occurs twice. (Standard error names nodes that could not reach task 0.)
    """
    output = without_sums(Output.read("kappa-node output", text))
    nodes: dict[str, NodeFacts] = {}
    for number in range(1, len(output.lines) + 1):
        facts = decode(output, range(number, number + 1), NodeFacts)
        if facts.host in nodes:
            raise output.error(number, f"each node once, found {facts.host} again")
        nodes[facts.host] = facts
    if expect_nodes is not None and len(nodes) != expect_nodes:
        raise output.missing(f"{expect_nodes} nodes, found {len(nodes)} ({', '.join(sorted(nodes))})")
    return tuple(nodes[host] for host in sorted(nodes))


def without_sums(output: Output) -> Output:
    """Return the JSON of lines that end in a space and their SHA-256.

    :raises ParseError: a line has no JSON object, or its SHA-256 is wrong.
    """
    lines = []
    for number, line in enumerate(output.lines, start=1):
        if not line.startswith("{"):
            raise output.error(number, "one JSON object a line")
        data, _, digest = line.rpartition(" ")
        if hashlib.sha256(data.encode()).hexdigest() != digest:
            raise output.error(number, "a line that ends in its SHA-256, and this one is cut, mixed or changed")
        lines.append(data)
    return replace(output, lines=tuple(lines))


class BlamedNode(OwnDocument, frozen=True, kw_only=True):
    """A blamed node, the reason and its evidence: the launcher's message, or a process on the node.

    ``peer``: the other end of a link if it is unknown which of the two nodes is faulty, or the node whose address it
    has. ``state``: state of the process as in proc_pid_stat(5). ``phase`` and the time in it: from the process's
    heartbeat. ``waits``: the file operation or the kernel function in which it waits.
    """

    node: Text
    reason: Literal[
        "stopped", "blocked", "lost", "unseen", "silent", "address", "link", "launcher", "mpi", "crashed",
        "unexecutable",
    ]  # fmt: skip
    said: Text = ""
    peer: Text | None = None
    pid: Positive | None = None
    program: Text = ""
    rank: Index | None = None
    state: Text = ""
    waits: Text = ""
    cpu_s: Seconds | None = None
    phase: Text | None = None
    stands_s: Annotated[float, Meta(ge=0, le=Unit.UPTIME_S.ceiling)] | None = None

    def __post_init__(self) -> None:
        whole = self.pid is not None and self.program and self.state
        require(bool(whole) or self.reason not in PROCESS_REASONS, "pid, program and state of the process")
        require(bool(self.said) == (self.reason in SAID_REASONS), "said: what the launcher said, or what fails")
        of_two = self.reason in ("link", "address") and self.peer != self.node
        require(self.peer is None or of_two, "peer: of a link or an address, another node")

    @property
    def ends(self) -> tuple[str, ...]:
        """Return the node, or both ends of the link."""
        return (self.node, self.peer) if self.reason == "link" and self.peer else (self.node,)


class Hang(OwnDocument, frozen=True):
    """The nodes on which a job hung, or that made it fail. ``after_s``: since the measurement began."""

    format: Literal["kappa-hang"]
    version: Literal[1]
    how: Literal["hang", "crash"]
    after_s: Seconds
    nodes: tuple[Text, ...]
    named: tuple[BlamedNode, ...]

    def __post_init__(self) -> None:
        told = {node for one in self.named for node in (one.node, one.peer) if node}
        of_job = bool(self.named) and told <= {*self.nodes}
        require(of_job, "named: at least one of the job's nodes, and no others")


def hang(text: str) -> Hang:
    """Read ``hang.json`` of ``kappa-node watch``.

    :raises ParseError: the SHA-256 is wrong, a reason is unknown, or a node is not one of the job's nodes.
    """
    output = Output.read("hang", text)
    number, digest = output.one(re.compile(r"sha256=([0-9a-f]{64})"), "sha256=…")
    if number != 2 or len(output.lines) != 2:
        raise output.error(number, "one line before it, and none behind")
    if hashlib.sha256(output.lines[0].encode()).hexdigest() != digest[1]:
        raise output.error(1, "a line as it was written, but its SHA-256 is another")
    return decode(output, range(1, 2), Hang)


@dataclass(frozen=True)
class Snapshot:
    """Counters since the node's start: times in s, bytes read and written; ``own_*``: of the job on this node."""

    at_s: float
    cores: float
    busy_s: float
    steal_s: float
    own_s: float
    disk_bytes: float
    own_bytes: float


def snapshots(text: str) -> tuple[Snapshot, ...]:
    """Parse the snapshots that ``base/src/node_watch.sh`` wrote on a node around each step of a job, in order of time.

    :raises ParseError: a line is no snapshot or has a wrong SHA-256, a snapshot is missing, or the node had no core.
    """
    output = Output.read("load watch", text)
    found = []
    for number, line in enumerate(output.lines, start=1):
        match = _LOOK.fullmatch(line)
        if not match:
            raise output.error(number, f"look=…, {'=…, '.join(_FIELDS)}=… and sha256=…")
        whole, look, *figures, digest = match.groups()
        if hashlib.sha256(f"{whole}\n".encode()).hexdigest()[:16] != digest:
            raise output.error(number, "a line as it was written, but its SHA-256 is another")
        snapshot = Snapshot(*map(float, figures))
        if int(look) != number or snapshot.cores < 1:
            raise output.error(number, f"look {number} of the node, and at least one core")
        found.append(snapshot)
    return tuple(sorted(found, key=lambda snapshot: snapshot.at_s))


def taken_of_machine(nodes: Mapping[str, tuple[Snapshot, ...]]) -> LoadByOthers | None:
    """Return the load by other programs on the machine that all ``nodes`` share; ``None`` if no time passed.

    Busy times cover the cores that a node may use, and come from any node that may use the most. The job's own use is
    the sum over its nodes.
    """
    everything = sorted((each for of_node in nodes.values() for each in of_node), key=lambda each: each.at_s)
    cores = max((each.cores for each in everything), default=0)
    everything = [each for each in everything if each.cores == cores]
    if not everything or everything[-1].at_s <= everything[0].at_s:
        return None
    first, last = everything[0], everything[-1]
    seconds = last.at_s - first.at_s
    own_s = sum(of_node[-1].own_s - of_node[0].own_s for of_node in nodes.values() if of_node)
    own_bytes = sum(of_node[-1].own_bytes - of_node[0].own_bytes for of_node in nodes.values() if of_node)
    steal_cores = (last.steal_s - first.steal_s) / seconds
    used = (last.busy_s - first.busy_s - own_s) / seconds
    return LoadByOthers(
        cores=max(0.0, used) + max(0.0, steal_cores),
        of_cores=int(last.cores),
        steal_cores=max(0.0, steal_cores),
        disk_mb_per_s=max(0.0, last.disk_bytes - first.disk_bytes - own_bytes) / seconds / 1e6,
    )


@dataclass(frozen=True)
class RankPlace:
    """``cpus``: the list of CPUs that the rank may run on, as the kernel prints it."""

    rank: int
    node: str
    cpus: str


def placement(text: str, *, expect_ranks: int) -> tuple[RankPlace, ...]:
    """Parse the place of each rank from lines ``rank N on HOST cpus LIST end``; return them in order of rank.

    :raises ParseError: a line has another form; a rank is missing, out of range or occurs twice.
    """
    output = Output.read("placement of ranks", text)
    found: dict[int, RankPlace] = {}
    for number, line in enumerate(output.lines, start=1):
        match = _RANK.fullmatch(line)
        if not match:
            raise output.error(number, "`rank N on HOST cpus LIST end`")
        rank = int(match[1])
        if rank in found or rank >= expect_ranks:
            raise output.error(number, f"each rank from 0 to {expect_ranks - 1} once, found {rank}")
        found[rank] = RankPlace(rank, match[2], match[3])
    if len(found) != expect_ranks:
        raise output.missing(f"{expect_ranks} ranks, found {len(found)}")
    return tuple(found[rank] for rank in range(expect_ranks))


@dataclass(frozen=True)
class OstTurn:
    """A turn: in round ``number``, ``node`` writes to the target ``index``."""

    number: int
    node: str
    index: int


def ost_turns(text: str) -> tuple[OstTurn, ...]:
    """Parse the plan of ``storage/src/ost_rounds.py``: the object storage target of each node in each round.

    :raises ParseError: there is no turn; a line is no turn; rounds are not 1, 2, 3, …; a node or target occurs twice in
        a round.
    """
    output = Output.read("rounds.txt", text)
    turns: list[OstTurn] = []
    for number, line in enumerate(output.lines, start=1):
        match = _TURN.fullmatch(line)
        if not match:
            raise output.error(number, "`ROUND NODE INDEX`")
        turn = OstTurn(int(match[1]), match[2], int(match[3]))
        last = turns[-1].number if turns else 0
        if turn.number not in (last, last + 1):
            raise output.error(number, f"round {last} or {last + 1}")
        if any(one.number == turn.number and (one.node == turn.node or one.index == turn.index) for one in turns):
            raise output.error(number, "a node and a target once in a round")
        turns.append(turn)
    return tuple(sorted(turns, key=lambda turn: (turn.number, turn.index)))


@dataclass(frozen=True)
class StressedNode:
    """The result of stress-ng on a node. ``status``: exit status, 0 if all results were right; ``stressors``: the
    stressors that completed an operation."""

    node: str
    status: int
    stressors: tuple[str, ...]


def stressed(text: str, *, expect_nodes: int) -> dict[str, StressedNode]:
    """Parse the result of stress-ng on each node; ``stress_on_node.sh`` prints one line per node.

    :raises ParseError: a line has another form, a node occurs twice, or the number of nodes is another.
    """
    output = Output.read("stress-ng", text)
    found: dict[str, StressedNode] = {}
    for number, line in enumerate(output.lines, start=1):
        match = _STRESSED.fullmatch(line)
        stressors = tuple(match[4].split()) if match else ()
        if match is None or match[1] in found or int(match[2]) > 255 or len(stressors) != int(match[3]):
            raise output.error(number, "`@stress-ng NODE STATUS COUNT STRESSOR …`, each node once")
        found[match[1]] = StressedNode(match[1], int(match[2]), stressors)
    if len(found) != expect_nodes:
        raise output.missing(f"{expect_nodes} nodes, found {len(found)}")
    return found


def wrong_result(log: str) -> str | None:
    """Return the first line of stress-ng's log in which a stressor reports a wrong result, or ``None``."""
    return next((line for line in log.splitlines() if " fail: " in line and not _OF_COUNTERS.search(line)), None)


def provenance(text: str) -> dict[str, Any]:
    """Parse the ``key=value`` lines that the job wrote. The first ``sha256`` is the executable's, others are ``files``.

    The list of nodes is the job's own, expanded. Accounting's list may be incomplete when a short job ends.

    :raises ValueError: the list of nodes cannot be read, or is too long.
    """
    result: dict[str, Any] = {"files": {}}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key == "nodelist":
            result[key] = expand_nodes(value)
            continue
        if key != "sha256":
            result[key] = value
            continue
        digest, _, path = value.partition("  ")
        if "sha256" in result:
            result["files"][path] = digest
        else:
            result["sha256"], result["executable"] = digest, path
    return result
