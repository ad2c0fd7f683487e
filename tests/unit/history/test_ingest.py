import json
import os
import resource
import shutil

import duckdb
import numpy as np
import pytest

from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.model import SAME_ALLOCATION
from reports.history import ingest as module
from reports.history.dataset import History, files, sessions
from reports.history.ingest import Ingested, ingest, reports_in
from reports.history.rows import SCHEMA
from tests.unit.history.nights import history_of, night, rows, with_facts, write
from tests.unit.reports.samples import DATA, case, latency

# `ingest` of the revision before DuckDB wrote months made them with PyArrow 26: nights 0, 1 and 12 of `nights.py` with
# a latency of 7.5, 8.5 and 9.5 us. Most text is encoded as dictionaries. January was written again with PyArrow without
# the columns in `LATER`.
FORMER = DATA.parent / "history"
LATER = ("informational", "confirms", "of_node")
# No month of that revision has this column.
NO_CONTENT = {"content": None}


def values(history):
    return [row["value"] for row in rows(history)]


def test_a_row_holds_the_value_where_it_was_measured_and_with_what(tmp_path):
    (row,) = rows(history_of(tmp_path, [[latency(value=7.5)]]))
    assert (row["value"], row["metric"], row["unit"], row["upper"]) == (7.5, "latency_8B", "us", 500)
    assert (row["check_class"], row["partition"], row["nodes"]) == ("OsuLatency", "cpu", "node1,node2")
    assert row["family"] == "network/osu-pt2pt"
    assert (row["session"], f"{row['time']:%Y-%m-%d %H}", row["mode"]) == ("night-0", "2026-01-20 02", "nightly")
    provenance = latency()["provenance"]
    assert {key: row[key] for key in ("kernel", "mpi", "sha256", "suite_revision")} == {
        key: provenance[key] for key in ("kernel", "mpi", "sha256", "suite_revision")
    }


def test_months_have_a_file_each(tmp_path):
    history = history_of(tmp_path, [[latency()]] * 20)
    assert [path.parent.name for path in files(history)] == ["month=2026-01", "month=2026-02"]
    assert len(rows(history)) == 20


def test_only_new_sessions_are_added(tmp_path):
    history = history_of(tmp_path, [[latency(value=1.0)]])
    write(tmp_path / "runs", 1, night(1, [latency(value=2.0)]))
    assert ingest(reports_in([tmp_path / "runs"]), history) == Ingested(1, 1, 1, ())
    assert values(history) == [1.0, 2.0]


def test_ingesting_again_changes_nothing(tmp_path):
    history = history_of(tmp_path, [[latency()]] * 3)
    before = [path.read_bytes() for path in files(history)]
    assert ingest(reports_in([tmp_path / "runs"]), history) == Ingested(0, 0, 3, ())
    assert [path.read_bytes() for path in files(history)] == before


def test_a_copy_of_a_report_counts_once(tmp_path):
    for number in range(2):
        write(tmp_path / "runs", number, night(0, [latency()]))
    assert ingest(reports_in([tmp_path / "runs"]), tmp_path / "history") == Ingested(1, 1, 1, ())


@pytest.mark.parametrize("worth_processes", [1, 100])
def test_another_report_with_the_same_session_id_counts_too(tmp_path, monkeypatch, worth_processes):
    monkeypatch.setattr(module, "_WORTH_PROCESSES", worth_processes)
    history = history_of(tmp_path, [[latency(value=1.0)]])
    write(tmp_path / "runs", 1, night(1, [latency(value=2.0)], uuid="night-0"))
    write(tmp_path / "runs", 2, night(0, [latency(value=3.0)]))
    write(tmp_path / "runs", 3, night(0, [latency(value=3.0)]))
    assert ingest(reports_in([tmp_path / "runs"]), history) == Ingested(2, 2, 2, ())
    assert sorted(values(history)) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "text, said",
    [
        ("{", "not valid JSON"),
        ("[]", "expected object"),
        (json.dumps(night(1, [{**latency(), "perfvalues": {"embedded:cpu:m": 3}}])), "perfvalues"),
        (json.dumps(night(1, [latency()], uuid="")), "session_info.uuid"),
        (json.dumps(night(1, [latency()], time_start="yesterday")), "session_info.time_start"),
        (json.dumps(night(1, [latency()], time_start="99991231T235959+0000")), "session_info.time_start"),
        (json.dumps(night(1, [latency()], time_start="00010101T000000+0000")), "session_info.time_start"),
    ],
)
def test_a_damaged_report_is_named_and_left_out(tmp_path, text, said):
    write(tmp_path / "runs", 0, night(0, [latency(value=1.0)]))
    bad = write(tmp_path / "runs", 1, {})
    bad.write_text(text, encoding="utf-8")
    write(tmp_path / "runs", 2, night(2, [latency(value=2.0)]))
    done = ingest(reports_in([tmp_path / "runs"]), tmp_path / "history")
    assert (done.sessions, values(tmp_path / "history")) == (2, [1.0, 2.0])
    (problem,) = done.damaged
    assert str(bad) in problem and said in problem


