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
def test_a_failed_job_names_the_nodes_on_which_fio_failed_but_not_all(tmp_path, full, suspects):
    def figures_of(node):
        if node in full:
            raise SanityError("no space")
        return {}

    check = Scratch()
    check.figures_of, check.stagedir = figures_of, tmp_path
    assert check.why_failed().startswith(f"{full[0]}: no space")
    assert check.suspects == suspects


@pytest.mark.parametrize(("without", "suspects"), [(["n3"], ["n3"]), (NODES, [])])
def test_node_without_a_folder_is_named_with_the_reason(tmp_path, without, suspects):
    reasons = {node: f"mkdir: cannot create directory '/scratch/kappa.7.{node}': File exists" for node in without}
    (tmp_path / "node_folder.txt").write_text("".join(f"{node}: {why}\n" for node, why in reasons.items()))
    check = Scratch()
    check.stagedir, check.output_text = tmp_path, lambda name: (tmp_path / name).read_text()
    assert check.why_failed() == "; ".join(f"{node}: {why}" for node, why in reasons.items())
    assert check.suspects == suspects


def test_name_that_is_no_node_of_the_job_is_not_named(tmp_path):
    (tmp_path / "node_folder.txt").write_text("n9: mkdir failed\nno node\n")
    check = Scratch()
    check.stagedir, check.output_text = tmp_path, lambda name: (tmp_path / name).read_text()
    assert check.not_made() == {}
