"""The outage log: what was altered is named by its line, two writers do not meet, and a kill loses nothing."""

import datetime
import json
import random

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import LockedError
from reports.acceptance.campaign.chained_lines import keep_raw
from reports.acceptance.campaign.layout import LOG, RAW, WEEKS
from reports.acceptance.campaign.signature import sha256
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.outages.log import Draft, altered_raw, load_log, writing
from tests.killing import in_child
from tests.tiers import few_or_many
from tests.unit.acceptance.outages import BEGIN, PARTIES, verdicts, written

LINES = 36


def ten_outages(month):
    for number in range(10):
        month.node("n1", 24 * number, 24 * number + 1)


@pytest.fixture
def campaign(tmp_path):
    return written(tmp_path / "campaign", ten_outages)


def lines_of(campaign):
    return (campaign.folder / LOG).read_bytes().splitlines(keepends=True)


def rewrite(campaign, lines):
    (campaign.folder / LOG).write_bytes(b"".join(lines))


def test_written_log_is_read(campaign):
    log = load_log(campaign.folder)
    assert log.lines == len(lines_of(campaign)) == LINES
    assert [entry.what for entry in log.latest.values()].count("node_interrupt") == 10
    assert not any(log.lacking(entry, PARTIES) for entry in log.latest.values())
    assert not log.remarks


def changed(number):
    return lambda lines: [*lines[: number - 1], lines[number - 1].replace(b"2026-12", b"2026-11", 1), *lines[number:]]


@pytest.mark.parametrize(
    ("damaged", "problem"),
    [
        (changed(1), "line 1: it was changed after line 2"),
        (changed(7), "line 7: it was changed after line 8"),
        (changed(33), "line 33: it was changed after line 34"),
        (lambda lines: lines[:6] + lines[7:], "line 7: expected the id 7, found 8: lines were removed, moved or added"),
        (lambda lines: lines[:3] + lines[20:30] + lines[3:20] + lines[30:], "line 4: expected the id 4, found 21"),
        (lambda lines: [*lines, b"not json\n"], "line 37: no entry of this file"),
        (lambda lines: [*lines, b'{"id":"35"}\n'], "line 37: no entry of this file"),
        (lambda lines: [*lines, b"\xff\xfe\n"], "line 37: no entry of this file"),
        (lambda lines: [*lines, b"x" * (1 << 21)], "line 37: longer than"),
    ],
)
def test_damaged_log_is_refused_with_the_line(campaign, damaged, problem):
    rewrite(campaign, damaged(lines_of(campaign)))
    with pytest.raises(InputError, match=rf"outages\.jsonl: {problem}"):
        load_log(campaign.folder)


def refused(campaign, draft, problem):
    before = lines_of(campaign)
    with writing(campaign.folder) as writer, pytest.raises(InputError, match=problem):
        writer.append([draft])
    assert lines_of(campaign) == before


def entry(**fields):
    given = {"by": "vendor", "source": "hand", "what": "node_interrupt", "nodes": ("n1",), "start": BEGIN, **fields}
    return Draft(**given)


def test_senseless_entry_is_not_written(campaign):
    refused(campaign, entry(end=BEGIN - datetime.timedelta(hours=1)), "ends before it begins")
    refused(campaign, entry(start=BEGIN.replace(tzinfo=None)), "timezone")
    refused(campaign, entry(what="power_cut"), "no entry of this file")
    refused(campaign, entry(supersedes="99"), "corrects 99, which is no entry")
    refused(campaign, entry(what="agreement", about=("99",)), "agrees to 99, which is no entry")


def test_correction_needs_another_agreement(campaign):
    with writing(campaign.folder) as writer:
        (number,) = writer.append([entry(end=BEGIN + datetime.timedelta(hours=2), supersedes="4")])
    log = load_log(campaign.folder)
    assert 4 not in log.latest and log.lacking(log.latest[number], PARTIES) == list(PARTIES)
    refused(campaign, entry(supersedes="4"), "was corrected before")
    refused(campaign, entry(what="agreement", about=("4",)), "was corrected before")


def test_daylight_saving_makes_no_jump(tmp_path):
    """The night of 25 October 2026 has two half past twos in Rome; each has its own offset."""
    written(tmp_path / "campaign", lambda month: None)
    summer, winter = datetime.timezone(datetime.timedelta(hours=2)), datetime.timezone(datetime.timedelta(hours=1))
    start = datetime.datetime(2026, 10, 25, 2, 30, tzinfo=summer)
    end = datetime.datetime(2026, 10, 25, 2, 30, tzinfo=winter)
    with writing(tmp_path / "campaign") as writer:
        (number,) = writer.append([entry(start=start, end=end)])
    night = load_log(tmp_path / "campaign").latest[number]
    assert night.ends - night.begins == 3600


