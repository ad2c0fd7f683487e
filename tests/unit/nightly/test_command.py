"""``kappa night report`` on stored nights, and its choice of the nodes that are due."""

import os
import pathlib

import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from kappa.core.sites.load import Site, find_site
from reports.nightly import publish
from reports.nightly.archive import Archive, node_coverage, open_archive
from reports.nightly.rotation import turns
from reports.verdict.judge import EXIT_STATUS
from reports.verdict.state import State
from tests.unit.history.nights import on
from tests.unit.nightly.samples import START, keep_record, keep_report, night, pinned, record
from tests.unit.nightly.test_compare import stepped
from tests.unit.reports.samples import case, complete, latency, report

FAIL, INCOMPLETE = 1, 2
EMBEDDED = Site(find_site(("embedded",)))
OUTPUTS = {"index.html", "message.md", "alert.json", "junit.xml", "embedded.prom"}


def on_one_node(**changes):
    entry = latency(**changes)
    return {**entry, "name": "OsuLatency %placement=same_node", "placement": "same_node"}


@pytest.fixture
def results(tmp_path):
    """Two nights of the embedded site, the second with a failure."""
    for number, document in enumerate((complete(), complete(latency("gpu", value=900)))):
        folder = tmp_path / f"nights/2026111{5 + number}T020000"
        keep_record(folder, record(night=f"2026-11-{15 + number}", started=START + 86400 * number))
        document["session_info"]["uuid"] = f"session-{number}"
        keep_report(folder, document)
    return tmp_path


def nightly(results, *options):
    return main(["night", "report", "embedded", f"--results={results}", *options])


def test_everything_is_written_and_the_status_is_the_nights(results, capsys):
    assert nightly(results) == FAIL
    assert {path.name for path in (results / "nightly").iterdir()} == OUTPUTS
    assert "# embedded, night of 2026-11-16: ✘ FAIL" in capsys.readouterr().out


def test_same_results_same_outputs(results):
    nightly(results)
    first = {path.name: path.read_text() for path in (results / "nightly").iterdir() if path.name != "index.html"}
    nightly(results)
    assert first == {name: (results / "nightly" / name).read_text() for name in first}


def test_series_of_nodes_that_change_are_judged_across_nodes(results):
    for number, node in enumerate(("node1", "node2")):
        document = report([on([node])], uuid=f"session-{number}", time_start=f"202611{15 + number}T020000+0000")
        keep_report(results / f"nights/2026111{5 + number}T020000", document)
    nightly(results)
    lines = (results / "nightly/embedded.prom").read_text().splitlines()
    values = [line for line in lines if line.startswith("kappa_value{") and "latency_8B" in line]
    assert len(values) == 1
    assert 'node=""' in values[0]


def test_textfile_can_be_read_as_soon_as_it_has_its_name(results, tmp_path, monkeypatch):
    named = []

    def replace(part, path):
        named.append((pathlib.Path(path).name, os.stat(part).st_mode & 0o777))
        os.rename(part, path)

    monkeypatch.setattr("kappa.core.ground.whole_files.os.replace", replace)
    (tmp_path / "textfile").mkdir()
    nightly(results, f"--textfile={tmp_path / 'textfile'}")
    assert dict(named)["embedded.prom"] == 0o644
    assert {mode for name, mode in named if name != "embedded.prom"} == {0o600}


def test_textfile_goes_where_node_exporter_reads_it(results, tmp_path):
    folder = tmp_path / "textfile"
    folder.mkdir()
    nightly(results, f"--textfile={folder}")
    assert [path.name for path in folder.iterdir()] == ["embedded.prom"]
    assert (folder / "embedded.prom").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("state", "worse", "problem", "expected"),
    [
        ("PASS", False, "", 0), ("PASS", True, "", 1), ("INCOMPLETE", True, "", 1), ("INCOMPLETE", False, "", 2),
        ("PASS", False, "damaged", 2), ("FAIL", False, "damaged", 1),
    ],
)  # fmt: skip
def test_the_history_counts_where_it_is_asked_to(results, monkeypatch, state, worse, problem, expected):
    def findings(*_):
        if problem:
            raise InputError(problem)
        return [stepped(5, worse=worse)]

    ended = Archive((night(0, folder="20261116T020000", state=State[state]),), (), ())
    monkeypatch.setattr(publish, "_findings", findings)
    monkeypatch.setattr(publish, "open_archive", lambda *_: ended)
    assert nightly(results) == EXIT_STATUS[State[state]]
    assert nightly(results, "--gate") == expected


def test_a_file_of_acknowledgements_that_is_damaged_changes_no_status(results, monkeypatch):
    ended = Archive((night(0, folder="20261116T020000"),), (), ("no finding counts as acknowledged: line 1",))
    monkeypatch.setattr(publish, "_findings", lambda *_: [])
    monkeypatch.setattr(publish, "open_archive", lambda *_: ended)
    assert nightly(results, "--gate") == 0


def test_a_damaged_history_hides_no_verdict(results):
    nightly(results)
    for path in (results / "history").rglob("*.parquet"):
        path.write_bytes(b"no Parquet")
    assert nightly(results) == FAIL
    assert "not compared with the past" in (results / "nightly/message.md").read_text()


def test_no_night_yet(tmp_path, capsys):
    assert nightly(tmp_path) == INCOMPLETE
    assert "no night has ended yet" in capsys.readouterr().err


def test_turns_are_by_partition(results):
    running = results / "nights/20261117T020000"
    keep_record(running, record(ended=None))
    keep_report(running, complete(on_one_node()))
    assert turns(EMBEDDED, results, running, 2) == {"cpu": ["node1"]}


def test_every_node_that_can_be_measured_has_its_turn(tmp_path):
    """Two nodes for which there is no check of one node, and for the others one whose only metric has no reference."""
    service, cpu = ["a1", "a2"], [f"node{number}" for number in range(10, 20)]
    listed = [
        {**case("PartitionState"), "partition": partition, "per_node": {"usable": {"unit": "", "values": values}}}
        for partition, values in (("service", dict.fromkeys(service, 1)), ("cpu", dict.fromkeys(cpu, 1)))
    ]
    unreferenced = {"perfvalues": {"embedded:cpu:latency_8B": [9, 0, None, None, "us", "pass"]}}
    nights, chosen = 4, []
    for number in range(3 * nights):
        folder = tmp_path / f"nights/202611{number + 10}T020000"
        times = {"night": f"2026-11-{number + 10}", "started": START + 86400 * number, "nights": nights}
        keep_report(folder, report([*listed, on_one_node()]))
        keep_record(folder, record(**times, ended=None, deadline=1e12))
        [(partition, planned)] = turns(EMBEDDED, tmp_path, folder, nights).items()
        assert partition == "cpu"
        chosen.append(planned)
        keep_record(folder, record(**times, planned=planned))
        cases = [pinned(on_one_node(**unreferenced), node) for node in planned]
        keep_report(folder, report(cases), "rotation/run-report-cpu.json")
    assert [len(turn) for turn in chosen] == [3] * len(chosen)
    for first in range(2 * nights + 1):
        assert {node for turn in chosen[first : first + nights] for node in turn} == set(cpu)
    archive = open_archive(tmp_path, EMBEDDED)
    assert archive.nights[-1].covered == tuple(sorted(chosen[-1]))
    assert not any(one.overdue for one in node_coverage(archive))
