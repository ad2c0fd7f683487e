"""The cores that a layout gives to each rank, and errors of the places of ranks."""

import json
import pathlib
from itertools import chain

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.base.scaled import cores_of_ranks, cpus_in, ranks_of_node
from reframe_checks.compute.affinity import LaidOut, far_memory, misplaced
from reframe_checks.parsers import core_programs
from tests.stand_in import StandIn

DATA = pathlib.Path(__file__).parents[2] / "data/affinity"
EIGHT = [1 << core for core in range(8)]
TWO_DOMAINS = [0x0F, 0xF0]


def numbers(ranks):
    return [[cpu for core in own for cpu in cpus_in(core)] for own in ranks]


@pytest.mark.parametrize(
    ("ranks", "scattered", "domains", "expected"),
    [
        (8, False, TWO_DOMAINS, [[core] for core in range(8)]),
        (8, True, TWO_DOMAINS, [[0], [4], [1], [5], [2], [6], [3], [7]]),
        (2, False, TWO_DOMAINS, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (2, True, TWO_DOMAINS, [[0, 4, 1, 5], [2, 6, 3, 7]]),
        (2, True, [0xFF], [[0, 4, 1, 5], [2, 6, 3, 7]]),
        (3, False, [], [[0, 1], [2, 3], [4, 5]]),
    ],
)
def test_layouts(ranks, scattered, domains, expected):
    assert numbers(cores_of_ranks(ranks, scattered, EIGHT, domains)) == expected


def test_the_threads_of_a_core_stay_together():
    assert numbers(cores_of_ranks(2, False, [0b0101, 0b1010], [])) == [[0, 2], [1, 3]]


@pytest.mark.parametrize(("hybrid", "cores", "ranks"), [(False, 40, 40), (True, 40, 2), (True, 2, 1)])
def test_ranks_of_a_node(hybrid, cores, ranks):
    assert ranks_of_node(hybrid, cores) == ranks


def changed(**of_first_rank):
    """Faults of the recorded four ranks with two threads each on cores 0 and 1, the first changed."""
    record = json.loads((DATA / "four_nodes.json").read_text())
    threads = of_first_rank.pop("threads", {})
    record["ranks"][0].update(of_first_rank)
    record["ranks"][0]["threads"][0].update(threads)
    ranks = core_programs.affinity(json.dumps(record) + "\n", expect_ranks=4)
    return [str(each) for each in misplaced(ranks, [[[0], [1]]])]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({}, None),
        ({"cpus": [0, 1, 2, 3]}, "rank 0 is not bound: it may run on 0-3, expected 0-1"),
        ({"cpus": [1]}, "rank 0 may run on 1, expected 0-1"),
        ({"threads": {"cpus": [0, 1]}}, "a thread of rank 0 may run, or ran, on 0-1, expected one core"),
        ({"threads": {"ran_on": [0, 1]}}, "a thread of rank 0 may run, or ran, on 0-1, expected one core"),
        ({"threads": {"cpus": [1], "ran_on": [1]}}, "2 threads of rank 0 share the core 1"),
    ],
)
def test_what_is_misplaced(change, text):
    assert changed(**change) == ([f"node1: {text}"] if text else [])


def test_two_ranks_in_one_place():
    record = json.loads((DATA / "eight_ranks.json").read_text())
    record["ranks"][5].update(record["ranks"][4], rank=5)
    ranks = core_programs.affinity(json.dumps(record) + "\n", expect_ranks=8)
    assert [str(each) for each in misplaced(ranks, [[[0]], [[1]]])] == [
        "node3: rank 5 may run on 0, expected 1",
        "node3: ranks 4 and 5 share CPUs",
    ]


def test_memory_in_the_wrong_domain():
    ranks = core_programs.affinity((DATA / "composed_two_domains.json").read_text(), expect_ranks=2)
    (far,) = far_memory(ranks)
    assert str(far) == "node1: thread 0 of rank 1 ran in NUMA domain 1, and 40 of 64 pages are in 0"
    assert sum(chain.from_iterable(thread.pages.values() for thread in ranks[1].threads)) == 128


@pytest.mark.parametrize(
    ("stderr", "said", "suspects"),
    [
        ("affinity: built without OpenMP: the compiler has none\n", "built without OpenMP", []),
        (
            "srun: error: Task launch for StepId=7.0 failed on node node2: Unable to satisfy cpu bind request\n",
            "node2: Slurm cannot bind ranks for the layout mpi_compact", ["node2"],
        ),
    ],
)  # fmt: skip
def test_a_step_that_could_not_run_says_why(stderr, said, suspects):
    check = StandIn(LaidOut, stderr="job.err", output_text=lambda name: stderr)
    with pytest.raises(SanityError, match=said):
        check.measured("mpi_compact")
    assert check.suspects == suspects
