"""Changes since last night, first steps to take, and the message about both."""

import dataclasses
import math

import numpy as np
import pytest

from reports.history.dataset import MetricSeries
from reports.history.findings import FindingKind, SeriesFinding
from reports.history.judgement import JudgedSeries
from reports.nightly.archive import Archive, node_coverage
from reports.nightly.message import changes_between, escape, first_step, message
from reports.verdict.state import State
from tests.unit.nightly.samples import DAY_S, START, failed_night, failure, night


def archive(*nights):
    return Archive(tuple(nights), (), ())


def series(values, **changes):
    """One value a night."""
    known = {
        "check_class": "NodeLinks", "case": "NodeLinks", "metric": "slowest_node_bandwidth", "partition": "scratch",
        "environ": "packaged", "nodes": "node1,node2", "unit": "MB/s", "lower": 100.0, "upper": math.inf,
        "family": "network/node-links", "informational": False,
    }  # fmt: skip
    times = START + DAY_S * np.arange(len(values)) + 60
    rows = tuple(f"session-{number}:0" for number in range(len(values)))
    return MetricSeries(**{**known, **changes}, values=np.array(values, float), times=times, rows=rows)


def stepped(at, nights=12, worse=True):
    values = [1000.0] * at + [500.0 if worse else 2000.0] * (nights - at)
    finding = SeriesFinding(FindingKind.STEP, values[0], values[-1], -9.0, at, (at,))
    return JudgedSeries(series(values), finding, worse, ("kernel: 6.1 → 6.2",))


def test_nothing_changed():
    assert changes_between(night(0), night(1), []).nothing


def test_a_new_failure_its_suspect_and_the_verdict():
    change = changes_between(night(0), failed_night(1), [])
    assert [problem.case for problem in change.failing] == [failure().case]
    assert change.suspects == ("node2",)
    assert "PASS → ✘ FAIL" in change.verdict


def test_what_still_fails_is_no_change():
    assert changes_between(failed_night(0), failed_night(1), []).nothing


def test_what_began_earlier_and_is_first_found_tonight_is_new():
    """Small changes that add up are found some nights after they began."""
    found = stepped(6)
    assert changes_between(night(10), night(11), [found]).nothing
    assert changes_between(night(10), night(11), [dataclasses.replace(found, known=False)]).worse == (
        dataclasses.replace(found, known=False),
    )


def test_mended():
    change = changes_between(failed_night(0), night(1), [])
    assert [problem.case for problem in change.mended] == [failure().case]
    assert change.cleared == ("node2",)


STANDING = {"state": State.INCOMPLETE, "gaps": ("no reference: OsuBarrier",)}


def test_a_standing_gap_hides_nothing_that_was_mended():
    change = changes_between(failed_night(0, **STANDING), night(1, **STANDING, passed=(failure().case,)), [])
    assert [problem.case for problem in change.mended] == [failure().case]
    assert change.cleared == ("node2",)


def test_a_suspect_is_cleared_when_all_that_spoke_against_it_passed():
    against = (f"{failure().case}: slow", "Stream on cpu+gcc, node2: slow")
    before = failed_night(0, suspects={"node2": against})
    assert changes_between(before, night(1, passed=(failure().case, "Stream on cpu+gcc")), []).cleared == ()
    assert changes_between(before, night(1, passed=(failure().case, "Stream on cpu+gcc, node2")), []).cleared == (
        "node2",
    )


def test_what_is_not_recorded_to_have_passed_is_not_mended():
    change = changes_between(failed_night(0), night(1, passed=("PartitionState on cpu+builtin",)), [])
    assert change.mended == ()
    assert change.cleared == ()


def test_what_did_not_run_is_not_mended():
    change = changes_between(failed_night(0), night(1, state=State.INCOMPLETE, gaps=("the night left no report",)), [])
    assert change.mended == ()
    assert change.cleared == ()


@pytest.mark.parametrize(("at", "worse", "otherwise"), [(11, 1, 0), (5, 0, 0)], ids=["tonight", "a week ago"])
def test_only_series_that_changed_since_last_night(at, worse, otherwise):
    change = changes_between(night(10), night(11), [stepped(at)])
    assert (len(change.worse), len(change.otherwise)) == (worse, otherwise)


def test_first_comes_the_node_with_most_against_it():
    both = failed_night(1, suspects={"node1": ("one",), "node2": ("one", "two")})
    assert first_step(both, []) == "Look at node2: 2 findings against it. Hint: look at the link."


@pytest.mark.parametrize(
    ("now", "findings", "expected"),
    [
        (failed_night(1, suspects={}), [], "Look at NodeLinks"),
        (night(1, state=State.INCOMPLETE, gaps=("no reference: x",)), [], "Find out why the night is incomplete"),
        (night(1), [stepped(5)], "NodeLinks slowest_node_bandwidth on node[1-2], step, worse since"),
        (night(1), [], "Nothing to do."),
    ],
)
def test_what_comes_first_otherwise(now, findings, expected):
    assert expected in first_step(now, findings)


def test_message_of_a_fault_names_the_node_and_what_to_do():
    text = message("embedded", archive(night(0), failed_night(1)), [])
    assert text.startswith("# embedded, night of 2026-11-16: ✘ FAIL\n")
    assert "**First:** Look at node2" in text
    assert "- new suspect: **node2**" in text
    assert "    scontrol update nodename=node2" in text
    assert len(text.splitlines()) < 30


def test_a_lost_night_is_named_and_not_compared_with():
    lost = night(1, ended=None, state=State.INCOMPLETE, gaps=("the night left no report",))
    text = message("embedded", archive(night(0), lost, night(2)), [])
    assert "## Changed since the night of 2026-11-15\n\n- lost night: " in text
    assert "2026-11-16 in night-00001" in text
    assert "verdict:" not in text


def test_message_stays_short():
    problems = tuple(failure(f"Case{number}") for number in range(500))
    text = message("embedded", archive(night(0), failed_night(1, problems=problems)), [stepped(11)] * 300)
    assert len(text.splitlines()) < 50
    assert "more" in text


def test_hostile_text_means_nothing_in_the_message():
    hostile = failure("[click](http://evil.example) <img src=x> `rm` \n# heading")
    text = message("embedded", archive(night(0), failed_night(1, problems=(hostile,))), [])
    assert "<img" not in text.replace("\\<img", "")
    assert "](" not in text.replace("\\](", "")
    assert "\n# heading" not in text


def test_escaping_keeps_words():
    assert escape("bandwidth 8 MB/s (-3 %)") == "bandwidth 8 MB/s (-3 %)"


def test_coverage_counts_nights_and_names_what_is_overdue():
    nights = [night(number, covered=(f"node{number % 3 + 1}",)) for number in range(6)]
    found = {one.node: one for one in node_coverage(archive(*nights))}
    assert [found[node].last for node in ("node1", "node2", "node3")] == [one.day for one in nights[3:]]
    assert not found["node1"].overdue
    assert (found["node4"].last, found["node4"].overdue) == (None, True)


def test_a_node_is_not_overdue_before_its_time_has_passed():
    assert not any(one.overdue for one in node_coverage(archive(night(0), night(1))))
    assert not any(one.overdue for one in node_coverage(archive(*(night(n, nights=0) for n in range(9)))))
