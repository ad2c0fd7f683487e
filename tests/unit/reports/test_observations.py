"""What singles out a node within bounds is measured again, and what stays is told, not blamed."""

import json

from reports.show.run_page import render
from reports.show.terminal import show
from reports.verdict.observations import observations
from reports.verdict.state import State
from reports.verdict.verdict_json import to_json
from tests.unit.reports.samples import complete, finding, judged, latency, report

SLOW = finding("node4", kind="node", quantity="slowest core", evidence="2.02 times slower than the median of 4 nodes")


def twice(again=("node4",), **changes):
    """A case within bounds that names node4, and whose job measured again for it."""
    first = {"perfvalues": latency(value=9.0)["perfvalues"], "suspects": ["node4"], "findings": [SLOW]}
    return latency(suspects=list(again), findings=[SLOW] if again else [],
                   first_measurement=first, **changes)  # fmt: skip


def test_what_both_measurements_single_out_is_an_observation_and_no_suspect(tmp_path, capsys):
    verdict = judged(complete(twice()), tmp_path)
    assert (verdict.state, verdict.suspects, verdict.unstable) == (State.PASS, (), ())
    [seen] = observations(verdict.cases)
    assert seen.node == "node4"
    assert seen.text.startswith("slowest core 2.02 times slower than the median of 4 nodes; latency_8B 9 us, allowed ≤")
    told = json.loads(to_json(verdict))
    assert [one["node"] for one in told["observations"]] == ["node4"] and told["suspects"] == []
    page = render(verdict)
    show(verdict)
    for text in (page, capsys.readouterr().out):
        assert "Observations" in text and "2.02 times slower" in text
        assert "Suspect" not in text and "scontrol" not in text


def test_what_one_of_two_measurements_singles_out_is_nothing(tmp_path):
    assert observations(judged(report([twice(again=())]), tmp_path).cases) == []
    assert observations(judged(report([latency(suspects=["node4"], findings=[SLOW])]), tmp_path).cases) == []


def test_without_a_finding_the_figure_stands_beside_the_other_nodes(tmp_path):
    figures = {"m": {"unit": "MB/s", "values": {"node1": 10, "node2": 11, "node4": 6}}}
    case = twice(per_node=figures)
    case["findings"] = []
    [seen] = observations(judged(report([case]), tmp_path).cases)
    assert seen.text.startswith("m 6 MB/s, median of 3 nodes 10; ")
