from reports.show.result_rows import ALIKE, groups
from reports.verdict.state import State
from tests.unit.reports.samples import case, judged, latency, report

BUILD = "Program ~embedded:cpu+packaged"


def groups_of(tmp_path, *cases):
    return groups(judged(report(list(cases)), tmp_path).cases)


def on(node, **changes):
    return latency(job_nodelist=[node], provenance={}, **changes)


def test_a_group_for_each_check_the_worst_first(tmp_path):
    first, second = groups_of(tmp_path, case("PartitionState"), latency(), latency("gpu", value=900))
    assert (first.check, first.opened, first.counts) == ("OsuLatency", True, [(State.FAIL, 1), (State.PASS, 1)])
    assert first.tightest.text == "× 0.56"
    assert (second.check, second.opened) == ("PartitionState", False)


def test_what_passed_alike_is_one_row(tmp_path):
    alike = [on(f"node{number}", value=float(number)) for number in range(1, ALIKE + 1)]
    (group,) = groups_of(tmp_path, *alike, on("node9", value=900.0))
    failed, row = group.rows
    assert (failed.state, failed.nodes, failed.alike) == (State.FAIL, "node9", 1)
    assert (row.value, row.alike, row.nodes) == (f"1 … {ALIKE}", ALIKE, f"node[1-{ALIKE}]")
    assert row.headroom.text == f"× {500 // ALIKE}", "of the worst"
    (group,) = groups_of(tmp_path, *alike[1:])
    assert len(group.rows) == ALIKE - 1


def test_what_has_other_bounds_is_not_alike(tmp_path):
    alike = [on(f"node{number}") for number in range(ALIKE)]
    other = [on(f"node{number}", perfvalues={"embedded:cpu:latency_8B": [9, 100, None, 0, "us", "pass"]})
             for number in range(ALIKE)]  # fmt: skip
    (group,) = groups_of(tmp_path, *alike, *other)
    assert [row.alike for row in group.rows] == [ALIKE, ALIKE]


def test_what_is_nearest_to_its_bound_comes_first_and_builds_last(tmp_path):
    def check(name, value):
        return latency(value=value, name=f"{name} %placement=two_nodes", check_class=name, descr=f"what {name} is for")

    built = latency(name=BUILD, check_class=None, perfvalues=None)
    odd = check("Odd", 20.0)
    odd |= {
        "suspects": ["node2"],
        "first_measurement": {"perfvalues": odd["perfvalues"], "suspects": ["node2"], "per_node": {}, "findings": []},
    }
    incomplete = check("Incomplete", None)
    shown = groups_of(
        tmp_path, built, check("Far", 5.0), incomplete, check("Near", 400.0), check("Bad", 900.0), odd,
        check("Worse", 9000.0),
    )  # fmt: skip
    assert [group.check for group in shown] == ["Worse", "Bad", "Odd", "Incomplete", "Near", "Far", "Program"]
    assert [group.prepares for group in shown] == [False] * 6 + [True]
    assert shown[0].purpose == "what Worse is for"


def test_a_build_that_failed_is_no_small_matter(tmp_path):
    built = latency(name=BUILD, check_class=None, perfvalues=None, result="fail", fail_phase="compile")
    first, _ = groups_of(tmp_path, latency(), built)
    assert (first.check, first.prepares) == ("Program", False)
