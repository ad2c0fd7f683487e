import pytest

from tests.fault_campaign.kinds import KINDS, SEEN_BY, can_see, false_diagnoses
from tests.fault_campaign.rounds import CHECKS
from tests.unit.tools.fault_campaign.samples import outcome


def test_every_kind_can_be_seen_and_every_check_sees_some():
    assert set(SEEN_BY) == set(KINDS)
    assert {check for checks in SEEN_BY.values() for check in checks} == set(CHECKS)
    assert all(SEEN_BY.values())


def test_damaged_output_is_seen_by_the_check_that_reads_it():
    fio, scontrol = (
        outcome(1, "damaged output", "node1", detail=f"{program} | tac") for program in ("fio", "scontrol")
    )
    assert [can_see("NodeScratch", each) for each in (fio, scontrol)] == [True, False]
    assert [can_see("SoftwareInventory", each) for each in (fio, scontrol)] == [True, True]


def test_no_check_can_see_a_healthy_round():
    assert not any(can_see(check, outcome(0)) for check in CHECKS)


@pytest.mark.parametrize(
    ("check", "diagnosis", "false"),
    [
        ("PairSweep", "system-wide", True),
        ("PartitionState", "system-wide", True),
        ("PairSweep", "transient", True),
        # Another program's doing: the check does not see this fault.
        ("NodeScratch", "transient", False),
        ("PairSweep", "node-bound", False),
        ("PairSweep", "confirmed, no other nodes to compare with", False),
    ],
)
def test_a_lasting_fault_of_one_node(check, diagnosis, false):
    found = outcome(1, "slow link", "node2", diagnoses=((check, diagnosis),))
    assert false_diagnoses(found) == ((f"{check}: {diagnosis}",) if false else ())
