import json

from reports.verdict.summary import to_json
from tests.unit.reports.samples import case, complete, judged, latency, report, with_metric


def test_a_pass(tmp_path):
    document = json.loads(to_json(judged(complete(), tmp_path)))
    assert (document["verdict"], document["exit_status"], document["mode"]) == ("PASS", 0, "nightly")
    assert document["counts"] == {"failed": 0, "incomplete": 0, "passed": 2, "known to fail": 0, "unstable": 0}
    assert document["cases"][1]["metrics"] == [
        {
            "name": "latency_8B", "value": 9.0, "unit": "us", "reference": 500, "lower": None, "upper": 500.0,
            "deviation_percent": -98.2, "relative": False, "source": "theoretical",
            "finds_in_a_run": None, "finds_in_a_week": None, "state": "pass",
        }
    ]  # fmt: skip


def test_a_failure_with_its_evidence(tmp_path):
    document = json.loads(to_json(judged(complete(latency("gpu", value=900, suspects=["node3"])), tmp_path)))
    failed = document["cases"][2]
    assert (failed["state"], failed["suspects"]) == ("fail", ["node3"])
    assert "900 us, allowed ≤ 500" in failed["operator_line"]
    assert document["suspects"][0]["node"] == "node3"


def test_the_energy_of_a_job(tmp_path):
    cases = json.loads(to_json(judged(complete(latency("gpu", energy_j=5312000)), tmp_path)))["cases"]
    assert [case["energy_j"] for case in cases] == [None, None, 5312000]


def test_the_notes_of_a_case(tmp_path):
    cases = json.loads(to_json(judged(complete(latency("gpu", notes=["one"])), tmp_path)))["cases"]
    assert [case["notes"] for case in cases] == [[], [], ["one"]]


def test_gaps_and_failed_attempts(tmp_path):
    document = json.loads(to_json(judged(report([case("Hpl"), latency(value=900)], [latency()]), tmp_path)))
    assert document["verdict"] == "INCOMPLETE"
    assert {"what", "where", "detail", "remedy", "cause"} == set(document["incomplete"][0])
    assert document["cases"][1]["failed_attempts"][0]["run"] == 0


def test_it_is_strict_json(tmp_path):
    def refuse(constant):
        raise AssertionError(constant)

    text = to_json(judged(with_metric(float("nan"), float("inf"), -0.1, None), tmp_path))
    assert json.loads(text, parse_constant=refuse)["cases"][1]["metrics"][0]["value"] is None
