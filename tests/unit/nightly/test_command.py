"""``python -m reports nightly`` and ``nightly-plan`` on stored nights."""

import shutil

import pytest

from reports.__main__ import main
from tests.unit.history.nights import on
from tests.unit.nightly.samples import START, keep_record, keep_report, record
from tests.unit.reports.samples import complete, latency, report

FAIL, INCOMPLETE = 1, 2
OUTPUTS = {"index.html", "message.md", "junit.xml", "embedded.prom"}


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
    return main(["nightly", "embedded", f"--results={results}", *options])


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
    values = [line for line in (results / "nightly/embedded.prom").read_text().splitlines() if "latency_8B" in line]
    assert len(values) == 1
    assert 'nodes=""' in values[0]


def test_textfile_goes_where_node_exporter_reads_it(results, tmp_path):
    folder = tmp_path / "textfile"
    folder.mkdir()
    nightly(results, f"--textfile={folder}")
    assert [path.name for path in folder.iterdir()] == ["embedded.prom"]
    assert (folder / "embedded.prom").stat().st_mode & 0o777 == 0o644


def test_a_damaged_history_hides_no_verdict(results):
    nightly(results)
    for path in (results / "history").rglob("*.parquet"):
        path.write_bytes(b"no Parquet")
    assert nightly(results) == FAIL
    assert "not held against the past" in (results / "nightly/message.md").read_text()


def test_no_night_yet(tmp_path, capsys):
    assert nightly(tmp_path) == INCOMPLETE
    assert "no night has ended yet" in capsys.readouterr().err


def test_plan_names_partition_and_nodes(results, capsys):
    running = results / "nights/20261117T020000"
    keep_record(running, record(ended=None))
    shutil.copy(results / "nights/20261115T020000/run-report.json", running)
    assert main(["nightly-plan", "embedded", f"--results={results}", "--nights=2", f"--night={running}"]) == 0
    assert capsys.readouterr().out == "cpu\tnode1\n"


def test_plan_needs_a_night(capsys):
    with pytest.raises(SystemExit):
        main(["nightly-plan", "embedded", "--nights=0", "--night=x"])
