"""Findings against nodes from the nodes' records: recorded on the embedded cluster, and changed."""

import json
import os
import subprocess

import pytest

from kappa.node.watch import search as module
from kappa.node.watch import steps
from tests.waiting import PATIENCE_S

# From a run of PairSweep; node3's rank was stopped.
STOPPED = {
    "pid": 317, "program": "pair_sweep", "rank": 2, "state": "T", "phase": "latency with node1", "stands_s": 19.3,
    "cpu_s": 0.46,
}  # fmt: skip
LIBRARY = "/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4"
NODES = ["node1", "node2", "node3", "node4"]


def told(node, **changes):
    return {
        "node": node, "stopped": [], "blocked": [], "late": [], "asleep": False, "library": LIBRARY,
        "addresses": [f"10.0.0.{node[-1]}"], **changes,
    }  # fmt: skip


def exchanged(failed, refused=()):
    """Output of ``kappa-node exchange`` for each two nodes."""
    return [
        {"node": node, "peer": peer, "failure": failed.get((node, peer)), "answered_by": None,
         "refused": "Operation not permitted" if (node, peer) in refused else None}
        for node in NODES for peer in NODES if node != peer
    ]  # fmt: skip


@pytest.fixture
def search(monkeypatch):
    """search(nodes=…, told=…): finds at the 20th second; ``mpi`` are the nodes where it does not start."""

    class Steps:
        left, down, mpi, tries, exchanged, refusing, have = NODES, (), (), 0, (), (), NODES
        without_srun, reached, refusals = (), (), {}

        def nodes_left(self):
            return self.left

        def nodes_down(self, _):
            return [*self.down]

        def looks(self, groups, _):
            refused = [group for group in groups if len(group) > 1 and {*self.refusing} & {*group}]
            return [{node: self.told[node] for node in group if node in self.told and group not in refused}
                    for group in groups]  # fmt: skip

        def starts_of_mpi(self, groups, *_):
            self.tries += 1
            return [not {*self.mpi} & {*group} for group in groups]

        def launches(self, pairs, *_):
            return [begin not in self.without_srun if begin == end else end in self.reached for begin, end in pairs]

        def type_of_mpi(self, _):
            return "pmix"

        def exchange(self, nodes):
            return [*self.exchanged]

        names = None  # the nodes of a compact list, which is absent here

        def runs_on(self, nodes, _):
            return [node for node in nodes if node in self.have]

        def asked(self, *_):
            return [f"\tlibmpi.so.40 => {LIBRARY} (0x00007f0000000000)"]

    fake = Steps()
    monkeypatch.setattr(module, "steps", fake)
    monkeypatch.setattr(module, "address", lambda name: f"10.0.0.{name[-1]}")
    monkeypatch.setattr(module, "refusal", lambda address: fake.refusals.get(address, ""))
    searching = module.Search(NODES, 2.0, "pair_sweep", ["srun"])

    def find(elapsed_s=9.0, failed=False, said="", **changes):
        fake.told = {node: told(node) for node in NODES}
        for name, value in changes.items():
            if name.startswith("node"):
                fake.told[name] = value and told(name, **value)
            else:
                setattr(fake, name, value)
        fake.told = {node: look for node, look in fake.told.items() if look}
        find.found = searching.named(elapsed_s, failed, said)
        return [(found["node"], found["reason"]) for found in find.found]

    find.steps = fake
    return find


def test_nothing_speaks_against_a_node_that_works(search):
    assert search() == []
    assert search.steps.tries == 0


def test_a_stopped_process_names_its_node(search):
    assert search(node3={"stopped": [STOPPED]}) == [("node3", "stopped")]


def test_a_suspended_job_names_nobody(search):
    assert search(**{node: {"stopped": [STOPPED]} for node in NODES}) == []
    assert search(left=None, node3={"stopped": [STOPPED]}) == []


def test_a_process_that_is_blocked_twice_names_its_node(search):
    blocked = {"blocked": [{**STOPPED, "state": "D"}]}
    assert search(elapsed_s=20.0, node2=blocked, mpi=["node2"]) == []
    assert search.steps.tries == 0  # the second look comes first
    assert search(elapsed_s=37.0, node2=blocked, mpi=["node2"]) == [("node2", "blocked")]


