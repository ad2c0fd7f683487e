"""Comparison of two runs: same metrics, changes, and the certainty of changes."""

import csv
import io
import json
import math
import os

import numpy as np
import pytest

from kappa.app.command.main import main
from reports.compare.compare import compare, headline, in_words, interval, lines_of, since_last
from reports.compare.figures import (
    NO_PAST,
    RUNS,
    NodesValue,
    Noise,
    Past,
    RelativeChange,
    change,
    figures_of,
    noise_of,
    past_of,
)
from reports.show.comparison import reach, render
from reports.show.run_page import render as render_run
from reports.verdict.state import State
from reports.verdict.stored import judge_report
from tests.unit.reports.samples import latency, report

HOSTILE = "<img src=x onerror=alert(1)>"


def samples(*values, nodes=()):
    return [NodesValue((node,), value) for node, value in zip(nodes or ["node1"] * len(values), values, strict=True)]


def save(folder, *cases, time="20261122T020000+0000", **info):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run-report.json"
    path.write_text(json.dumps(report(list(cases), time_start=time, **info)), encoding="utf-8")
    return path


@pytest.fixture
def nights(tmp_path):
    """Writes nights with one latency each; returns the last one's folder."""

    def write(*values, **info):
        for number, value in enumerate(values):
            folder = tmp_path / f"runs/2026110{number + 1}T020000-nightly"
            save(folder, latency(value=value), time=f"2026110{number + 1}T020000+0000", **info)
        return folder

    return write


def test_one_value_against_one_has_no_interval():
    assert change(samples(10), samples(9)) == RelativeChange(pytest.approx(-0.1))
    assert change(samples(10), samples(9), Noise(0.01, 5)).interval[1] < 0
    assert change(samples(0), samples(9)) is None
    assert change([], samples(9)) is None


def test_the_interval_holds_the_true_change_as_often_as_it_says():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        before, after = (samples(*(level * np.exp(rng.normal(0, 0.05, 4)))) for level in (100, 80))
        step = change(before, after)
        low, high = step.interval
        held += low <= -0.2 <= high
    assert 0.92 <= held / 400 <= 0.98


def test_nodes_are_held_against_themselves():
    nodes = [f"node{number}" for number in range(4)]
    before = samples(100, 200, 400, 800, nodes=nodes)
    after = samples(90, 181, 359, 722, nodes=nodes)
    step = change(before, after)
    low, high = step.interval
    assert -0.11 < low < high < -0.09, "although the nodes differ eightfold"
    assert change(before, samples(90, 181, 359, 722)).interval[1] > 0.5


def test_values_that_were_all_alike_are_no_certainty():
    assert noise_of([5, 5]) is None
    assert noise_of([0, 5, 5]) is None
    step = change(samples(5), samples(5.01), noise_of([5, 5, 5, 5]))
    low, high = step.interval
    assert low < 0 < high and not step.exceeds(0.05)


def test_what_is_worse_depends_on_the_metric(tmp_path):
    before = figures_of(save(tmp_path / "a", latency(value=10)))
    after = figures_of(save(tmp_path / "b", latency(value=20)))
    steady = [figures_of(save(tmp_path / f"c{n}", latency(value=10 + n / 100))) for n in range(4)]
    assert [row.word for row in compare(before, after, Past(tuple(steady))).rows] == ["worse"]
    assert [row.word for row in compare(after, before, Past(tuple(steady))).rows] == ["better"]
    assert [row.word for row in compare(before, steady[1], Past(tuple(steady))).rows] == [""]
    assert [row.word for row in compare(after, before, NO_PAST).rows] == ["not known"], "it is better"


@pytest.mark.parametrize(("value", "word"), [(0, ""), (3, "unclear")])
def test_a_value_after_zero_is_worse_or_noise_and_zero_after_zero_no_change(tmp_path, value, word):
    before, after = (figures_of(save(tmp_path / str(n), latency(value=one))) for n, one in enumerate((0, value)))
    found = compare(before, after, NO_PAST)
    assert [row.word for row in found.rows] == [word]
    assert ("1 worse or noise" in headline(found)) == (word == "unclear")


def test_a_large_change_that_cannot_be_told_from_noise_is_amber(tmp_path):
    before, small, large = (figures_of(save(tmp_path / str(value), latency(value=value))) for value in (10, 10.5, 13.7))
    found = compare(before, large, NO_PAST)
    assert ([row.word for row in found.rows], found.state) == (["unclear"], State.INCOMPLETE)
    assert 'class="banner incomplete"' in render(found) and "1 worse by 37 %" in render(found)
    assert [line.split(":")[0] for line in lines_of(found)] == ["worse, or noise"]
    little = compare(before, small, NO_PAST)
    assert ([row.word for row in little.rows], little.state) == (["not known"], State.INCOMPLETE), "nothing is proved"
    steady = tuple(figures_of(save(tmp_path / f"c{n}", latency(value=10 + n / 100))) for n in range(4))
    assert compare(before, steady[1], Past(steady)).state is State.PASS
    assert compare(before, large, Past(steady)).state is State.FAIL


def test_other_environments_and_partitions_are_the_same_metric(tmp_path):
    before = figures_of(save(tmp_path / "a", latency(environ="openmpi"), latency("gpu")))
    after = figures_of(save(tmp_path / "b", latency(environ="mpich"), latency(name="Other")))
    found = compare(before, after, NO_PAST)
    assert [(row.where, row.after.metric) for row in found.rows] == [("cpu + openmpi → mpich", "latency_8B")]
    assert [place.partition for place in found.gone] == ["gpu"]
    assert [place.name for place in found.added] == ["Other"]
    assert found.differing["environment"] == (("openmpi", "packaged"), ("mpich", "packaged"))


