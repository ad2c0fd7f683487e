"""The dossier: complete, the same each time, private, harmless, and proof against alteration."""

import hashlib
import io
import json
import os
import re
import shutil
import stat

import pypdf
import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from reports.acceptance.campaign.layout import REPORT
from reports.acceptance.campaign.signature import MANIFEST, manifest_of
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.dossier_page import renderer
from reports.acceptance.judge import judge
from tests.unit.acceptance.conftest import clause
from tests.unit.reports.samples import case, latency

HOSTILE = "<script>alert(1)</script>\x1b[31m\x1b]0;title\x07\"'><img src=x onerror=alert(1)>{{ 7 * 7 }}"


def test_same_results_give_the_same_bytes(campaign, tmp_path):
    campaign.demand(clause(predicted={"value": 5, "source": "a model"})).measure(9, 9, 9)
    texts = []
    for name in ("one", "two"):
        write_dossier(campaign, tmp_path / name, pdf=True, how_signed=None)
        texts.append((tmp_path / name / MANIFEST).read_text())
    assert texts[0] == texts[1]
    pdf = pypdf.PdfReader(io.BytesIO((tmp_path / "one/dossier.pdf").read_bytes()))
    first = pdf.pages[0].extract_text()
    assert "ACCEPTED" in first
    assert "Signature" in first
    assert "B1" in "".join(page.extract_text() for page in pdf.pages[1:])


def test_only_the_owner_may_read_a_dossier(dossier):
    main(["acceptance", "report", str(dossier.parent / "campaign"), "--no-pdf"])
    for path in [dossier.parent / "campaign/dossier", *(dossier.parent / "campaign/dossier").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize(
    ("name", "how_signed", "problem"), [("dossier", None, "overwrites no dossier"), ("d", "wax", "expected gpg")]
)
def test_dossier_that_exists_or_cannot_be_signed_is_not_written(campaign, dossier, tmp_path, name, how_signed, problem):
    with pytest.raises(InputError, match=problem):
        write_dossier(campaign, tmp_path / name, pdf=False, how_signed=how_signed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["campaign", "dossier"]


def test_moved_dossier_is_intact(dossier, tmp_path):
    shutil.move(dossier, tmp_path / "elsewhere")
    proof = verify(tmp_path / "elsewhere")
    assert (proof.exit_status, proof.problems) == (2, []), "it is not signed"


def alter(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["dossier.html", "verdict.json", "contract.yaml"])
def test_altered_byte_names_the_file(dossier, name):
    alter(dossier / name)
    assert verify(dossier).problems == [f"altered: {name}"]


def test_added_removed_or_linked_file_is_named(dossier):
    report = next(dossier.rglob("run-report.json"))
    shutil.copy(report, dossier.parent / "copy.json")
    report.unlink()
    report.symlink_to(dossier.parent / "copy.json")
    (dossier / "dossier.html").unlink()
    (dossier / "more.txt").write_text("")
    (dossier / "linked").symlink_to(dossier.parent)
    problems = verify(dossier).problems
    assert {"added: more.txt", "added: linked", "missing: dossier.html"} <= {*problems}
    assert any(re.match("cannot be read: .*run-report.json", problem) for problem in problems)


STRAYS = (
    "dossier-final.html", "dossier.PDF", "Dossier.pdf", ".hidden", "run.sh", "attempts/summary.html", "attempts/.x/y",
    "manifest.json.final.html", "manifest.json.a.b.asc", "contract.0.yaml",
)  # fmt: skip


@pytest.mark.parametrize("name", STRAYS)
def test_file_that_is_no_part_of_a_dossier_is_found_even_if_the_manifest_lists_it(dossier, name):
    path = dossier / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    assert f"added: {name}" in verify(dossier).problems
    list_anew(dossier)
    assert verify(dossier).problems == [f"not part of a dossier: {name}"]


def write_anew(dossier, old, new, name="verdict.json"):
    """Change a file, and the manifest with it."""
    path = dossier / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new), errors="surrogateescape")
    list_anew(dossier)


def list_anew(dossier):
    """Write the manifest of the present files."""
    (dossier / MANIFEST).unlink()
    (dossier / MANIFEST).write_text(manifest_of(dossier))


