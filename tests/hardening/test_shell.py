"""Texts of a report never become more than one plain word of a command."""

import pytest

from kappa.core.record.model import SAME_NODES
from reports.verdict.confirm import repetitions
from tests.unit.reports.samples import complete, judged, latency


def slow(**changes):
    return complete(latency(value=900, name="OsuLatency other", hashcode="abc123", **changes))


def test_plain_words_are_measured_again(tmp_path):
    assert repetitions(judged(slow(), tmp_path).cases, SAME_NODES)


@pytest.mark.parametrize("hostile", ["a b", "a\tb", "x\ny", "*", "$(id)", "-exclude", "a;b", "a'b"])
@pytest.mark.parametrize("field", ["hashcode", "environ", "job_nodelist"])
def test_anything_else_is_not(tmp_path, field, hostile):
    value = [hostile] if field == "job_nodelist" else hostile
    entry = latency(value=900, name="OsuLatency other", **{"hashcode": "abc123", field: value})
    assert not repetitions(judged(complete(entry), tmp_path).cases, SAME_NODES)
