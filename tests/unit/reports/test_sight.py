"""The verdict shows what its bounds see, the weakest first."""

import json

from reports.show.run_page import render
from reports.show.terminal import show
from reports.verdict.sight import WEAKEST, sight_of
from reports.verdict.verdict_json import to_json
from tests.unit.reports.samples import complete, judged, latency


def with_sight(in_a_run, name="OsuLatency"):
    source = {"source": "learned", "date": "2026-11-21", "samples": 60, "method": "median"}
    seen = {"finds_in_a_run": in_a_run, "finds_in_a_week": in_a_run / 3}
    return latency(name=f"{name} %n={in_a_run}", reference_sources={"latency_8B": {**source, **seen}})


def verdict(tmp_path):
    return judged(complete(*(with_sight(number / 100) for number in range(1, 10))), tmp_path)


def test_the_weakest_are_those_that_find_least(tmp_path):
    sight = sight_of(verdict(tmp_path).cases)
    assert [one.in_a_run for one in sight.weakest] == [0.09, 0.08, 0.07, 0.06, 0.05]
    assert len(sight.weakest) == WEAKEST
    assert (len(sight.stated), sight.silent) == (9, 2)


def test_terminal_page_and_json_show_them(tmp_path, capsys):
    found = verdict(tmp_path)
    show(found)
    said = capsys.readouterr().out
    assert "Weakest bounds" in said and "9.0% slower in a run, 3.0% in a week of nights" in said
    assert "2 bounds of other origin do not say" in " ".join(said.split())
    assert "Weakest bounds" in (page := render(found)) and "9.0 %" in page
    assert json.loads(to_json(found))["weakest_bounds"][0]["finds_in_a_run"] == 0.09


def test_nothing_is_shown_where_no_bound_says_it(tmp_path, capsys):
    found = judged(complete(), tmp_path)
    show(found)
    assert "Weakest bounds" not in capsys.readouterr().out + render(found)