FORGED_VERDICTS = (
    ('"value": 90.0', '"value": 1.0'),
    ('"low": 90.0', '"low": 1.0'),
    ('"threshold": 10', '"threshold": 11'),
    ('"outcome": "not met"', '"outcome": "met"'),
    ('"NOT ACCEPTED"', '"ACCEPTED"'),
    ('"mandatory": true', '"mandatory": 1'),
    (' "exit_status"', ' "verdict": "ACCEPTED", "exit_status"'),
    ("}", ""),
)
FORGED_PAGES = (
    ("</html>", "\udcff"),
    ("</span> NOT ACCEPTED<", "</span> ACCEPTED<"),
    ("</span> NOT MET<", "</span> MET<"),
    ("Reasons against acceptance", "Reasons against acceptance: none"),
    ("<b>90 us</b>", "<b>9 us</b>"),
    ("≤ 10 us", "≤ 100 us"),
    ("node[1-2]", "node[3-4]"),
    ("</body>", "<p>Accepted under reserve.</p></body>"),
)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [*(("verdict.json", *texts) for texts in FORGED_VERDICTS), *(("dossier.html", *texts) for texts in FORGED_PAGES)],
)
def test_new_manifest_does_not_hide_a_forgery(unmet, name, old, new):
    write_anew(unmet, old, new, name)
    proof = verify(unmet)
    assert proof.exit_status == 1
    assert [line.partition(" ")[0] for line in proof.problems] == [name]


@pytest.fixture
def unmet(campaign):
    return campaign.measure(90, 90, 90).dossier()


def test_page_of_another_version_is_not_proven(unmet):
    write_anew(unmet, renderer(), "Kappa 0123456789abcdef", "dossier.html")
    assert verify(unmet).problems == []
    write_anew(unmet, "Reasons against acceptance", "Against acceptance", "dossier.html")
    proof = verify(unmet)
    assert (proof.exit_status, proof.problems) == (2, [])
    assert "is from another version of the suite" in proof.unchecked[1]


def test_pdf_is_tagged_and_in_the_manifest(campaign):
    dossier = campaign.measure(90, 90, 90).dossier(pdf=True)
    assert verify(dossier).problems == []
    root = pypdf.PdfReader(dossier / "dossier.pdf").trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == "en"
    assert root["/StructTreeRoot"]["/K"]
    alter(dossier / "dossier.pdf")
    assert verify(dossier).problems == ["altered: dossier.pdf"]


def test_seven_clauses_fill_twelve_sheets_at_most(campaign):
    # Printing takes about 4 s.
    campaign.demand(*(clause(id=f"B{number}", repeats=20) for number in range(1, 8)))
    for repeat in range(1, 21):
        campaign.add(latency(value=9), repeat, raw={f"output-{number}.txt": "x" for number in range(50)})
    dossier = campaign.dossier(pdf=True)
    assert len(pypdf.PdfReader(dossier / "dossier.pdf").pages) <= 12
    page = (dossier / "dossier.html").read_text()
    assert "output-49.txt" not in page
    assert int(re.search(r"(\d+) files with", page)[1]) > 20 * 50
    assert "output-49.txt" in (dossier / MANIFEST).read_text()


def test_file_too_large_is_named(campaign, monkeypatch):
    monkeypatch.setattr("reports.acceptance.dossier.RAW_LIMIT", 1000)
    campaign.add(latency(), raw={"large.txt": "x" * 1001})
    dossier = campaign.dossier()
    assert "large.txt" in (dossier / "dossier.html").read_text()
    assert verify(dossier).problems == []
    write_anew(dossier, "1001", "1002", "left-out.json")
    assert verify(dossier).exit_status == 1


def test_tiles_and_sentence_count_the_same(campaign):
    campaign.demand(clause(), clause(id="B2", mandatory=False)).measure(9, 9, 9)
    dossier = campaign.dossier()
    page = (dossier / "dossier.html").read_text()
    assert "1 mandatory clause: 1 met. 1 optional clause without effect on the verdict." in page
    tiles = re.findall(r'<span class="count">(\d+)</span> <span class="what">([^<]+)<', page)
    assert tiles == [("1", "met"), ("0", "waived"), ("0", "incomplete"), ("0", "not met"), ("1", "mandatory clauses")]


