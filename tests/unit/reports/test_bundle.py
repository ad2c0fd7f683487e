"""A bundle has all that a ticket about a finding needs, and nothing private."""

import json
import tarfile

import pytest

from kappa.app.command.main import main
from kappa.core.ground.redaction import Redaction
from reports.bundle import contents
from tests.unit.reports.samples import complete, latency

PRIVATE = ("hunter2", "alice", "bob", "alice@site.example", "10.1.2.3", "fe80::1ff:fe23:4567:890a", "52:54:00:12:34:56")


@pytest.fixture
def run(tmp_path):
    """A run whose failed case, on node1 and node2, wrote names, addresses and a secret."""
    folder = tmp_path / "runs/20261122T100000-nightly"
    stage = folder / "stage/embedded/cpu/OsuLatency_1"
    (stage / "first_measurement").mkdir(parents=True)
    private = (
        "API_TOKEN=hunter2\nrun by alice in /home/alice/work, mail alice@site.example\neth0 10.1.2.3, then 10.1.2.3\n"
        "inet6 fe80::1ff:fe23:4567:890a link\nether 52:54:00:12:34:56\nat 12:30:45 on 127.0.0.1, std::vector, v1.2.3\n"
    )
    (stage / "rfm_job.out").write_text(private)
    (stage / "rfm_job.err").write_text("\x1b[31mslow\x1b[0m\n")
    # Only a later file tells that this is a user.
    (stage / "a.txt").write_text("asked by bob\n")
    (stage / "z.txt").write_text("/home/bob/input\n")
    (stage / "figures.bin").write_bytes(b"\xff\xfe\x00")
    (stage / "passwd").symlink_to("/etc/passwd")
    (stage / "first_measurement/rfm_job.out").write_text("as it was at first\n")
    failed = latency(value=900, stagedir=str(stage), job_stdout="rfm_job.out", job_stderr="rfm_job.err", jobid="7")
    failed["hint"] = "ask alice at 10.1.2.3"
    failed["first_measurement"] = {"perfvalues": failed["perfvalues"]}
    document = complete(failed)
    document["session_info"] |= {"prefix_stage": f"{folder}/stage", "user": "alice"}
    (folder / "run-report.json").write_text(json.dumps(document))
    return folder


def packed(run, tmp_path, finding="1"):
    """name -> text of all that is in it."""
    target = tmp_path / "ticket.tar.gz"
    assert main(["bundle", str(run), finding, "-o", str(target)]) == 0
    with tarfile.open(target) as archive:
        members = archive.getmembers()
        assert {(one.uid, one.uname, one.mtime) for one in members} == {(0, "", 0)}
        return {one.name.partition("/")[2]: archive.extractfile(one).read().decode() for one in members}


def test_what_is_in_it(run, tmp_path):
    found = packed(run, tmp_path)
    case = "cases/1-OsuLatency/2-same-allocation"
    assert {f"{case}/rfm_job.out", f"{case}/rfm_job.err", "record.json", "site/site.yaml", "site/expected.yaml"} < set(
        found
    )
    assert found[f"{case}/rfm_job.err"] == "slow\n"
    assert found["cases/1-OsuLatency/1-first/rfm_job.out"] == "as it was at first\n"
    assert not [name for name in found if "passwd" in name]
    assert f"{case}/figures.bin: not a text file" in found["REDACTED.txt"]
    about = found["README.txt"]
    assert "FAIL of embedded, mode nightly" in about and "OsuLatency" in about and "ReFrame: " in about
    assert "kappa validate embedded full -n /" in about and "nodelist=node1,node2" in about
    [cases] = json.loads(found["record.json"])["session"]["runs"]
    assert {entry["name"].split()[0] for entry in cases} == {"OsuLatency"}


def test_what_is_private(run, tmp_path):
    found = packed(run, tmp_path)
    assert not [(name, word) for name, text in found.items() for word in PRIVATE if word in text]
    out = found["cases/1-OsuLatency/2-same-allocation/rfm_job.out"]
    assert "eth0 address-1, then address-1\n" in out
    assert "run by user-1 in /home/user-1/work, mail mail-1\n" in out
    assert out.endswith("at 12:30:45 on 127.0.0.1, std::vector, v1.2.3\n")
    assert "cases/1-OsuLatency/2-same-allocation/rfm_job.out: user-1, 2 times" in found["REDACTED.txt"]
    assert "cases/1-OsuLatency/2-same-allocation/rfm_job.out: REDACTED, 1 time" in found["REDACTED.txt"]
    assert "record.json: user-1" in found["REDACTED.txt"]


@pytest.mark.parametrize("finding", ["OsuLatency", "OsuLatency %placement=two_nodes"])
def test_a_finding_by_its_name(run, tmp_path, finding):
    assert "cases/1-OsuLatency/2-same-allocation/rfm_job.out" in packed(run, tmp_path, finding)


def test_a_finding_that_is_none(run, tmp_path, capsys):
    assert main(["bundle", str(run), "OsuLatncy"]) == 2
    said = capsys.readouterr().err
    assert "did you mean 'OsuLatency'?" in said and "1: OsuLatency" in said
    assert not list(tmp_path.glob("*.gz"))


def test_user_names_are_whole_words_and_parts_of_names():
    hide = Redaction(["al"])
    assert hide.text("al alpha al-x root cal al.", "f") == "user-1 alpha user-1-x root cal user-1."


def test_more_files_than_anyone_reads(run, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "MOST_FILES", 1)
    found = packed(run, tmp_path)
    assert len([name for name in found if name.startswith("cases/")]) == 1
    assert "more than 1 files" in found["REDACTED.txt"]
