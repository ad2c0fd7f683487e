"""What a shared file system promises to programs on several nodes, beside its speed: ``kappa-node semantics``.

Locks of flock(2) and fcntl(2) exclude, a change is visible after close, appended lines are all there, rename and
exclusive creation are atomic, times are in order, and an open file stays readable after its removal.
"""

from collections.abc import Iterable, Sequence

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.record.evidence import Finding
from kappa.node.semantics import LINES, MOST_RENAMES
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import SystemCheck
from reframe_checks.base.node_program import node_program
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import OncePerPartition, OnEachNode
from reframe_checks.parsers.job_scripts import without_sums
from reframe_checks.parsers.json_reader import OwnDocument, Seconds, Text, decode, require, require_each_once
from reframe_checks.parsers.text import Output

#: Test of ``kappa-node semantics`` -> the broken promise.
PROMISES = {
    "visible": "a change is not visible on another node after close",
    "flock": "locks of flock do not exclude",
    "fcntl": "locks of fcntl do not exclude",
    "append": "appended lines are lost",
    "rename": "readers see a file that a rename replaces in part",
    "exclusive": "exclusive creation has not one winner",
    "unlink": "an open file is not readable after its removal, or its name is not gone",
}
_SHOWN = 3


class Semantics(OwnDocument, frozen=True):
    """``failures``: test -> (node, other node or the same, why). ``slowest_s``: until the last node saw a change."""

    nodes: tuple[Text, ...]
    failures: dict[str, tuple[tuple[Text, Text, Text], ...]]
    slowest_s: Seconds

    def __post_init__(self) -> None:
        require_each_once(self.nodes, "nodes")
        require([*self.failures] == [*PROMISES], f"failures: the tests {', '.join(PROMISES)}")
        told = {node for found in self.failures.values() for *ends, _ in found for node in ends}
        require(told <= {*self.nodes}, "failures: of the nodes")


def parse(text: str) -> Semantics:
    """Parse the line of JSON and its SHA-256 that task 0 of ``kappa-node semantics`` prints.

    :raises ParseError: it is not one such line.
    """
    output = without_sums(Output.read("kappa-node semantics output", text))
    if len(output.lines) != 1:
        raise output.missing("one line")
    return decode(output, range(1, 2), Semantics)


def node_in_all(failures: Iterable[Sequence[str]], nodes: Sequence[str]) -> str:
    """Return the only node that is in every failure; empty if there is none, or with fewer than three nodes."""
    common = set(nodes).intersection(*({node, other} for node, other, _ in failures))
    return common.pop() if len(nodes) >= 3 and len(common) == 1 else ""


@rfm.simple_test
class SharedSemantics(OncePerPartition, OnStorage, OnEachNode, SystemCheck):
    descr = (
        "Tests locks, visibility, append, rename, exclusive creation and removal between nodes on shared storage; "
        "finds mounts and file systems that break them"
    )
    family = "storage/shared-semantics"
    measured_s = 3
    most_nodes = 32
    hint = "compare the mount's options on the node with another node's (`findmnt -T DIR`): nolock, localflock, caches"
    failure_means = (
        "Programs on several nodes may overwrite or miss each other's data. If one node is named, mount the file "
        "system there as on the others; if the target is named, look at its locks, its caches and its quota."
    )
    programs = ["./kappa-node"]
    cache_defeat = "each change is read on the other nodes"
    informational = ["slowest_visible"]

    not_promised = SiteVariable("", "text", "", "promises that the file system does not make, as `append` on NFS")
    visible_within_s = SiteVariable(5.0, "number", "s", "time within which other nodes must see a change after close")

    def most_bytes(self):
        """Return the bytes of all renames, each of a file of 4 KiB, and of the appended lines."""
        return MOST_RENAMES * 4096 + self.num_tasks * LINES * 64

    @rfmb.run_after("setup")
    def command_line(self):
        if unknown := sorted({*self.not_promised.split()} - {*PROMISES}):
            raise ReframeError(f"not_promised: expected some of {', '.join(PROMISES)}; found {', '.join(unknown)}")
        self.executable = f"{node_program(self)} semantics"
        self.executable_opts = ['"$folder"', f"--limit={self.visible_within_s:g}"]

    @rfmb.sanity_function
    def judge_promises(self):
        found = self.parsed(parse, self.output_text())
        self.require_all_nodes(found.nodes)
        self.slowest_s = found.slowest_s
        broken = {test: failures for test, failures in found.failures.items() if failures}
        for test in {*self.not_promised.split()} & {*broken}:
            self.notes = [*self.notes, f"not promised here: {PROMISES[test]} ({self.shown(broken.pop(test))})"]
        if broken:
            said = "; ".join(f"{PROMISES[test]} ({self.shown(failures)})" for test, failures in broken.items())
            node = node_in_all([one for failures in broken.values() for one in failures], found.nodes)
            kind, name, nodes = ("node", node, (node,)) if node else ("target", self.target, ())
            self.record_findings([Finding(kind, name, nodes, ", ".join(broken), None, None, said)])
            raise SanityError(f"{kind} {name}: {said}")
        return True

    @staticmethod
    def shown(failures):
        told = [f"{node}: {why}" if node == other else f"{node} and {other}: {why}" for node, other, why in failures]
        return "; ".join(told[:_SHOWN])

    metrics = {"slowest_visible": ("s", lambda self: self.slowest_s)}