def test_a_process_that_has_run_between_two_looks_is_slow(search):
    assert search(node2={"blocked": [{**STOPPED, "state": "D"}]}) == []
    assert search(node2={"blocked": [{**STOPPED, "state": "D", "cpu_s": 0.47}]}) == []


def test_a_file_system_that_most_nodes_wait_for_names_nobody(search):
    blocked = {node: {"blocked": [{**STOPPED, "state": "D"}]} for node in NODES[:3]}
    assert search(**blocked) == []
    assert search(**blocked) == []


def test_a_node_that_starts_no_step_is_named_and_so_is_one_that_slurm_gave_up(search):
    assert search(node2=None) == [("node2", "silent")]
    assert search(left=["node1", "node2", "node4"]) == [("node3", "lost")]
    assert search(left=NODES, down=["node4"]) == [("node4", "lost")]


def test_a_node_among_many_that_refuses_every_step_is_named(search):
    """Slurm then ends every step on it; only 32 nodes are looked at alone."""
    looks = {f"node{number}": {"addresses": [f"10.0.1.{number}"]} for number in range(1, 101)}
    assert search(left=[*looks], refusing=["node90"], **{**looks, "node90": None}) == [("node90", "silent")]


def test_a_node_that_another_node_reaches_is_not_silent(search):
    assert search(node4=None, reached=["node4"]) == [("node1", "link")]
    [link] = search.found
    assert link["peer"] == "node4"
    assert search(node4=None, reached=["node4"], refusals={"10.0.0.4": "Invalid argument"}) == [("node1", "link")]
    [own] = search.found
    assert "peer" not in own and "Invalid argument" in own["said"]


def test_a_node_that_does_not_see_the_jobs_folder_is_named_for_that(search):
    assert search(node3={"unseen": True}) == [("node3", "unseen")]


def test_a_folder_that_no_node_sees_names_nobody(search):
    assert search(**{node: {"unseen": True} for node in NODES}) == []


def test_a_node_that_cannot_execute_the_prolog_of_a_job_that_failed_is_named(search):
    assert search(failed=True, node3={"unexecutable": True}) == [("node3", "unexecutable")]
    assert search(node3={"unexecutable": True}) == []
    # Such a job runs without a prolog, so that it has failed for another reason.
    assert search(failed=True, node1={"unexecutable": True}) == []


def test_a_first_node_whose_srun_starts_nothing_is_named(search):
    # Then srun starts MPI on no group of nodes.
    assert search(failed=True, without_srun=["node1"], mpi=NODES) == [("node1", "launcher")]
    assert search(failed=True, without_srun=NODES, mpi=NODES) == []
    # The first node's srun starts all ranks.
    assert search(failed=True, without_srun=["node2"], mpi=()) == []


def test_a_prolog_that_fails_is_told_where_it_keeps_every_step_from_starting(search):
    ended = "srun: error: node3: task 2: Exited with exit code 5\nslurmstepd: error: TaskProlog failed status=5"
    assert search(failed=True, node3=None, said=ended) == [("node3", "crashed")]
    assert search(failed=True, node3=None, said=ended.splitlines()[0]) == [("node3", "silent")]


@pytest.mark.parametrize(
    ("answer", "nodes"),
    [(["RUNNING node[1-4]"], NODES), ([], None), (["RUNNING "], None), (["RUNNING node[a-b]"], None),
     (["SUSPENDED node[1-4]"], None)],
)  # fmt: skip
def test_a_running_job_whose_nodes_cannot_be_listed_has_lost_none(monkeypatch, answer, nodes):
    """As where squeue is slow, or cannot be started because it lies on a file system that hangs."""
    monkeypatch.setenv("SLURM_JOB_ID", "61")
    monkeypatch.setattr(steps, "asked", lambda program, *_: answer)
    assert steps.nodes_left() == nodes


