"""Find the nodes at fault in a job that hangs or failed. A merely slow node gives none of these findings:

- ``lost``: Slurm took the node out of the job, or gave it up;
- ``unseen``: the node does not see the job's folder, but other nodes do;
- ``silent``: twice, a step did not start there, but started on other nodes. If another node can start one there, the
  link from the first node is named instead, or the first node alone if its kernel refuses to send;
- ``stopped``: a process of the job is stopped there, but not on every node (a suspended job stops everywhere);
- ``blocked``: between two looks a process waited in the kernel, or for a file system, and moved no byte. Most nodes
  have no such process: a lost shared file system blocks all nodes;
- ``address``: the node also has the address of another node, or answers for it;
- ``link``: twice, long messages between the node and others did not arrive. Both nodes of a single pair are named,
  unless the kernel of one refuses to send (``exchanged.py``);
- ``unexecutable``: the measurement failed, and the node cannot execute files of the job's folder, but the first node
  can. Slurm then ended the tasks, whose prolog lies in that folder;
- ``launcher``: the measurement failed, and twice, srun on the first node started no step with the measurement's type of
  MPI, but srun on another node did;
- ``mpi``: twice, MPI did not start with this node, but it starts on all others together (``halves.py``);
- ``crashed``: the first failed task of the measurement crashed there (``crashed.py``). If its program could not be
  run, another node has the program.
"""

import re

from kappa.node.facts.names import address
from kappa.node.watch import steps
from kappa.node.watch.crashed import BY_PROLOG, crashed
from kappa.node.watch.exchange import refusal
from kappa.node.watch.exchanged import speaking_against, with_address_of_others
from kappa.node.watch.halves import MOST_GROUPS, not_working

MOST_ASKED = 8  # nodes asked for a program that another node cannot run
TIMES_EXPECTED = 5  # after this multiple of the expected time alone, MPI is in doubt


class Search:
    """The search of this job's nodes. The MPI library of ``program`` may be tried; ``launcher`` starts ranks."""

    def __init__(self, nodes, expected_s, program, launcher):
        self.nodes, self.expected_s, self.program, self.launcher = nodes, expected_s, program, launcher
        self.blocked, self.library, self.tried_s = set(), None, 0.0

    def named(self, elapsed_s, failed, said=""):
        """Return the nodes with the evidence against each; none if Slurm does not answer, or has suspended the job.

        :param elapsed_s: time since the measurement began.
        :param failed: whether the measurement ended, so that it has no processes left.
        :param said: standard output and error of a measurement that failed.
        """
        left = steps.nodes_left()
        if left is None:
            return []
        lost = sorted({*self.nodes}.difference(left)) + steps.nodes_down(left)
        found = [{"node": node, "reason": "lost"} for node in lost]
        nodes = [node for node in left if node not in lost]
        [told] = steps.looks([nodes], 1) if nodes else [{}]
        if not told:
            # Slurm ends the whole step if one node refuses it.
            for look in steps.looks([[node] for node in nodes[:MOST_GROUPS]], 1):
                told.update(look)
        unseen = sorted(node for node, look in told.items() if look.get("unseen"))
        # A folder that no node sees is gone, or its server is.
        found += [{"node": node, "reason": "unseen"} for node in unseen if len(unseen) < len(told)]
        nodes = [node for node in nodes if node not in unseen]
        told = {node: look for node, look in told.items() if node not in unseen}
        found += silent_or_cut_off(nodes, silent(nodes, told), told)
        taken = with_address_of_others(self.nodes, told, address)
        if taken:
            # Other findings, such as a silent node, may follow from it.
            return taken
        found += unexecutable(told, nodes[0]) if failed and nodes else []
        blocked_before = self.blocked
        found += standing("stopped", stopped(told)) + standing("blocked", self.still_blocked(told))
        if self.blocked and not blocked_before and not failed:
            return found  # the next look shows whether it still waits: sooner, and better evidence, than a try of MPI
        self.library = next((look["library"] for look in told.values() if look["library"]), self.library)
        if not found and len(nodes) > 1 and (failed or self.in_doubt(told, elapsed_s)):
            self.tried_s = elapsed_s
            if failed:
                self.find_library()
                found = self.without_launcher(nodes) or self.without_mpi(nodes, told)
            else:
                found = speaking_against(steps.exchange(nodes)) or self.without_mpi(nodes, told)
        ended = self.not_everywhere(crashed(self.nodes, said, steps.names), nodes) if failed else []
        if all(one["reason"] == "silent" for one in found) and any(BY_PROLOG.search(one["said"]) for one in ended):
            return ended  # the failed prolog keeps every step from starting there
        return found or ended

    def not_everywhere(self, ended, nodes):
        """Return ``ended`` without programs that could not be run, unless a node that is not named can run them."""
        started = [one.pop("started") for one in ended]
        if all(started) or any(BY_PROLOG.search(one["said"]) for one in ended):
            return ended
        others = [node for node in nodes if node not in {one["node"] for one in ended}]
        return ended if steps.runs_on(others[:MOST_ASKED], self.program) else []

    def without_launcher(self, nodes):
        """Return a finding if srun does not work on the first node, from which all ranks are started."""

        def tried(groups, patience):
            return steps.launches([(node, node) for [node] in groups], patience, steps.type_of_mpi(self.launcher))

        found = not_working(nodes[:2], tried) if self.launcher[0] == "srun" else []
        return [{"node": node, "reason": "launcher"} for node in found if node == nodes[0]]

    def without_mpi(self, nodes, told):
        """Return findings of nodes with which MPI does not start; none if no MPI library is known."""
        if not self.library:
            return []
        return [{"node": node, "reason": "mpi", **late_rank(told.get(node))} for node in self.not_starting(nodes)]

    def not_starting(self, nodes):
        def tried(groups, patience):
            return steps.starts_of_mpi(groups, patience, self.library, self.launcher)

        return not_working(nodes, tried)

    def still_blocked(self, told):
        """Return node -> a process that was already blocked at the last look and has not run since."""
        found = {(node, each["pid"], each["cpu_s"]): each for node, look in told.items() for each in look["blocked"]}
        again, self.blocked = self.blocked.intersection(found), {*found}
        if 2 * len({node for node, _, _ in found}) > len(told):
            return {}
        return {key[0]: found[key] for key in sorted(again)}

    def in_doubt(self, told, elapsed_s):
        """Return whether to try network and MPI: a rank is past the limit of its phase, ranks have slept since they
        began, or nothing moved for long. The next try comes when twice the time has passed."""
        if elapsed_s < 2 * self.tried_s:
            return False
        late = any(look["late"] or look["asleep"] for look in told.values())
        return late or elapsed_s > TIMES_EXPECTED * self.expected_s

    def find_library(self):
        """Find an MPI library: from a process, or else from the program."""
        if not self.library:
            linked = steps.asked("bash", "-c", 'ldd "$(command -v "$1")"', "bash", self.program)
            found = re.search(r"=> (/\S*/libmpi(?:_\w+|ch)?\.so[.\d]*) ", "\n".join(linked))
            self.library = found and found.group(1)