def test_sample_of_a_disturbed_node_is_marked(campaign):
    load = {"node2": {"cores": 3.1, "of_cores": 64, "steal_cores": 0, "disk_mb_per_s": 0}}
    campaign.add(latency(load_by_others=load), 1)
    campaign.add(latency(), 2)
    campaign.add(latency(), 3)
    dossier = campaign.dossier()
    page = (dossier / "dossier.html").read_text()
    assert page.count("◍") == 3, "at the node, and twice in the summary"
    assert "other processes used 3.1 of 64 cores of node2" in page
    assert "other processes used the nodes during 1 of 3 samples" in page
    summary = page[: page.index('<section class="clause"')]
    assert summary.count("1 of 3 samples disturbed") == 2, "on the first page and in the table of clauses"
    assert page.count('<circle class="disturbed"') == 1
    assert verify(dossier).problems == []


def test_verify_prints_the_evidence_of_the_page(unmet, capsys):
    main(["acceptance", "verify", str(unmet)])
    on_paper = re.search(r"raw results\): <code>([0-9a-f]{64})<", (unmet / "dossier.html").read_text())[1]
    assert f"evidence, to compare with the signed paper: {on_paper}" in capsys.readouterr().out


def test_verdict_in_the_prose_of_another_version_is_intact(dossier):
    write_anew(dossier, '"method": "', '"method": "in other words: ')
    write_anew(dossier, '"statistic": "median"', '"statistic": "middle"')
    write_anew(dossier, '"remarks": []', '"remarks": ["a remark"]')
    proof = verify(dossier)
    assert (proof.exit_status, proof.problems) == (2, []), "it is not signed"
    assert any(line.startswith("note: the wording of verdict.json differs") for line in proof.good)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not valid JSON"),
        ("{}", "files"),
        ('{"files": {}}', "files"),
        ('{"files": {"a": "b"}}', "files.a"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_damaged_manifest_is_refused(dossier, text, problem):
    (dossier / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=re.escape(problem)):
        verify(dossier)


def test_manifest_that_names_files_outside_finds_none(dossier):
    document = json.loads((dossier / MANIFEST).read_text())
    document["files"]["../campaign/contract.yaml"] = document["files"]["contract.yaml"]
    document["files"]["/etc/passwd\x1b[2J"] = "0" * 64
    (dossier / MANIFEST).write_text(json.dumps(document))
    assert verify(dossier).problems == ["missing: ../campaign/contract.yaml", "missing: /etc/passwd"]


@pytest.mark.parametrize("name", [MANIFEST, "dossier.html", "verdict.json", "contract.yaml", "unresolved.json"])
@pytest.mark.parametrize("what", ["pipe", "device", "nothing"])
def test_pipes_devices_and_what_is_missing_neither_hang_nor_crash(dossier, name, what):
    """Also where the manifest knows of it: a pipe has the hash of an empty file."""
    path = dossier / name
    path.unlink(missing_ok=True)
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    if name != MANIFEST:
        document = json.loads((dossier / MANIFEST).read_text())
        document["files"].pop(name, None)
        if what != "nothing":
            document["files"][name] = hashlib.sha256(b"").hexdigest()
        (dossier / MANIFEST).write_text(json.dumps(document))
    try:
        assert verify(dossier).exit_status == (2 if (name, what) == ("unresolved.json", "nothing") else 1)
    except InputError as err:
        assert re.search(r"cannot read .*(manifest\.json|contract\.yaml): ", str(err))


def test_manifest_without_end_is_not_read(dossier):
    with (dossier / MANIFEST).open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="larger than"):
        verify(dossier)


def test_hostile_strings_only_show(campaign):
    campaign.demand(
        clause(text="a & b <b>", source="<script>alert(1)</script>", repeats=2),
        clause(id="C1", selector={"check": "PartitionState", "metric": "usable"}, statistic={"every_node": 1},
               comparison="at_least", threshold={"value": 1, "unit": HOSTILE[:25]}, repeats=1),
        title="<script>alert(1)</script>",
        parties={"<img src=x onerror=alert(1)>": "</table><script>alert(1)</script>"},
    )  # fmt: skip
    hostile = latency(job_nodelist=[HOSTILE], fail_reason=HOSTILE, result="fail", fail_phase=HOSTILE)
    hostile["provenance"] = {"executable": HOSTILE, "mpi": HOSTILE, "sha256": HOSTILE, "files": {HOSTILE: HOSTILE}}
    campaign.add(hostile)
    campaign.add(latency(job_nodelist=[HOSTILE], provenance=hostile["provenance"]), repeat=2)
    state = case("PartitionState", per_node={"usable": {"unit": HOSTILE[:25], "values": {HOSTILE: 1}}})
    campaign.add(state, raw={os.fsdecode(b"<b>\x1b[2J\xff\n"): "x"})
    dossier = campaign.dossier(pdf=True)
    page = (dossier / "dossier.html").read_text()
    assert not re.search(r"<(script|img|b>\W*<script)", page)
    assert "&lt;script&gt;" in page
    assert "{{ 7 * 7 }}" in page
    assert "\x1b" not in page + (dossier / "verdict.json").read_text()
    assert verify(dossier).problems == []


