import pytest

from reframe_checks.localise.bits import golden_bits, judge
from reframe_checks.parsers import core_programs

RIGHT, WRONG, OTHER = "a" * 16, "b" * 16, "c" * 16
ON_RECORD = {"dense": {"fused": [RIGHT]}}


def core(node, number, *digests, work="dense", basis="fused"):
    return core_programs.CoreBits(node, number, work, basis, tuple((digest, 3) for digest in digests or (RIGHT,)))


def cores(*bits):
    """Those of three nodes with two cores each, in whose place ``bits`` are put."""
    told = {(each.node, each.core): each for each in bits}
    return [told.get((node, number), core(node, number)) for node in ("n1", "n2", "n3") for number in (0, 1)]


def named(bits, golden):
    return [(finding.name, finding.evidence) for finding in judge(bits, 0, golden).findings]


@pytest.mark.parametrize("golden", [{}, ON_RECORD])
class TestWhateverIsOnRecord:
    def test_equal_cores_name_nobody(self, golden):
        judgement = judge(cores(), 0, golden)
        assert (judgement.findings, judgement.unplaced) == ((), ())
        assert judgement.golden == set(golden)

    def test_the_core_that_differs_is_named(self, golden):
        assert named(cores(core("n2", 1, WRONG)), golden) == [("n2", "core 1 in 3 of 3 rounds")]

    def test_a_core_that_differs_once(self, golden):
        assert named(cores(core("n2", 1, RIGHT, WRONG)), golden) == [("n2", "core 1 in 3 of 6 rounds")]

    def test_cores_of_a_node_that_are_wrong_alike(self, golden):
        found = named(cores(core("n3", 0, WRONG), core("n3", 1, WRONG)), golden)
        assert found == [("n3", "core 0 in 3 of 3 rounds, core 1 in 3 of 3 rounds")]

    def test_the_greatest_group_is_no_majority(self, golden):
        bits = [core("n1", 0, WRONG), core("n1", 1, OTHER), core("n2", 0, WRONG), core("n2", 1, "d" * 16)]
        judgement = judge(bits, 0, golden)
        assert judgement.findings == ()
        assert judgement.unplaced == ("dense: 4 cores (fused) disagree, and the right value is unknown",)


TIE = [core("n1", 0, WRONG), core("n2", 0, RIGHT)]


def test_a_tie_fails_and_names_nobody():
    assert judge(TIE, 0, {}).findings == ()
    assert judge(TIE, 0, {}).unplaced


def test_a_value_on_record_settles_a_tie():
    assert named(TIE, ON_RECORD) == [("n1", "core 0 in 3 of 3 rounds")]
    assert judge(TIE, 0, ON_RECORD).unplaced == ()


def test_a_value_on_record_settles_it_against_most():
    bits = [core("n1", 0, WRONG), core("n1", 1, WRONG), core("n2", 0, RIGHT)]
    assert [name for name, _ in named(bits, ON_RECORD)] == ["n1"]


def test_all_alike_but_not_as_on_record_fails_and_names_nobody():
    bits = [core("n1", 0, WRONG), core("n2", 0, WRONG)]
    judgement = judge(bits, 0, ON_RECORD)
    assert judgement.findings == ()
    assert "recorded value is aaaa" in judgement.unplaced[0]


def test_instruction_sets_are_compared_apart():
    bits = [*cores(), core("n4", 0, OTHER, basis="not fused"), core("n4", 1, OTHER, basis="not fused")]
    assert judge(bits, 0, {}).findings == ()
    assert judge(bits, 0, {}).unplaced == ()


def test_one_core_with_nothing_to_compare_is_no_pass():
    assert judge([core("n1", 0)], 0, {}).unplaced
    assert not judge([core("n1", 0)], 0, ON_RECORD).unplaced


def test_what_was_recorded_is_as_on_record(recorded):
    for name, read, works in (
        ("four_nodes", core_programs.BitSweepResult.read, {"dense", "map", "memory"}),
        ("emt_four_nodes", core_programs.EmtAlikeResult.read, {"emt"}),
    ):
        sweep = read(recorded(f"bit_sweep/{name}.json"))
        judgement = judge(sweep.bits, sweep.variant, golden_bits())
        assert (judgement.findings, judgement.unplaced, judgement.golden) == ((), (), works)