def test_clock_set_back_is_remarked(campaign):
    moment = load_log(campaign.folder).last_recorded - 3540
    with writing(campaign.folder) as writer:
        writer.append([entry()], moment)
    assert any("was recorded 3540 s before" in remark for remark in load_log(campaign.folder).remarks)


def test_clock_ahead_is_remarked(campaign):
    with writing(campaign.folder) as writer:
        writer.append([entry(start=BEGIN + datetime.timedelta(hours=1))], BEGIN.timestamp())
    assert any(f"({LINES + 1}) begin after they were recorded" in remark for remark in verdicts(campaign)["S"].remarks)


def test_log_that_is_being_written_is_held(campaign):
    with writing(campaign.folder):
        for hold in (writing(campaign.folder), campaign.at_rest()):
            with pytest.raises(LockedError), hold:
                pass


def test_cut_off_line_is_set_aside(campaign):
    whole = lines_of(campaign)
    rewrite(campaign, [*whole, b'{"by":"kap'])
    assert f"line {LINES + 1} of outages.jsonl was cut off" in load_log(campaign.folder).remarks[0]
    with writing(campaign.folder) as writer:
        writer.append([entry()])
    assert lines_of(campaign)[:LINES] == whole and load_log(campaign.folder).lines == LINES + 1
    (torn,) = (campaign.folder / RAW).glob("torn-*")
    assert torn.read_text() == '{"by":"kap'


@few_or_many("least", 10, 100)
def test_a_writer_that_is_killed_again_and_again(campaign, least):
    def work():
        for _ in range(30):
            with writing(campaign.folder) as writer:
                writer.append([entry(note="x" * 900) for _ in range(20)])

    draw = random.Random(13)
    kills = before = 0
    while kills < least:
        kills += not in_child(work, draw.uniform(0, 0.1))
        log = load_log(campaign.folder)
        assert log.lines >= before, "an entry was lost"
        before = log.lines
    with writing(campaign.folder) as writer:
        writer.append([entry()])
    assert not load_log(campaign.folder).torn


def test_altered_raw_answer_is_found(campaign):
    evidence = keep_raw(campaign.folder, "sacctmgr-1", "node2|…\n")
    with writing(campaign.folder) as writer:
        writer.append([entry(evidence=(evidence, "raw/sacctmgr-1.txt:1"))])
    log = load_log(campaign.folder)
    assert not altered_raw(log)
    (campaign.folder / RAW / "sacctmgr-1.txt").write_text("node3|…\n")
    assert altered_raw(log) == ["altered since the outage log named it: raw/sacctmgr-1.txt"]
    (campaign.folder / RAW / "sacctmgr-1.txt").unlink()
    assert altered_raw(log) == ["missing, though the outage log names it: raw/sacctmgr-1.txt"]


def test_altered_line_of_a_dossier_is_found(campaign, tmp_path):
    target = tmp_path / "dossier"
    write_dossier(campaign, target, pdf=False, how_signed=None)
    proof = verify(target)
    assert not proof.problems
    assert any(f"{LINES} lines, each with the hash" in line for line in proof.good)
    lines = (target / LOG).read_bytes().splitlines(keepends=True)
    (target / LOG).write_bytes(b"".join([*lines[:3], lines[3].replace(b"n1", b"n2"), *lines[4:]]))
    assert verify(target).problems == [f"altered: {LOG}"]
    # With a manifest that was made to fit, the chain still tells.
    manifest = json.loads((target / "manifest.json").read_text())
    manifest["files"][LOG] = sha256(target / LOG)
    (target / "manifest.json").write_text(json.dumps(manifest))
    assert any("line 4: it was changed" in line for line in verify(target).problems)


def test_dossier_of_an_earlier_version_with_signed_weeks_verifies_in_part(campaign, tmp_path):
    (campaign.folder / WEEKS / "2026-W49").mkdir(parents=True)
    (campaign.folder / WEEKS / "2026-W49" / "manifest.json").write_text("{}")
    write_dossier(campaign, tmp_path / "dossier", pdf=False, how_signed=None)
    proof = verify(tmp_path / "dossier")
    assert proof.exit_status == 2 and any("signatures in weeks/" in line for line in proof.unchecked)