def test_verify_lists_attempts_that_do_not_count(campaign):
    campaign.measure(9, 9, 99)
    campaign.add(latency(), 3, 2)
    campaign.add(None, 2, 2)
    campaign.add(latency(result="abort"), 2, 3)
    proof = verify(campaign.dossier())
    series = "OsuLatency %placement=two_nodes on cpu+packaged"
    assert [line for line in proof.good if line.startswith(series)] == [
        f"{series}, repeat 2, attempt 2: interrupted, it has no report",
        f"{series}, repeat 2, attempt 3: interrupted, its case was aborted",
        f"{series}, repeat 3, attempt 1: superseded",
    ]
    assert len(proof.unchecked) == 1, "only the signature is missing"


def append_case(attempt, appended):
    document = json.loads((attempt.folder / REPORT).read_text())
    document["runs"][0]["testcases"].append(appended)
    (attempt.folder / REPORT).write_text(json.dumps(document))


def name_another_series(attempt):
    path = attempt.folder / REPORT
    path.write_text(path.read_text().replace("OsuLatency", "OsuBandwidth"))


@pytest.mark.parametrize(
    ("hide", "kind"),
    [
        (lambda attempt: os.truncate(attempt.folder / REPORT, 100), "interrupted"),
        (lambda attempt: append_case(attempt, latency(result="abort")), "interrupted"),
        (name_another_series, "interrupted"),
        (lambda attempt: shutil.rmtree(attempt.folder), "missing"),
    ],
    ids=["cut", "second case", "other series", "removed"],
)
def test_bad_attempt_does_not_vanish_when_its_report_is_made_unusable(campaign, hide, kind):
    hide(campaign.measure(9, 9, 99).attempts()[2])
    campaign.add(latency(), 3, 2)
    campaign.write_chain_anew()
    [remark] = [remark for remark in judge(campaign).clauses[0].remarks if remark.startswith("repeat 3, attempt 1: ")]
    assert kind in remark
    assert any(line.endswith(remark) for line in verify(campaign.dossier()).unchecked)


def test_aborted_case_of_another_series_does_not_discard_a_measurement(campaign):
    append_case(campaign.measure(9, 9, 99).attempts()[2], latency("gpu", result="abort"))
    assert [sample.value for sample in judge(campaign).clauses[0].samples] == [9, 9, 99]


def test_attempt_under_the_name_of_another_is_refused(campaign):
    bad = campaign.add(latency(), 3)
    bad.folder.rename(bad.folder.with_name(bad.folder.name.replace("a01", "a02")))
    with pytest.raises(InputError, match="is about another attempt"):
        campaign.attempts()


def test_links_and_pipes_are_not_copied(campaign):
    attempt = campaign.add(latency())
    (attempt.folder / "passwd").symlink_to("/etc/passwd")
    (attempt.folder / "etc").symlink_to("/etc")
    os.mkfifo(attempt.folder / "pipe")
    copied = {path.name for path in (campaign.dossier() / "attempts" / attempt.folder.name).iterdir()}
    assert copied == {"attempt.json", "run-report.json", "sha256.json"}


def test_exit_statuses(campaign, dossier, capsys):
    assert main(["acceptance", "verify", str(dossier)]) == 2
    assert capsys.readouterr().out.startswith("not signed: ")
    alter(dossier / "dossier.html")
    assert main(["acceptance", "verify", str(dossier)]) == 1
    assert main(["acceptance", "verify", str(dossier.parent / "campaign")]) == 2
    assert "give the folder of a dossier" in capsys.readouterr().err
