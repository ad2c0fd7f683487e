"""``hang.json`` of ``base/src/job/watch_nodes.py``: the nodes on which a job hung, or that made it fail."""

import hashlib
import re
from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

HOW = ("hang", "crash")
#: Of a process that is the reason: stopped, or waiting in the kernel; of a node: see the watch.
PROCESS_REASONS, NODE_REASONS = ("stopped", "blocked"), ("lost", "unseen", "silent", "mpi", "crashed")


@dataclass(frozen=True)
class Process:
    """``state`` as in proc_pid_stat(5); ``phase``, and for how long it stands in it, where it has a heartbeat."""

    pid: int
    program: str
    rank: int | None
    state: str
    phase: str | None
    stands_s: float | None


@dataclass(frozen=True)
class Named:
    """A node, why, and what shows it: the process there, or what the launcher said."""

    node: str
    reason: str
    process: Process | None
    said: str = ""


@dataclass(frozen=True)
class Hang:
    """``after_s``: since the measurement began."""

    how: str
    after_s: float
    nodes: tuple[str, ...]
    named: tuple[Named, ...]


def parse(text: str) -> Hang:
    """
    :raises ParseError: not as it was written, a reason that is unknown, or a node that is not one of the job's.
    """
    output = Output.read("hang", text)
    number, digest = output.one(re.compile(r"sha256=([0-9a-f]{64})"), "sha256=…")
    if number != 2 or len(output.lines) != 2:
        raise output.error(number, "one line before it, and none behind")
    if hashlib.sha256(output.lines[0].encode()).hexdigest() != digest[1]:
        raise output.error(1, "a line as it was written, but its SHA-256 is another")
    found = Record.parse(output, 1, 1)
    if (found.text("format"), found.integer("version")) != ("kappa-hang", 1):
        raise found.error("kappa-hang, version 1", "format")
    nodes = tuple(found.texts("nodes"))
    hang = Hang(
        how=found.text("how"),
        after_s=found.number("after_s", Quantity.RUN_S, minimum=0),
        nodes=nodes,
        named=tuple(map(_named, found.records("named"))),
    )
    if hang.how not in HOW:
        raise found.error(f"one of {', '.join(HOW)}", "how")
    if not hang.named or not {named.node for named in hang.named} <= {*nodes}:
        raise found.error("at least one of the job's nodes", "named")
    return hang


def _named(record: Record) -> Named:
    reason = record.text("reason")
    if reason not in (*PROCESS_REASONS, *NODE_REASONS):
        raise record.error("a reason", "reason")
    told = reason in PROCESS_REASONS or "pid" in record
    said = record.text("said") if reason == "crashed" else ""
    return Named(record.text("node"), reason, _process(record) if told else None, said)


def _process(record: Record) -> Process:
    return Process(
        pid=record.integer("pid", minimum=1),
        program=record.text("program"),
        rank=record.optional("rank", lambda key: record.integer(key, quantity=Quantity.RANKS)),
        state=record.text("state"),
        phase=record.optional("phase", record.text),
        stands_s=record.optional("stands_s", lambda key: record.number(key, Quantity.UPTIME_S, minimum=0)),
    )
