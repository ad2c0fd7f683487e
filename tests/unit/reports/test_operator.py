from reports.verdict.advice import equal_reasons, operator_line
from reports.verdict.state import State
from tests.unit.reports.samples import judged, latency, report


def line(tmp_path, *cases):
    return operator_line(judged(report(list(cases)), tmp_path).cases_in(State.FAIL)[0])


def test_what_where_by_how_much_hint_and_output(tmp_path):
    failed = latency(value=812.3, hint="look at the cable", suspects=["node2"], stagedir="/stage")
    assert str(line(tmp_path, failed)) == (
        "OsuLatency %placement=two_nodes on cpu+packaged: latency_8B 812.3 us, allowed ≤ 500 (+62 % from the reference)"
        " | suspect node2 (named by the check's own measurement) | look at the cable | /stage/rfm_job.out"
    )


def test_the_worst_metric_comes_first_and_the_rest_are_counted(tmp_path):
    failed = latency(result="fail")
    failed["perfvalues"] = {
        "embedded:cpu:a": [510, 500, None, 0, "us", "fail"],
        "embedded:cpu:b": [10, 500, 0, None, "MB/s", "fail"],
        "embedded:cpu:c": [9000, 500, None, 0, "us", "fail"],
    }
    what = line(tmp_path, failed).what
    assert what.startswith("c 9\N{NARROW NO-BREAK SPACE}000 us, allowed ≤ 500")
    assert what.endswith("; 2 more metrics out of bounds")


def test_a_value_just_beyond_its_bound_shows_that_it_is(tmp_path):
    assert "latency_8B 500.01 us, allowed ≤ 500" in line(tmp_path, latency(value=500.01)).what


def test_a_pass_that_reframe_recorded_wrongly_says_so(tmp_path):
    assert line(tmp_path, latency(value=900, result="pass")).what.endswith("; ReFrame recorded a pass")


def test_without_metric_the_reason_counts(tmp_path):
    reason = "type error: 'NoneType' object is not callable:\n| /suite/check.py:3\n|     return parse(text)"
    failed = latency(result="fail", fail_phase="sanity", fail_reason=reason, perfvalues={})
    assert line(tmp_path, failed).what == "sanity: type error: 'NoneType' object is not callable"
    failed["fail_reason"] = "sanity error: no residual"
    assert line(tmp_path, failed).what == "sanity error: no residual"
    failed["fail_reason"] = None
    assert line(tmp_path, failed).what == "sanity: ended as fail, no reason recorded"


def test_it_is_one_short_line_whatever_the_job_printed(tmp_path):
    failed = latency(result="fail", fail_reason="x\n" * 3_000_000, hint="look\nhere", perfvalues={})
    text = str(line(tmp_path, failed))
    assert "\n" not in text
    assert len(text) < 1000


def test_where_without_suspects(tmp_path):
    assert line(tmp_path, latency(value=900)).where == "on node[1-2]"
    failed = latency(result="fail", job_nodelist=None, provenance={}, jobid=None, fail_phase="sanity", perfvalues={})
    found = line(tmp_path, failed)
    assert (found.where, found.output, found.hint) == ("no job ran", "", "")


def test_equal_reasons_are_one_but_not_figures(tmp_path):
    crashed = {"result": "fail", "fail_phase": "sanity", "fail_reason": "sanity error: no residual", "perfvalues": {}}
    cases = [latency(**crashed), latency(value=900), latency("gpu", **crashed), latency("gpu", 900)]
    groups = equal_reasons(judged(report(cases), tmp_path).cases_in(State.FAIL))
    assert [[case.case.partition for case in group] for group in groups] == [["cpu", "gpu"], ["cpu"], ["gpu"]]