def test_what_could_be_either_is_neither(tmp_path):
    before = figures_of(save(tmp_path / "a", latency(environ="openmpi")))
    after = figures_of(save(tmp_path / "b", latency(environ="mpich"), latency(environ="intel")))
    assert compare(before, after, NO_PAST).rows == []


def test_what_varies_tenfold_has_no_figures():
    assert interval(RelativeChange(1, 1.6, 9)) == "varies more than tenfold"
    assert in_words(RelativeChange(-0.021, 0.01, 1e9)) == "−2.1 % (−4.0 … −0.2)"
    assert in_words(RelativeChange(0.0, 0.02, 9)) == "0 %"


def test_the_line_ends_at_half_and_twice():
    assert (reach(RelativeChange(1.0)).at, reach(RelativeChange(-0.5)).at, reach(RelativeChange(0.0)).at) == (
        100,
        0,
        50,
    )
    found = reach(RelativeChange(3.0, 2.0, 9))
    assert (found.start, found.width) == (0, 100)
    assert reach(None) is None


def test_the_past_is_that_of_the_same_mode(nights, tmp_path):
    last = nights(*(10.0 + number / 10 for number in range(9)))
    save(tmp_path / "runs/20261108T120000-smoke", latency(value=99), time="20261108T120000+0000", mode="smoke")
    save(tmp_path / "runs/20261201T020000-nightly", latency(value=98), time="20261201T020000+0000")
    (tmp_path / "runs/20261107T030000-nightly").mkdir()
    (tmp_path / "runs/20261107T030000-nightly/run-report.json").write_text("{")
    past = past_of(figures_of(last))
    found = [sample.value for run in past.runs for [sample] in run.samples.values()]
    assert found == [10.7, 10.6, 10.5, 10.4, 10.3, 10.2, 10.1, 10.0]
    assert len(found) == RUNS
    assert past_of(figures_of(save(tmp_path / "elsewhere/one", latency()))) == NO_PAST


def test_the_last_run_stands_beside_each_metric(nights):
    page = render_run(judge_report(last := nights(10.0, 10.1, 9.9, 12.0)), past_of(figures_of(last)))
    assert "Last run: 2026-11-03" in page
    assert '<td class="number last" data-title="Last run" data-key="0.2121' in page
    assert '+21 %<span class="screen"> (' in page
    assert page.count('class="spark"') == 1 and "4 runs, this one last: 10, 10.1, 9.9, 12" in page
    assert "Last run" not in render_run(judge_report(last))


def test_it_is_called_as_a_command(nights, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    last = nights(10.0, 10.1, 9.9, 10.0, 30.0)
    before = last.parent / "20261104T020000-nightly"
    page, table = tmp_path / "c.html", tmp_path / "c.csv"
    assert main(["compare", str(before), str(last), "--html", str(page), "--csv", str(table)]) == 0
    told = capsys.readouterr().out
    assert "✘ worse" in told
    assert "1 metric in both runs: 1 worse." in told
    text = page.read_text(encoding="utf-8")
    assert "✘ worse" in text and "metrics without a change" not in text
    (row,) = csv.DictReader(io.StringIO(table.read_text(encoding="utf-8")))
    assert (row["before"], row["after"], row["word"]) == ("10.0", "30.0", "worse")
    assert float(row["change"]) == pytest.approx(2)
    assert float(row["change_low"]) > 1


def test_what_did_not_change_is_folded(nights):
    last = nights(10.0, 10.1, 9.9, 10.0, 10.1, 10.0)
    same = figures_of(last)
    page = render(compare(same, same, past_of(same)))
    assert "No metric changed" in page
    assert "1 metric without a change" in page


def test_runs_with_nothing_in_common_are_refused(tmp_path, capsys):
    before = save(tmp_path / "a", latency(name="One"))
    assert main(["compare", str(before), str(save(tmp_path / "b", latency(name="Other")))]) == 2
    assert "have no metric in common" in capsys.readouterr().err
    assert main(["compare", str(before), os.devnull]) == 2


def test_a_hostile_report_only_shows(tmp_path):
    entry = latency(environ=HOSTILE, provenance={"mpi": HOSTILE}, job_nodelist=[HOSTILE])
    entry |= {"perfvalues": {f"embedded:cpu:{HOSTILE}": [1, 2, None, 0, HOSTILE, "pass"]}, "name": HOSTILE}
    run = figures_of(save(tmp_path, entry))
    page = render(compare(run, run, NO_PAST))
    assert HOSTILE not in page
    assert "&lt;img src=x" in page


def test_figures_without_a_number_are_left_out(tmp_path):
    run = figures_of(save(tmp_path, latency(value=None)))
    assert run.samples == {}
    assert math.isclose(figures_of(save(tmp_path, latency(value=3.5))).started, 1795312800)


def test_what_is_worse_than_in_the_last_run_is_said_in_a_line(nights):
    now = figures_of(nights(10.0, 10.1, 9.9, 10.0, 10.1, 20.0))
    [line] = lines_of(since_last(now, past_of(now)))
    assert line == "worse: OsuLatency %placement=two_nodes on cpu, latency_8B 10.1 → 20 us (+98 %)"


def test_nothing_is_said_of_what_varies_anyway_or_of_a_first_run(nights):
    now = figures_of(nights(10.0, 10.1, 9.9, 10.0, 10.1, 10.0))
    assert lines_of(since_last(now, past_of(now))) == []
    assert since_last(now, NO_PAST) is None
