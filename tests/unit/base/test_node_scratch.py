"""NodeScratch names nodes by their file calls, beside the results of fio."""

import pytest
from reframe.core.exceptions import SanityError
from reframe.utility.sanity import evaluate

from reframe_checks.parsers.node_times import FileCalls
from reframe_checks.storage.fio import CALLS, SCRATCH_PHASES, NodeScratch
from tests.stand_in import StandIn

NODES = ["n1", "n2", "n3", "n4"]
SOUND = {"fsyncs": 900, "fsync_ms": 1.0, "files": 5000, "file_ms": 0.01, "reads": 12000, "failed": {}}


class Scratch(StandIn):
    """The check without a job: fio is equally fast everywhere, ``odd`` are calls of nodes that differ."""

    def __init__(self, **odd):
        super().__init__(NodeScratch, hint="", provenance={"nodelist": NODES}, suspect_share=0.5)
        self.calls = {node: FileCalls(node=node, **{**SOUND, **odd.get(node, {})}) for node in NODES}

    def output_text(self, name):
        assert name == CALLS
        return name

    def parsed(self, *_, **__):
        return self.calls

    def figures_of(self, _):
        return dict.fromkeys(SCRATCH_PHASES, 100.0)

    def out_of_bounds(self, metric, value):
        return value > {"fsync_excess": 100, "file_excess": 2}[metric]

    def record_findings(self, findings):
        self.findings = findings
        self.suspects = [one.name for one in findings]


def named(**odd):
    check = Scratch(**odd)
    assert evaluate(check.read_nodes())
    return check.suspects, [check.excess_ms(metric) for metric in ("fsync_excess", "file_excess")]


def test_equal_nodes():
    assert named() == ([], [0, 0])


@pytest.mark.parametrize(
    ("odd", "excess"), [({"fsync_ms": 201.0}, [200, 0]), ({"file_ms": 10.01}, [0, pytest.approx(10)])]
)
def test_a_node_whose_calls_are_slow(odd, excess):
    assert named(n3=odd) == (["n3"], excess)


def test_calls_that_are_slow_on_half_of_the_nodes_name_nobody():
    suspects, (excess, _) = named(n1={"fsync_ms": 201.0}, n2={"fsync_ms": 201.0})
    assert (suspects, excess) == ([], 200)


def test_a_read_that_fails_names_its_node_with_the_count():
    check = Scratch(n4={"failed": {"read: Input/output error": 12}})
    with pytest.raises(SanityError, match=r"n4: file calls failed: read: Input/output error, 12 times \(of 12000"):
        evaluate(check.read_nodes())
    assert check.suspects == ["n4"]


@pytest.mark.parametrize(("full", "suspects"), [(["n3"], ["n3"]), (NODES, [])])
def test_a_failed_job_names_the_nodes_on_which_fio_failed_but_not_all(full, suspects):
    def figures_of(node):
        if node in full:
            raise SanityError("no space")
        return {}

    check = Scratch()
    check.figures_of = figures_of
    assert check.why_failed().startswith(f"{full[0]}: no space")
    assert check.suspects == suspects
