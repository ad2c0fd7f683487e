from reports.show.result_rows import ALIKE, groups
from reports.verdict.state import State
from tests.unit.reports.samples import case, judged, latency, report


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
