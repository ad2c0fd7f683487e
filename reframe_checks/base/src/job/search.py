"""What speaks against which node of a job that hangs or has failed. Each finding is one that a slow node does not give:

- ``lost``: Slurm has taken the node out of the job, or has given it up;
- ``unseen``: the job's folder is not seen there, but is on others;
- ``silent``: a step does not start there, twice, but does on others;
- ``stopped``: a process of the job is stopped there, and not on every node, as when all of the job is suspended;
- ``blocked``: a process has waited in the kernel, or for a file system, from one look to the next without having moved
  a byte, and on most nodes none has, as when a shared file system is gone;
- ``address``: it has the address of another node for its own, too, or answers for it;
- ``link``: long messages between it and others do not arrive, tried twice; of a single pair both are named, unless
  the kernel of one refuses to send (``exchanged.py``);
- ``unexecutable``: the measurement has failed, and files in the job's folder cannot be executed there, but on its first
  node, so that Slurm has ended the tasks whose prolog lies there;
- ``mpi``: MPI does not start with it, twice, but does on all others together, tried by halves;
- ``crashed``: the first task of the measurement that failed crashed there (``crashed.py``), and if its program could
  not be run, another node has it.

Runs on the Python 3.6 that old systems bring.
"""

import re

import steps
from crashed import BY_PROLOG, crashed
from exchange import address_of
from exchanged import speaking_against, with_address_of_others
from halves import MOST_GROUPS, not_working

MOST_ASKED = 8  # nodes, for a program that another cannot run
TIMES_EXPECTED = 5  # what a check takes, until MPI is in doubt for that alone


class Search:
    """Searches the nodes of this job. ``program`` is one whose MPI library may be tried, ``launcher`` starts ranks."""

    def __init__(self, nodes, expected_s, program, launcher):
        self.nodes, self.expected_s, self.program, self.launcher = nodes, expected_s, program, launcher
        self.blocked, self.library, self.tried_s = set(), None, 0.0

    def named(self, elapsed_s, failed, said=""):
        """The nodes with what speaks against each; nobody where Slurm does not answer, or has suspended the job.

        :param elapsed_s: since the measurement began. :param failed: it has ended, so that no process can be asked.
        :param said: its standard output and error, then.
        """
        left = steps.nodes_left()
        if left is None:
            return []
        lost = sorted({*self.nodes}.difference(left)) + steps.nodes_down(left)
        found = [{"node": node, "reason": "lost"} for node in lost]
        nodes = [node for node in left if node not in lost]
        [told] = steps.looks([nodes], 1) if nodes else [{}]
        if not told:
            # Slurm ends the whole step where one node refuses it.
            for look in steps.looks([[node] for node in nodes[:MOST_GROUPS]], 1):
                told.update(look)
        unseen = sorted(node for node, look in told.items() if look.get("unseen"))
        # What no node sees is gone, or its server is.
        found += [{"node": node, "reason": "unseen"} for node in unseen if len(unseen) < len(told)]
        nodes = [node for node in nodes if node not in unseen]
        told = {node: look for node, look in told.items() if node not in unseen}
        found += [{"node": node, "reason": "silent"} for node in silent(nodes, told)]
        taken = with_address_of_others(self.nodes, told, address_of)
        if taken:
            # What else is found, as a silent node, may follow from it.
            return taken
        found += unexecutable(told, nodes[0]) if failed and nodes else []
        found += standing("stopped", stopped(told)) + standing("blocked", self.still_blocked(told))
        self.library = next((look["library"] for look in told.values() if look["library"]), self.library)
        if not found and len(nodes) > 1 and (failed or self.in_doubt(told, elapsed_s)):
            self.tried_s = elapsed_s
            if failed:
                self.find_library()
                found = self.without_mpi(nodes, told)
            else:
                found = speaking_against(steps.exchange(nodes)) or self.without_mpi(nodes, told)
        ended = self.not_everywhere(crashed(self.nodes, said, steps.names), nodes) if failed else []
        if all(one["reason"] == "silent" for one in found) and any(BY_PROLOG.search(one["said"]) for one in ended):
            return ended  # which keeps every step from starting there
        return found or ended

    def not_everywhere(self, ended, nodes):
        """``ended`` without programs that could not be run, unless a node that is not named can run them."""
        started = [one.pop("started") for one in ended]
        if all(started) or any(BY_PROLOG.search(one["said"]) for one in ended):
            return ended
        others = [node for node in nodes if node not in {one["node"] for one in ended}]
        return ended if steps.runs_on(others[:MOST_ASKED], self.program) else []

    def without_mpi(self, nodes, told):
        """Findings of the nodes with which MPI does not start; none where no library of it is known."""
        if not self.library:
            return []
        return [{"node": node, "reason": "mpi", **late_rank(told.get(node))} for node in self.not_starting(nodes)]

    def not_starting(self, nodes):
        def tried(groups, patience):
            return steps.starts_of_mpi(groups, patience, self.library, self.launcher)

        return not_working(nodes, tried)

    def still_blocked(self, told):
        """Node -> a process that was blocked already at the last look, and has not run since."""
        found = {(node, each["pid"], each["cpu_s"]): each for node, look in told.items() for each in look["blocked"]}
        again, self.blocked = self.blocked.intersection(found), {*found}
        if 2 * len({node for node, _, _ in found}) > len(told):
            return {}
        return {key[0]: found[key] for key in sorted(again)}

    def in_doubt(self, told, elapsed_s):
        """Whether to try network and MPI: a rank stands in a phase for longer than it may, ranks have slept since their
        start, or nothing went on for long. Not again before as much time has passed as until then."""
        if elapsed_s < 2 * self.tried_s:
            return False
        late = any(look["late"] or look["asleep"] for look in told.values())
        return late or elapsed_s > TIMES_EXPECTED * self.expected_s

    def find_library(self):
        """Look for an MPI library: of the processes that were seen, or else of the program."""
        if not self.library:
            linked = steps.asked("bash", "-c", 'ldd "$(command -v "$1")"', "bash", self.program) or []
            found = re.search(r"=> (/\S*/libmpi(?:_\w+|ch)?\.so[.\d]*) ", "\n".join(linked))
            self.library = found and found.group(1)


def silent(nodes, told):
    """The nodes that have told nothing and start no step when asked again, if others have; ``told`` gets what others
    tell then."""
    missing = [node for node in nodes if node not in told]
    if not missing or not told:
        return []
    beside = min(told)

    def tried(groups, patience):
        found = steps.looks(groups, patience)
        for looks in found:
            told.update({node: look for node, look in looks.items() if not look.get("unseen")})
        return [len(looks) == len(groups[number]) for number, looks in enumerate(found)]

    return [node for node in not_working([beside, *missing], tried) if node != beside]


def stopped(told):
    """Node -> a stopped process, unless every node has one."""
    found = {node: look["stopped"][0] for node, look in told.items() if look["stopped"]}
    return {} if len(found) == len(told) > 1 else found


def unexecutable(told, first):
    """Nodes that cannot execute the prolog of tasks; where the first cannot, the job does without one."""
    found = sorted(node for node, look in told.items() if look.get("unexecutable"))
    return [{"node": node, "reason": "unexecutable"} for node in found if first not in found]


def standing(reason, processes):
    """Findings of stopped or of blocked processes, by node."""
    return [{"node": node, "reason": reason, **process} for node, process in sorted(processes.items())]


def late_rank(look):
    """The process that stands in a phase for longer than it may, if one does."""
    return look["late"][0] if look and look["late"] else {}
