"""Planned cost of a night at each example site: by the checks' own bounds, since no run of these is stored."""

import json

import pytest

from kappa.app.conduct.planning import offered_of
from kappa.core.record.load import load_session
from reports.plan.plan import plan
from tests.sites.dry_run import EXAMPLES, dry_run

MOST_NODE_HOURS = 50
MOST_BYTES = 2.1 * 2**40
# Those that write where they measure; all of them are bounded by time, by requests or by a class.
WRITING = {
    "BtIo", "EmtIo", "EmtIoEachNode", "EmtIoNode", "Fio", "Io500Short", "IorEasy", "IorHard", "IorNode", "Iozone",
    "Mdtest", "NodeScratch", "SharedSemantics",
}  # fmt: skip


@pytest.fixture(scope="module", params=EXAMPLES)
def dry_night(request, tmp_path_factory):
    return dry_run(request.param, tmp_path_factory.mktemp(request.param), "nightly")


@pytest.fixture
def night(dry_night):
    cases = [case for run in load_session(dry_night.report).runs for case in run]
    entries = [entry for run in json.loads(dry_night.report.read_text("utf-8"))["runs"] for entry in run["testcases"]]
    return plan(offered_of(zip(cases, entries, strict=True)), {})


def test_a_night_is_bounded(night):
    assert len(night.cases) > 100
    assert night.node_hours <= MOST_NODE_HOURS
    assert night.most_bytes <= MOST_BYTES


def test_every_case_says_what_it_takes_and_storage_what_it_writes(night):
    assert not [one.case.series for one in night.cases if one.case.nodes and one.seconds <= 0]
    # Files of an mdtest with empty files hold nothing.
    writing = {check for check, of_check in night.by_check.items() if of_check.most_bytes}
    assert writing == {check for check in night.by_check if check in WRITING}
    storage = {one.case.check for one in night.cases if one.case.family.startswith("storage/")}
    assert storage <= WRITING


def test_storage_ends_at_a_stonewall_or_a_number(dry_night):
    assert {"IorNode", "IorEasy", "IorHard", "Mdtest"} <= {script.check for script in dry_night.scripts}
    for script in dry_night.scripts:
        if script.check.startswith("Ior"):
            assert [line for line in script.srun if "-D 10 -O stoneWallingWearOut=1" in line], script.path
        elif script.check == "Mdtest":
            assert [line for line in script.srun if "mdtest -F -W 10 " in line], script.path
        elif script.check in ("Fio", "NodeScratch"):
            assert "--runtime=10" in script.text, script.path
            assert "--io_size=" in script.text, script.path
            assert "--time_based" not in script.text, script.path
