"""The timeline draws exactly the recorded times."""

import math

import pytest

from reports.show.run_page import render
from reports.show.sparklines import HEIGHT, WIDTH, sparkline
from reports.show.timeline import MOST_ROWS, NAMED_ROWS, OPEN_ROWS, timeline
from reports.verdict.summary import rerun_command
from tests.unit.reports.samples import judged, latency, report

START = 1_795_640_000.0


def job(submitted=0.0, ended=60.0, job_s=20.0, seen=61.0, **changes):
    return latency(
        job_submit_time=START + submitted, job_completion_time_unix=START + ended, job_s=job_s,
        time_run=seen - submitted, **changes,
    )  # fmt: skip


def drawn(tmp_path, *cases):
    return timeline(judged(report(list(cases)), tmp_path).cases)


def phases(row):
    return [phase for phase, _ in row.bars]


def test_a_job_waits_runs_and_is_seen(tmp_path):
    found = drawn(tmp_path, job(name="A"), job(name="B", ended=90.0, seen=90.0), job(name="C", job_s=None))
    assert [phases(row) for row in found.rows] == [["either", "held"], ["queued", "ran", "held"], ["queued", "ran"]]
    assert "longest time in the queue 1 min 10 s" in found.summary
    assert [phase for phase, _ in found.phases] == ["queued", "either", "ran", "held"]
    assert "queued 40 s, running 20 s" in found.rows[1].title


def test_what_ran_here_waited_for_nothing(tmp_path):
    found = drawn(tmp_path, *(job(name=name, local=True, job_s=None) for name in "ABC"))
    assert [phases(row) for row in found.rows] == [["ran"]] * 3


@pytest.mark.parametrize(
    "times",
    [
        {"job_submit_time": None},
        {"job_completion_time_unix": None},
        {"job_completion_time_unix": START - 1},
        {"job_completion_time_unix": math.inf},
        {"job_submit_time": math.nan},
    ],
)
def test_a_job_without_its_times_is_not_drawn(times, tmp_path):
    known = [job(name=name) for name in "ABC"]
    assert len(drawn(tmp_path, *known, {**job(name="D"), **times}).rows) == 3
    assert drawn(tmp_path, *known[:2], {**job(name="D"), **times}) is None


def test_many_cases_stay_small(tmp_path):
    def page(number):
        return drawn(tmp_path, *(job(name=f"Check{n}", submitted=float(n), ended=n + 60.0) for n in range(number)))

    assert page(OPEN_ROWS).opened and page(OPEN_ROWS).named
    assert not page(NAMED_ROWS).opened and page(NAMED_ROWS).named
    assert not page(MOST_ROWS).named and page(MOST_ROWS).height <= 1000
    (row,) = page(10 * MOST_ROWS).rows
    assert "2000 cases" in row.name and sum(len(path) for _, path in row.bars) < 200, "bars that meet are one"


def test_the_page_has_it_folded_or_not_at_all(tmp_path):
    text = render(judged(report([job(name=f"Check{n}") for n in range(OPEN_ROWS + 1)]), tmp_path))
    assert '<details class="timeline">' in text and text.count('<path class="ran"') == OPEN_ROWS + 1
    assert 'id="timeline"' not in render(judged(report([latency()]), tmp_path))


def test_a_line_needs_three_runs_and_noise_is_flat():
    assert sparkline([1.0, 2.0]) is None
    found = sparkline([10.0, 10.1, 9.9, 10.0])
    heights = [float(point.split()[1]) for point in found.path[1:].split("L")]
    assert max(heights) - min(heights) < HEIGHT / 4
    assert found.end[0] <= WIDTH and all(0 <= height <= HEIGHT for height in heights)
    assert sparkline([0.0, 0.0, 0.0]).end[1] == HEIGHT / 2
    assert sparkline([1.0, 2.0, 300.0]).end[1] == 2


def test_the_command_runs_what_failed_again(tmp_path):
    bad = [latency(value=900, name=name) for name in ("Odd+One %a=1", "Plain", "Build ~embedded:cpu")]
    assert rerun_command(judged(report([*bad, latency(name="Good")]), tmp_path)) == (
        "kappa validate embedded nightly -n '^(Odd\\+One|Plain)(%|$)'"
    )
    assert rerun_command(judged(report([latency()]), tmp_path)) == ""
    assert rerun_command(judged(report([*bad]), tmp_path, site=None)) == ""