def test_a_write_that_fails_leaves_the_month_as_it_was(tmp_path):
    """A limit on the size of files fails a write half-way, as a full disk does."""
    history = history_of(tmp_path, [[latency(value=1.0)]])
    write(tmp_path / "runs", 1, night(1, [latency(value=2.0)]))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(InputError, match=r"cannot write .*month=2026-01/values.parquet: .*File too large"):
            ingest(reports_in([tmp_path / "runs"]), history)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert values(history) == [1.0]
    assert [name for _, _, names in os.walk(history) for name in names if "part" in name] == []


def test_a_damaged_month_is_named(tmp_path):
    history = history_of(tmp_path, [[latency()]])
    files(history)[0].write_bytes(b"PAR1 no more")
    with pytest.raises(InputError, match=r"month=2026-01.*remove it"):
        sessions(history)


def test_a_month_with_a_damaged_column_is_named(tmp_path):
    """Its sessions can be read, so that only the next write finds it."""
    history = history_of(tmp_path, [[latency()]])
    (path,) = files(history)
    with duckdb.connect() as database:
        place, size = database.execute(
            "SELECT data_page_offset, total_compressed_size FROM parquet_metadata(?) WHERE path_in_schema = 'value'",
            [str(path)],
        ).fetchone()
    content = bytearray(path.read_bytes())
    content[place : place + size] = b"x" * size
    path.write_bytes(content)
    assert len(sessions(history)) == 1
    write(tmp_path / "runs", 1, night(1, [latency()]))
    with pytest.raises(InputError, match=r"cannot read .*month=2026-01.*remove it"):
        ingest(reports_in([tmp_path / "runs"]), history)
    assert path.read_bytes() == content


def test_a_foreign_parquet_file_is_named(tmp_path):
    history = history_of(tmp_path, [[latency()]])
    with duckdb.connect() as database:
        database.execute(f"COPY (SELECT 1 AS a) TO '{files(history)[0]}' (FORMAT parquet)")
    with pytest.raises(InputError, match=r"month=2026-01.*remove it"):
        sessions(history)


