"""Attempts that do not count: superseded, interrupted, or gone."""

import pytest

from reports.acceptance.campaign.operations import RECORD, begin_operation
from reports.acceptance.campaign.set_aside import set_aside, set_aside_operations
from tests.unit.reports.samples import latency


def fields(aside):
    return [(one.kind, one.repeat, one.number, one.doubtful) for one in aside]


def test_every_last_finished_attempt_counts(campaign):
    assert set_aside(campaign.measure(9, 9, 9).attempts()) == []
    assert set_aside_operations(campaign.folder) == []


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([9, 9], [("superseded", 1, 1, False)]),
        ([None, 9, None], [("interrupted", 1, 1, False), ("interrupted", 1, 3, False)]),
        (["abort", 9], [("interrupted", 1, 1, False)]),
        (["gone", "gone", 9], [("missing", 1, 1, True)]),
        ([None], [("interrupted", 1, 1, False)]),
    ],
)
def test_attempts_at_a_series(campaign, outcomes, expected):
    for number, outcome in enumerate(outcomes, start=1):
        if outcome != "gone":
            changes = {"result": "abort"} if outcome == "abort" else {"value": outcome}
            campaign.add(outcome and latency(**changes), 1, number)
    assert fields(set_aside(campaign.attempts())) == expected


def test_attempts_at_an_operation_also_without_any_file(campaign):
    folders = [begin_operation(campaign.folder, "M1", 1).folder for _ in range(4)]
    for number in (1, 3):
        (folders[number] / RECORD).write_text("{}")
    (folders[2] / "attempt.json").unlink()
    expected = [("interrupted", 1, 1, False), ("superseded", 1, 2, False), ("interrupted", 1, 3, False)]
    assert fields(set_aside_operations(campaign.folder)) == expected


def test_number_of_a_hostile_attempt_costs_no_time(campaign):
    campaign.add(latency(), 1, 10**9)
    assert fields(set_aside(campaign.attempts())) == [("missing", 1, 1, True)]
