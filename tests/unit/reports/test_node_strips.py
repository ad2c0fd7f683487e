"""Figures per node become strips: sorted, with bound, distribution and the names of what stands out."""

import itertools
import math

import pytest

from reports.show.node_strips import NAMES_LIMIT, OUTLIERS_NAMED, ROWS_LIMIT, node_strips, without_strip
from tests.unit.reports.samples import case, judged, latency, report

BY_FACTS = {"result": "fail", "fail_phase": "sanity"}


def strips_of(tmp_path, *cases):
    return node_strips(judged(report(list(cases)), tmp_path).cases)


def each_node(values, **changes):
    return latency(per_node={"m": {"unit": "us", "values": values}}, job_nodelist=[*values], **changes)


def test_nodes_side_by_side(tmp_path):
    strips = strips_of(tmp_path, *(case("PartitionHealth", where) for where in ("cpu", "gpu", "scratch")))
    (offsets,) = strips
    assert offsets.title == "PartitionHealth: clock_offset per node"
    assert offsets.header[2] == "clock_offset (us)"
    assert len(offsets.rows) == 8
    assert (offsets.named, offsets.with_figures) == (True, True)


def test_what_is_alike_or_of_two_nodes_is_told_in_words(tmp_path):
    cases = [*(case("PartitionHealth", where) for where in ("cpu", "gpu", "scratch")), each_node({"a1": 4, "a2": 5})]
    told = without_strip(judged(report(cases), tmp_path).cases)
    assert told == [
        ("PartitionHealth: memory per node (GiB)", "cpu each_node, gpu each_node, scratch each_node",
         "23.54 on node[1-4]"),
        ("OsuLatency: m per node (us)", "cpu two_nodes", "4 on a1; 5 on a2"),
    ]  # fmt: skip


def test_they_are_sorted_by_value(tmp_path):
    (strip,) = strips_of(tmp_path, each_node({"node1": 9, "node2": 1, "node3": 5}))
    marks = strip.stretches[0].marks
    assert [mark.name for mark in marks] == ["node2", "node3", "node1"]
    assert [mark.y for mark in marks] == sorted((mark.y for mark in marks), reverse=True)
    assert all(0 < mark.x < 1000 and 0 < mark.y < 1000 for mark in marks)


def test_suspects_are_marked(tmp_path):
    (strip,) = strips_of(tmp_path, case("NodeLinks", "scratch", suspects=["node2"], **BY_FACTS))
    assert [(row[1], row[3]) for row in strip.rows if row[3]] == [("node2", "suspect")]
    assert "▲ 1 suspect node." in strip.caption
    assert [mark.name for mark in strip.stretches[0].marks if mark.kind == "suspect"] == ["node2"]


def test_nodes_without_a_figure_are_left_out(tmp_path):
    values = {"node1": math.nan, "node2": 5, "node3": 6, "node4": 7}
    figures = {"m": {"unit": "us", "values": values}, "empty": {"unit": "", "values": {}}}
    (strip,) = strips_of(tmp_path, latency(per_node=figures))
    assert [row[1] for row in strip.rows] == ["node2", "node3", "node4"]


def test_of_many_nodes_what_stands_out_is_named(tmp_path):
    values = {f"node{number:04}": 1000 + number % 10 for number in range(1000)}
    values["node0500"] = 550
    values |= {f"node{number:04}": 1500 + number for number in range(20)}
    (strip,) = strips_of(tmp_path, each_node(values, suspects=["node0500"], **BY_FACTS))
    labels = strip.stretches[0].outliers
    assert not strip.named
    assert len(labels) == OUTLIERS_NAMED
    assert labels[0].text == "node0500"
    heights = sorted(label.y for label in labels if label.on_left)
    assert all(lower - upper >= 75 for upper, lower in itertools.pairwise(heights)), "none over another"
    assert len(strip.rows) < ROWS_LIMIT
    assert strip.rows[0][:2] == ("cpu two_nodes", "all 1000: median")
    assert "◆ 20 other nodes stand out." in strip.caption
    assert len(strip.hover) == 1000


def test_equal_nodes_do_not_stand_out(tmp_path):
    values = {f"node{number}": 1000 + number % 10 for number in range(NAMES_LIMIT + 1)}
    (strip,) = strips_of(tmp_path, each_node(values))
    assert strip.stretches[0].outliers == []
    assert {mark.kind for mark in strip.stretches[0].marks} == {"usual"}


@pytest.mark.parametrize(
    ("metric", "drawn"),
    [
        (("slowest", 90, 80, 0, None, "us"), 1),  # of the least value
        (("largest", 110, 100, None, 0.2, "us"), 1),  # of the largest
        (("uniformity", 0.9, 0.8, 0, None, ""), 1),  # of the least as a share of the median
        (("other", 95, 80, 0, None, "us"), 0),
        (("slowest", 90, 80, 0, None, "MB/s"), 0),
    ],
)
def test_the_bound_is_that_of_the_metric_that_judges_the_strip(metric, drawn, tmp_path):
    name, *figure = metric
    entry = each_node({"node1": 90, "node2": 100, "node3": 110}, perfvalues={f"embedded:cpu:{name}": [*figure, "pass"]})
    (strip,) = strips_of(tmp_path, entry)
    assert len(strip.stretches[0].bounds) == drawn


def test_a_bound_far_away_is_told_and_not_drawn(tmp_path):
    slowest = {"embedded:cpu:slowest": [90, 2, 0, None, "us", "pass"]}
    entry = each_node({"node1": 90, "node2": 100, "node3": 110}, perfvalues=slowest)
    (strip,) = strips_of(tmp_path, entry)
    assert strip.stretches[0].bounds == []
    assert "Bound outside the drawn range: 2 us." in strip.caption


def test_the_same_case_on_one_node_after_the_other_is_compared(tmp_path):
    cases = [latency(value=value, job_nodelist=[f"node{value}"], provenance={}) for value in (8, 9, 10, 900)]
    (strip,) = strips_of(tmp_path, *cases)
    assert strip.title == "OsuLatency: latency_8B per node"
    assert [mark.name for mark in strip.stretches[0].marks] == ["node8", "node9", "node10", "node900"]
    assert strip.stretches[0].marks[-1].kind == "suspect"
    assert strips_of(tmp_path, *cases[:3]) == []
    again = [latency(job_nodelist=["node1"], provenance={}) for _ in range(5)]
    assert strips_of(tmp_path, *again) == [], "repeats on one node are no comparison"
