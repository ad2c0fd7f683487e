"""How much bounds prove: headroom as a ratio, loose and relative bounds, and the slow-downs that they find."""

import json

import pytest

from reports.show.result_rows import BOUND_AT, bar_of
from reports.show.run_page import render
from reports.show.terminal import show
from reports.verdict.bounds import WEAKEST, LooseBound, headroom, sensitivity_of, tightness_of
from reports.verdict.summary import to_json
from tests.unit.reports.samples import complete, judged, latency, report, with_metric


def metric_of(tmp_path, *figure):
    (metric,) = judged(with_metric(*figure), tmp_path).cases[1].metrics
    return metric


@pytest.mark.parametrize(
    ("figure", "ratio"),
    [
        ((200, 100, 0, None), 2),  # at least 100
        ((50, 100, 0, None), 0.5),
        ((50, 100, None, 0), 2),  # at most 100
        ((400, 100, None, 0), 0.25),
        ((100, 100, -0.5, 0.25), 1.25),  # 50 to 125: the nearer one
        ((-50, -100, -0.2, None), 2.4),  # at least -120: half of it is better
        ((100, 100, 0, 0), None),  # exactly
        ((5, 0, None, 0), None),
        ((-5, 0, None, 10), None),
        ((5, 500, None, None), None),
    ],
)
def test_how_many_times_better_than_the_bound(figure, ratio, tmp_path):
    assert headroom(metric_of(tmp_path, *figure)) == (None if ratio is None else pytest.approx(ratio))


def test_the_bar_is_logarithmic_and_ends(tmp_path):
    ten, hundred, million = (bar_of(metric_of(tmp_path, 500 / ratio)) for ratio in (10, 100, 1e6))
    assert (ten.start, ten.width, ten.text) == (BOUND_AT, 40, "× 10")
    assert (hundred.start, hundred.width) == (million.start, million.width) == (BOUND_AT, 80)
    beyond = bar_of(metric_of(tmp_path, 900))
    assert beyond.start + beyond.width == BOUND_AT
    assert beyond.text == "× 0.56"


def test_just_out_of_bounds_is_not_one(tmp_path):
    assert bar_of(metric_of(tmp_path, 500.4)).text == "× 0.9992"
    assert bar_of(metric_of(tmp_path, 500)).text == "× 1"


def test_what_has_none_has_no_bar(tmp_path):
    assert bar_of(None).width is None
    assert bar_of(metric_of(tmp_path, 0, 1, 0, None)).width is None


def found(tmp_path, *values):
    return tightness_of(judged(report([latency(value=value) for value in values]), tmp_path).cases)


def test_the_nearest_value_counts(tmp_path):
    assert found(tmp_path, 5.0, 10.0).loose == (LooseBound("OsuLatency", "latency_8B", 50.0),)
    assert found(tmp_path, 5.0, 250.0).loose == ()


def test_a_relative_bound_is_counted_apart(tmp_path):
    far = latency(value=5.0, relative=["latency_8B"], job_nodelist=["n1", "n2", "n3"])
    tightness = tightness_of(judged(report([far]), tmp_path).cases)
    assert (tightness.bounds, tightness.loose, tightness.relative, tightness.relative_median) == (0, (), 1, 100.0)


def test_the_median_is_of_all_bounds(tmp_path):
    tightness = found(tmp_path, 250.0)
    assert (tightness.bounds, tightness.median) == (1, 2.0)
    assert (found(tmp_path).bounds, found(tmp_path).median) == (0, None)


def with_sight(in_a_run, name="OsuLatency"):
    source = {"source": "learned", "date": "2026-11-21", "samples": 60, "method": "median"}
    seen = {"finds_in_a_run": in_a_run, "finds_in_a_week": in_a_run / 3}
    return latency(name=f"{name} %n={in_a_run}", reference_sources={"latency_8B": {**source, **seen}})


def verdict(tmp_path):
    return judged(complete(*(with_sight(number / 100) for number in range(1, 10))), tmp_path)


def test_the_weakest_are_those_that_find_least(tmp_path):
    sight = sensitivity_of(verdict(tmp_path).cases)
    assert [one.in_a_run for one in sight.weakest] == [0.09, 0.08, 0.07, 0.06, 0.05]
    assert len(sight.weakest) == WEAKEST
    assert (len(sight.stated), sight.silent) == (9, 2)


def test_terminal_page_and_json_show_them(tmp_path, capsys):
    found = verdict(tmp_path)
    show(found)
    said = capsys.readouterr().out
    assert "Weakest bounds" in said and "9.0% slower in one run, 3.0% in a week of nights" in said
    assert "unknown for 2 other bounds" in " ".join(said.split())
    assert "Weakest bounds" in (page := render(found)) and "9.0 %" in page
    assert json.loads(to_json(found))["weakest_bounds"][0]["finds_in_a_run"] == 0.09


def test_nothing_is_shown_where_no_bound_says_it(tmp_path, capsys):
    found = judged(complete(), tmp_path)
    show(found)
    assert "Weakest bounds" not in capsys.readouterr().out + render(found)
