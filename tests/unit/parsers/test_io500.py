"""Results of IO500, and their validity under its rules."""

import pytest

from reframe_checks.parsers import io500
from reframe_checks.parsers.text import ParseError


def test_a_published_valid_result(recorded):
    result = io500.parse_summary(recorded("io500/published_valid.txt"))
    assert (result.bandwidth_gib_s, result.rate_k_s, result.total) == (1.868072, 22.952705, 6.548076)
    assert result.phases["find"] == io500.Phase(255.641154, 46.224)
    assert not result.invalid
    assert not result.broken_rules()


@pytest.mark.parametrize(
    ("name", "first", "number"),
    [
        ("published_invalid", "ior-easy-write 35.0 s of 300 s", 3),
        # Valid by the rules of the student cluster competition, whose stonewall is 30 s.
        ("published_student", "ior-easy-write 41.8 s of 300 s", 4),
        # Published without the mark [INVALID], which io500 writes for such times.
        ("published_mark_removed", "mdtest-easy-write 106.8 s of 300 s", 2),
    ],
)
def test_a_published_result_with_a_short_phase_is_not_valid(recorded, name, first, number):
    broken = io500.parse_summary(recorded(f"io500/{name}.txt")).broken_rules()
    assert (broken[0], len(broken)) == (first, number)


def test_what_io500_calls_invalid_is_not_valid_whatever_its_phases_took(recorded):
    text = recorded("io500/published_valid.txt").replace("TOTAL 6.548076", "TOTAL 6.548076 [INVALID]")
    assert io500.parse_summary(text).broken_rules() == ["io500 says so"]


def test_both_files_of_a_run_tell_of_the_same(recorded):
    result = io500.parse(recorded("io500/short.txt"))
    summary = io500.parse_summary(recorded("io500/short_summary.txt"))
    assert io500.same_run(result, summary)
    assert not io500.same_run(result, io500.parse_summary(recorded("io500/published_valid.txt")))
    assert (result.procs, result.version, result.invalid) == (4, "io500-sc25", True)


@pytest.mark.parametrize(("before", "after"), [("io500-sc25", "io500-sc26"), (" [INVALID]", "")])
def test_the_checksum_holds_version_and_validity(recorded, before, after):
    with pytest.raises(ParseError, match="checksum"):
        io500.parse(recorded("io500/short.txt").replace(before, after))


def test_a_marked_phase_makes_the_run_invalid(recorded):
    text = recorded("io500/published_invalid.txt").replace("17.690911 [INVALID]", "17.690911")
    with pytest.raises(ParseError, match="behind the total"):
        io500.parse_summary(text)