def test_copies_among_reports_that_are_read_together_count_once(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_WORTH_PROCESSES", 1)
    monkeypatch.setattr(module, "_TOGETHER", 2)
    for place, number in enumerate([0, 1, 1, 2, 3, 3]):
        write(tmp_path / "runs", place, night(number, [latency(value=number + 1.0)]))
    assert ingest(reports_in([tmp_path / "runs"]), tmp_path / "history") == Ingested(4, 4, 2, ())
    assert values(tmp_path / "history") == [1.0, 2.0, 3.0, 4.0]


def test_several_processes_give_the_same(tmp_path, monkeypatch):
    one = history_of(tmp_path, [[latency(value=float(number))] for number in range(1, 6)])
    monkeypatch.setattr(module, "_WORTH_PROCESSES", 1)
    ingest(reports_in([tmp_path / "runs"]), tmp_path / "other")
    assert rows(tmp_path / "other") == rows(one)


def figures_of_the_verdict(path):
    for case_ in (entry for run in load_session(path).runs for entry in run if entry.check_class is not None):
        for metric in (metric for metric in case_.metrics if metric.value is not None):
            yield {
                "run": case_.run,
                "check_class": case_.check_class,
                "family": case_.family,
                "case": case_.name,
                "partition": case_.partition,
                "environ": case_.environ,
                "nodes": ",".join(case_.nodes),
                "verdict": case_.result,
                "job_id": case_.job_id,
                "metric": metric.name,
                "unit": metric.unit,
                "value": metric.value,
                "informational": metric.informational,
                **{key: getattr(case_.provenance, key) for key in ("kernel", "mpi", "sha256", "suite_revision")},
            }


@pytest.mark.parametrize("path", sorted(DATA.glob("*.json")), ids=lambda path: path.stem)
def test_the_history_sees_the_figures_that_the_verdict_sees(path, tmp_path):
    ingest([path], tmp_path)
    seen = list(figures_of_the_verdict(path))
    of_cases = [row for row in rows(tmp_path) if not row["of_node"]]
    assert [{key: row[key] for key in figures} for row, figures in zip(of_cases, seen, strict=True)] == seen


def test_what_a_comparison_of_nodes_has_of_each_is_a_series_of_its_own(tmp_path):
    """But for what the nodes tell of themselves, and what has no better and worse."""
    per_node = {
        "triad": {"unit": "MB/s", "values": {"node1": 10.0, "node2": 9.0}},
        "memory": {"unit": "KiB", "values": {"node1": 1.0}},
    }
    told = case("PartitionHealth", perfvalues={}, per_node={"clock_offset": {"unit": "us", "values": {"node1": 1.0}}})
    found = History(history_of(tmp_path, [[latency(per_node=per_node), told]])).series(10)
    assert [(one.metric, one.nodes, one.values.tolist()) for one in found if one.of_node] == [
        ("triad", "node1", [10.0]), ("triad", "node2", [9.0]),
    ]  # fmt: skip
    assert all(one.gates and one.sign == -1 for one in found if one.of_node)


def test_nodes_that_one_job_measured_each_alone_are_as_cases_of_their_own(tmp_path):
    per_node = {"latency_8B": {"unit": "us", "values": {"node1": 900.0, "node2": 7.0}}}
    first = {"perfvalues": latency(value=901)["perfvalues"],
             "per_node": {"latency_8B": {"unit": "us", "values": {"node1": 901.0, "node2": 8.0}}}}  # fmt: skip
    many = latency(value=900, per_node=per_node, nodes_of_job=2, job_nodelist=["node1", "node2"], suspects=["node1"],
                   first_measurement=first)  # fmt: skip
    history = history_of(tmp_path, [[many]])
    found = [(row["nodes"], row["value"], row["verdict"], row["purpose"], row["of_node"]) for row in rows(history)]
    assert found == [
        ("node1", 901.0, "fail", "", False), ("node2", 8.0, "pass", "", False),
        ("node1", 900.0, "fail", SAME_ALLOCATION, False), ("node2", 7.0, "pass", SAME_ALLOCATION, False),
    ]  # fmt: skip
    series = History(history).series(10)
    assert [(one.nodes, one.values.tolist(), one.bounded) for one in series] == [
        ("node1", [901.0], True), ("node2", [8.0], True),
    ]  # fmt: skip


def test_a_node_check_speaks_against_its_node_alone_of_those_that_one_job_measured(tmp_path):
    per_node = {"latency_8B": {"unit": "us", "values": {"node1": 7.0, "node2": 8.0}}}
    many = latency(value=8, per_node=per_node, nodes_of_job=2, job_nodelist=["node1", "node2"])
    bad = case("PartitionState", family="node/state", local=True, result="fail", suspects=["node1"], perfvalues={})
    history = history_of(tmp_path, [[bad, many, latency()]])
    found = [(row["nodes"], row["node_check"]) for row in rows(history)]
    assert found == [("node1", "failed"), ("node2", "passed"), ("node1,node2", "failed")]


def test_control_sequences_do_not_get_in(tmp_path):
    history = history_of(tmp_path, [[with_facts(1.0, kernel="6.1\x1b[31m\u202e red")]])
    assert rows(history)[0]["kernel"] == "6.1 red"


def test_a_recorded_report_comes_with_all_its_numbers(tmp_path):
    done = ingest([DATA / "campaign.json"], tmp_path)
    assert (done.sessions, done.damaged) == (1, ())
    assert done.values == len(rows(tmp_path)) > 20


@pytest.mark.parametrize(
    "suspects, partition, state",
    [
        (["node2"], "cpu", "failed"),
        (["node4"], "cpu", "passed"),
        ([], "cpu", "failed"),
        (["node2"], "scratch", "failed"),
        (["node4"], "scratch", "none"),
        ([], "scratch", "none"),
    ],
)
def test_a_failed_node_check_marks_what_ran_on_the_node(tmp_path, suspects, partition, state):
    """Whichever partition it found the node in."""
    nodes = ["node1", "node2", "node3", "node4"]
    check = case("PartitionHealth", result="fail", suspects=suspects, partition=partition, perfvalues={},
                 job_nodelist=nodes)  # fmt: skip
    found = rows(history_of(tmp_path, [[latency(), check]]))
    assert {row["node_check"] for row in found if row["check_class"] == "OsuLatency"} == {state}


def test_what_was_measured_again_is_kept_but_no_part_of_a_series(tmp_path):
    write(tmp_path / "runs", 1, night(1, [latency(value=9.0)], purpose="same-nodes", confirms="night-0"))
    history = history_of(tmp_path, [[latency(value=1.0)]])
    write(tmp_path / "runs", 2, night(2, [latency(value=9.0)], purpose="same-nodes"))
    ingest(reports_in([tmp_path / "runs"]), history)
    (series,) = History(history).series(10)
    assert series.values.tolist() == [1.0]


def transients(folder, again, confirms="night-1"):
    """The values to learn from, after three nights, when what was out of bounds in the second was measured again."""
    history = folder / "history"
    for number, value in enumerate((8.0, 900.0, 9.0)):
        write(folder / "runs", number, night(number, [latency(value=value)]))
    repeated = night(3, [again], uuid="again", purpose="same-nodes", confirms=confirms)
    path = folder / "runs/001/confirmations/same-nodes-1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(repeated), encoding="utf-8")
    ingest(reports_in([folder / "runs"]), history)
    (everything,) = History(history).series(10)
    assert everything.values.tolist() == [8.0, 900.0, 9.0]
    (healthy,) = History(history).series(10, across_nodes=True, healthy=True)
    return healthy.values.tolist()


def test_the_first_value_of_a_transient_is_not_healthy(tmp_path):
    assert transients(tmp_path, latency(value=9.5)) == [8.0, 9.0]


def test_a_transient_of_one_allocation_is_in_the_history_and_not_healthy(tmp_path):
    twice = latency(value=9.5, first_measurement={"perfvalues": latency(value=900.0)["perfvalues"]})
    history = history_of(tmp_path, [[latency(value=8.0)], [twice], [latency(value=9.0)]])
    (everything,) = History(history).series(10)
    assert everything.values.tolist() == [8.0, 900.0, 9.0]
    (healthy,) = History(history).series(10, across_nodes=True, healthy=True)
    assert healthy.values.tolist() == [8.0, 9.0]


def test_what_is_out_of_bounds_twice_in_one_allocation_counts_once(tmp_path):
    twice = latency(value=901.0, first_measurement={"perfvalues": latency(value=900.0)["perfvalues"]})
    history = history_of(tmp_path, [[latency(value=8.0)], [twice]])
    (healthy,) = History(history).series(10, across_nodes=True, healthy=True)
    assert healthy.values.tolist() == [8.0, 900.0]


@pytest.mark.parametrize(
    "again, confirms",
    [
        (latency(value=950.0), "night-1"),
        (latency(value=9.5), "night-0"),
        (latency(value=9.5, name="OsuLatency %placement=same_node"), "night-1"),
        (latency(value=9.5, job_nodelist=["node1", "node3"], provenance={}), "night-1"),
    ],
    ids=["out of bounds again", "of another session", "another case", "other nodes"],
)
def test_what_is_no_transient_counts(tmp_path, again, confirms):
    assert transients(tmp_path, again, confirms) == [8.0, 900.0, 9.0]


def test_what_was_measured_again_comes_with_the_report_that_it_lies_beside(tmp_path):
    path = write(tmp_path, 0, night(0, [latency()]))
    again = path.parent / "confirmations/same-nodes-1.json"
    again.parent.mkdir()
    again.write_text(json.dumps(night(0, [latency()], uuid="again", confirms="night-0")), encoding="utf-8")
    assert reports_in([path]) == reports_in([tmp_path]) == [path]
    assert ingest([path], tmp_path / "history") == Ingested(2, 2, 0, ())


@pytest.mark.parametrize("months", ["month=2026-01", "month=*"], ids=["without a column", "with and without"])
def test_months_written_before_a_column_came_are_read(tmp_path, months):
    for month in FORMER.glob(months):
        shutil.copytree(month, tmp_path / month.name)
    (series,) = History(tmp_path).series(30, healthy=True)
    assert (series.values.tolist(), series.informational) == ([7.5, 8.5, 9.5][: len(series.values)], False)
    assert History(tmp_path).changes(series, 0, len(series.values) - 1) == []


def test_months_of_a_former_revision_are_extended(tmp_path):
    history = shutil.copytree(FORMER, tmp_path / "history")
    former = rows(history)
    for number in (2, 13):
        write(tmp_path / "runs", number, night(number, [latency(value=1.5, informational=["latency_8B"])]))
    assert ingest(reports_in([tmp_path / "runs"]), history) == Ingested(2, 2, 0, ())
    january, february = [row for row in rows(history) if row["value"] == 1.5]
    nothing = dict.fromkeys(LATER) | NO_CONTENT
    # The rows of former months stay as they are, in their order; a column that they lacked is null.
    assert rows(history) == [former[0] | nothing, former[1] | nothing, january, former[2] | NO_CONTENT, february]
    assert [row["informational"] for row in rows(history)] == [None, None, True, False, True]
    (series,) = History(history).series(30)
    assert (series.values.tolist(), series.informational) == ([7.5, 8.5, 1.5, 9.5, 1.5], True)


def test_months_have_the_same_types_as_those_of_a_former_revision(tmp_path):
    history = history_of(tmp_path, [[latency()]])
    with duckdb.connect() as database:
        former, now = (
            database.execute("DESCRIBE FROM read_parquet(?, hive_partitioning = false)", [str(path)]).fetchall()
            for path in (FORMER / "month=2026-02/values.parquet", *files(history))
        )
    assert now == [*former, ("content", "VARCHAR", "YES", None, None, None)]
    assert {name: kind for name, kind, *_ in now} == SCHEMA


def test_what_is_no_number_stays_so(tmp_path):
    (row,) = rows(history_of(tmp_path, [[latency(value=float("nan"))]]))
    assert np.isnan(row["value"])


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland"])
@pytest.mark.parametrize(
    "time, utc",
    [("20260201T005959+0100", "2026-01-31 23:59"), ("20260131T230000-0100", "2026-02-01 00:00")],
)
def test_a_month_is_one_of_utc(tmp_path, monkeypatch, zone, time, utc):
    monkeypatch.setenv("TZ", zone)
    write(tmp_path / "runs", 0, night(0, [latency()], time_start=time))
    ingest(reports_in([tmp_path / "runs"]), tmp_path / "history")
    (row,) = rows(tmp_path / "history")
    assert f"{row['time']:%Y-%m-%d %H:%M}" == utc
    assert [path.parent.name for path in files(tmp_path / "history")] == [f"month={utc[:7]}"]


def test_a_folder_may_have_any_name(tmp_path):
    history = history_of(tmp_path / "it's [a] * \N{LATIN SMALL LETTER O WITH DIAERESIS}", [[latency(value=1.0)]])
    write(history.parent / "runs", 1, night(1, [latency(value=2.0)]))
    ingest([history.parent / "runs/001/run-report.json"], history)
    assert sorted(values(history)) == [1.0, 2.0]


def test_a_place_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        reports_in([tmp_path / "nowhere"])


def test_a_case_keeps_its_series_when_reports_begin_to_record_its_parameters(tmp_path):
    before, now = latency(), latency(parameters={"placement": "two_nodes"}, display_name=latency()["name"])
    (series,) = History(history_of(tmp_path, [[before], [now]])).series(10)
    assert (series.case, len(series.values)) == ("OsuLatency %placement=two_nodes", 2)


def test_what_was_simulated_enters_no_history_of_a_machine_that_exists(tmp_path):
    document = json.loads((DATA / "campaign.json").read_text())
    of_fabric = {"fabric": "own", "variant": "sound", "kind": "calibrated", "platform_sha256": "0" * 64}
    document["runs"][0]["testcases"][0]["simulation"] = of_fabric
    report = tmp_path / "run-report.json"
    report.write_text(json.dumps(document))
    refused = ingest([report], tmp_path / "history")
    assert (refused.sessions, refused.values) == (0, 0)
    assert "simulated results" in refused.damaged[0]
    assert ingest([report], tmp_path / "simulated", of_fabrics=True).sessions == 1


@pytest.mark.parametrize("hostile", ["1e308 AS value", "-1e308 AS value", "'9999-12-31'::TIMESTAMPTZ AS time"])
def test_what_got_into_a_former_history_breaks_no_later_reading(tmp_path, hostile):
    history = history_of(tmp_path, [[latency(value=value)] for value in (1.0, 2.0, 3.0)])
    (path,) = files(history)
    with duckdb.connect() as database:
        database.execute(
            f"COPY (SELECT * REPLACE ({hostile}) FROM read_parquet(?) WHERE value = 3)"
            f" TO '{tmp_path / 'hostile.parquet'}' (FORMAT parquet)",  # DuckDB 1.1 takes no parameter here
            [str(path)],
        )
    (history / "month=9999-12").mkdir()
    (tmp_path / "hostile.parquet").rename(history / "month=9999-12" / path.name)
    (series,) = History(history).series(10)
    assert series.values.tolist() == [1.0, 2.0, 3.0]


def test_damaged_confirmation_is_named_and_its_run_is_in_the_history(tmp_path):
    path = write(tmp_path / "runs", 0, night(0, [latency(value=7.5)]))
    damaged = path.parent / "confirmations/same-nodes-1.json"
    damaged.parent.mkdir()
    damaged.write_text("{", encoding="utf-8")
    done = ingest(reports_in([tmp_path / "runs"]), tmp_path / "history")
    assert (done.sessions, values(tmp_path / "history")) == (1, [7.5])
    assert str(damaged) in done.damaged[0]
