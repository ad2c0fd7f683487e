"""What a selection leaves out is one reason, and what should have run is each one."""

import pytest

from reports.verdict.gaps import Gap
from reports.verdict.selection import in_one, selecting

ABSENT = [Gap("expected", "run it", f"family {number}", absent=True) for number in range(33)]
NOT_RUN = Gap("expected", "run it", "another", "none of its 2 cases ran")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("-n NodeLinks -r", ["-n NodeLinks"]), ("-nNodeLinks --tag=smoke", ["-nNodeLinks", "--tag=smoke"]),
        ("-r --mode=smoke --system=here", []), ("--system here:cpu", ["--system here:cpu"]),
        ("-S a=-n -J nodelist=n1", []), ("--cpu-only -r", ["--cpu-only"]), ("-n 'un", []),
    ],
)  # fmt: skip
def test_what_selects(options, found):
    assert selecting(f"reframe -C settings.py -R {options}") == found


def test_one_reason_for_what_was_not_selected():
    kept, one = in_one([*ABSENT, NOT_RUN], "reframe -r -n NodeLinks", "smoke")
    assert kept == NOT_RUN
    assert one.what == "only a part of mode smoke was selected"
    assert one.place == "-n NodeLinks leaves out 33 of what it expects"


def test_without_a_selection_each_is_said():
    assert in_one([*ABSENT, NOT_RUN], "reframe -r --mode=smoke", "smoke") == [*ABSENT, NOT_RUN]