# Runs a step's program on each node of its list, here. The second node does not see the program of a look.
SRUN = """#!/bin/sh
while [ "$1" != sh ]; do case $1 in --nodelist=*) nodes=${1#*=};; esac; shift; done
IFS=,
for node in $nodes; do
  SLURMD_NODENAME=$node; export SLURMD_NODENAME
  [ $node = node2 ] && [ "$2" = -c ] && set -- "$1" "$2" "$3" "$4" /not/there
  "$@"
done
"""


def test_a_search_by_hand_prints_its_findings(program, tmp_path):
    for name, text in {"srun": SRUN, "squeue": "#!/bin/sh\necho RUNNING node[1-2]", "sinfo": "#!/bin/sh"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    slurm = {"SLURM_JOB_ID": f"kappa-{os.getpid()}", "SLURM_JOB_NODELIST": "node[1-2]"}
    command = ["sh", program, "search", "pair_sweep", "srun", "--mpi=pmix"]
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", **slurm}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert json.loads(done.stdout) == {"nodes": NODES[:2], "named": [{"node": "node2", "reason": "unseen"}]}
    assert "kappa-look" not in done.stdout and "srun" in done.stderr


def test_where_no_node_answers_nobody_is_named(search):
    assert search(**dict.fromkeys(NODES)) == []


@pytest.mark.parametrize(
    "doubt", [{"node1": {"late": [STOPPED]}}, {"node1": {"asleep": True}}, {"elapsed_s": 11.0}, {"failed": True}]
)
def test_mpi_is_tried_when_it_is_in_doubt(search, doubt):
    assert search(mpi=["node4"], **doubt) == [("node4", "mpi")]


def test_mpi_is_not_tried_without_doubt_nor_again_at_once(search):
    assert search(mpi=["node4"]) == []
    assert search(elapsed_s=20) == [("node4", "mpi")]
    assert search(elapsed_s=39) == []
    assert search(elapsed_s=40) == [("node4", "mpi")]


def test_mpi_is_not_tried_where_there_is_none(search):
    without = {node: {"library": None, "asleep": True} for node in NODES}
    assert search(mpi=["node4"], **without) == []


def test_the_rank_that_stands_is_told_with_the_node(search):
    search(mpi=["node4"], node4={"late": [STOPPED]})
    assert module.late_rank(told("node4", late=[STOPPED])) == STOPPED


def test_a_crash_names_its_node_where_mpi_starts_on_all(search):
    said = "srun: error: node2: task 1: Segmentation fault"
    assert search(failed=True, said=said) == [("node2", "crashed")]
    assert search(failed=True, mpi=["node4"], said=said) == [("node4", "mpi")]


def test_a_node_with_the_address_of_another_is_named_and_not_the_other(search):
    """Slurm takes the one for the other, so that no step starts there."""
    both = {"addresses": ["10.0.0.2", "10.0.0.3"]}
    assert search(node2=both) == [("node2", "address")]
    assert search(node2=both, node3=None) == [("node2", "address")]
    assert search(node2=both, node3=None, refusing=["node3"]) == [("node2", "address")]


def test_nodes_that_are_one_machine_have_no_address_of_another(search):
    assert search(**{node: {"addresses": [f"10.0.0.{each}" for each in range(1, 5)]} for node in NODES}) == []


def test_the_network_is_tried_when_a_rank_stands_still(search):
    failed = {("node2", "node4"): "nothing moves for 8 s"}
    assert search(exchanged=exchanged(failed)) == []
    late = {"late": [{**STOPPED, "state": "S"}]}
    assert search(node2=late, exchanged=exchanged(failed)) == [("node2", "link")]
    assert search.steps.tries == 0


def test_a_program_that_no_other_node_can_run_names_nobody(search):
    not_run = "srun: error: node2: task 1: Exited with exit code 127\n"
    assert search(failed=True, said=not_run) == [("node2", "crashed")]
    assert search(failed=True, said=not_run, have=()) == []
    assert search(failed=True, said=not_run.replace("Exited with exit code 127", "Bus error"), have=()) == [
        ("node2", "crashed")
    ]