def silent(nodes, told):
    """Return the nodes that report nothing and start no step when asked again, if other nodes do. ``told`` gets the
    records of the second try."""
    missing = [node for node in nodes if node not in told]
    if not missing or not told:
        return []
    beside = min(told)

    def tried(groups, patience):
        found = steps.looks(groups, patience)
        for looks in found:
            told.update({node: look for node, look in looks.items() if not look.get("unseen")})
        return [len(looks) == len(groups[number]) for number, looks in enumerate(found)]

    if len(missing) > MOST_GROUPS:  # Slurm ends the whole step if one node refuses it: halve it to find that node
        return [node for node in not_working([beside, *missing], tried) if node != beside]
    works, *again = tried([[beside], *([node] for node in missing)], 2)
    return [node for number, node in enumerate(missing) if works and not again[number]]


def silent_or_cut_off(nodes, missing, told):
    """Return findings of the ``missing`` nodes, on which the first node starts no step. If another node starts one
    there, the way from the first node is at fault."""
    first, others = nodes[0] if nodes else "", [node for node in nodes[1:] if node in told]
    starts = steps.launches([(others[0], node) for node in missing], 2, "none") if missing and others else []
    found = [{"node": node, "reason": "silent"} for node in missing]
    for number, node in enumerate(missing):
        reached = address(node)
        if not (number < len(starts) and starts[number] and reached):
            continue
        refused = refusal(reached)
        said = "its kernel does not send to {}: {}" if refused else "no step starts from it on {}, but one from {} does"
        link = {} if refused else {"peer": node}
        found[number] = {"node": first, "reason": "link", "said": said.format(node, refused or others[0]), **link}
    return found


def stopped(told):
    """Return node -> a stopped process; nothing if every node has one."""
    found = {node: look["stopped"][0] for node, look in told.items() if look["stopped"]}
    return {} if len(found) == len(told) > 1 else found


def unexecutable(told, first):
    """Return the nodes that cannot execute the task prolog; a job whose first node cannot has no prolog."""
    found = sorted(node for node, look in told.items() if look.get("unexecutable"))
    return [{"node": node, "reason": "unexecutable"} for node in found if first not in found]


def standing(reason, processes):
    """Return findings of stopped or blocked processes, by node."""
    return [{"node": node, "reason": reason, **process} for node, process in sorted(processes.items())]


def late_rank(look):
    """Return a process past the limit of its phase, if there is one."""
    return look["late"][0] if look and look["late"] else {}
