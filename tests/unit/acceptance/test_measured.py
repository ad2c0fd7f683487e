"""The chain of measurements: whoever alters a figure, an output or the chain itself is found, with the file's name."""

import json
import os
import shutil

import pytest

from kappa.app.conduct import acceptance as running
from kappa.core.ground.errors import InputError
from reports.acceptance.campaign.folder import Campaign
from reports.acceptance.campaign.layout import MEASURED, REPORT, SUMS
from reports.acceptance.campaign.measured import load_measured, note_earlier, note_measured
from reports.acceptance.campaign.signature import NOT_SIGNED
from reports.acceptance.dossier import verify
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import ClauseOutcome
from tests.unit.acceptance.conftest import clause
from tests.unit.acceptance.test_mix import demanded, measured
from tests.unit.reports.samples import latency, report

OUTPUT = "output/rfm_job.out"


@pytest.fixture
def filled(campaign):
    for repeat in (1, 2, 3):
        campaign.add(latency(value=90), repeat, raw={OUTPUT: "8 90.0\n"})
    return campaign


def folder_of(campaign, repeat=2):
    return next(attempt.folder for attempt in campaign.attempts() if attempt.repeat == repeat)


def forge(campaign):
    """Write a better value into a record, as an attacker does."""
    path = folder_of(campaign) / REPORT
    document = json.loads(path.read_text())
    for figures in document["runs"][0]["testcases"][0]["perfvalues"].values():
        figures[0] = 9.0
    path.write_text(json.dumps(document))


def write_hashes_anew(campaign):
    forge(campaign)
    copy = campaign.folder.parent / "copy"
    shutil.copytree(campaign.folder, copy)
    note_measured(copy / "attempts" / folder_of(campaign).name)
    shutil.copy(copy / "attempts" / folder_of(campaign).name / SUMS, folder_of(campaign))


def note_again(campaign):
    forge(campaign)
    note_measured(folder_of(campaign))


def keep_lines(*kept):
    def keep(campaign):
        lines = (campaign.folder / MEASURED).read_text().splitlines(keepends=True)
        (campaign.folder / MEASURED).write_text("".join(lines[number] for number in kept))

    return keep


def assert_found(campaign, problem):
    """The clause is incomplete because of it, and the dossier is no longer intact."""
    [judged] = judge(campaign).clauses
    assert judged.outcome is ClauseOutcome.INCOMPLETE
    assert problem in judged.problems
    proof = verify(campaign.dossier())
    assert proof.exit_status == 1
    assert problem in proof.problems


def test_unaltered_campaign_is_intact_and_shows_the_last_hash(filled):
    dossier, last = filled.dossier(), load_measured(filled.folder).last_hash
    proof = verify(dossier)
    assert (proof.problems, proof.unchecked) == ([], [NOT_SIGNED])
    assert any(last in line for line in proof.good)
    assert last in (dossier / "dossier.html").read_text()


REMOVED = "expected the id 2, found 3: lines were removed, moved or added"


@pytest.mark.parametrize(
    ("alter", "problem"),
    [
        (forge, f"altered since it was measured: {{name}}/{REPORT}"),
        (lambda c: (folder_of(c) / OUTPUT).write_text("8 9.0\n"), f"altered since it was measured: {{name}}/{OUTPUT}"),
        (lambda c: (folder_of(c) / OUTPUT).unlink(), f"missing since it was measured: {{name}}/{OUTPUT}"),
        (lambda c: (folder_of(c) / "x.out").write_text(""), "added since it was measured: {name}/x.out"),
        (write_hashes_anew, f"altered since it was measured: {{name}}/{SUMS}"),
        (note_again, f"{MEASURED}: line 4: {{name}} was measured before"),
        (keep_lines(0, 2), f"{MEASURED}: line 2: {REMOVED}"),
        (keep_lines(0, 1), f"not in {MEASURED}: {{third}}"),
    ],
    ids=["record", "output", "output removed", "file added", "hashes", "second line", "line removed", "last line"],
)
def test_alteration_is_named(filled, alter, problem):
    name, third = (f"attempts/{folder_of(filled, repeat).name}" for repeat in (2, 3))
    alter(filled)
    assert_found(filled, problem.format(name=name, third=third))


def test_run_does_not_go_on_with_a_broken_chain(filled):
    keep_lines(0, 2)(filled)
    with pytest.raises(InputError, match="line 2"):
        note_earlier(filled.folder)


@pytest.mark.parametrize(
    ("hide", "problem"),
    [
        # The attempt before would count again.
        (shutil.rmtree, "missing since it was measured: attempts/{name}"),
        (lambda last: os.truncate(last / REPORT, 100), f"altered since it was measured: attempts/{{name}}/{REPORT}"),
    ],
    ids=["removed", "report cut"],
)
def test_later_attempt_that_no_longer_counts_is_named(filled, hide, problem):
    last = filled.add(latency(value=99), repeat=2, number=2).folder
    hide(last)
    assert_found(filled, problem.format(name=last.name))


def test_answer_of_slurm_changed_names_the_file(campaign):
    demanded(campaign)
    folder = measured(campaign.folder).folder
    (folder / "sacct.txt").write_text((folder / "sacct.txt").read_text() + "\n")
    assert_found(campaign, f"altered since it was measured: operations/{folder.name}/sacct.txt")


def test_chain_deleted_is_unchecked(filled):
    (filled.folder / MEASURED).unlink()
    proof = verify(filled.dossier())
    assert (proof.exit_status, proof.problems) == (2, [])
    assert any("before Kappa kept a chain" in line for line in proof.unchecked)
    assert any("before Kappa kept a chain" in line for line in judge(filled).clauses[0].remarks)


def test_attempts_of_an_earlier_run_are_unchecked(filled):
    (filled.folder / MEASURED).unlink()
    note_earlier(filled.folder)
    proof = verify(filled.dossier())
    assert (proof.exit_status, proof.problems) == (2, [])
    assert sum(MEASURED in line for line in proof.unchecked) == 3


def test_part_of_a_line_that_a_killed_run_left_is_cut_off(filled):
    whole = (filled.folder / MEASURED).read_text()
    (filled.folder / MEASURED).write_text(whole + '{"id":"4","re')
    note_measured(filled.add(latency(value=9), repeat=4, noted=False).folder)
    text = (filled.folder / MEASURED).read_text()
    assert text.startswith(whole) and len(text.splitlines()) == 4
    assert verify(filled.dossier()).problems == []


def test_line_about_a_folder_elsewhere_is_refused(filled):
    text = (filled.folder / MEASURED).read_text()
    (filled.folder / MEASURED).write_text(text.replace(f"attempts/{folder_of(filled, 3).name}", "attempts/.."))
    assert load_measured(filled.folder).broken.startswith(f"{MEASURED}: line 3:")


def test_each_attempt_is_noted_when_its_session_ends(campaign, monkeypatch, capsys):
    """Also an attempt that did not finish."""
    campaign.demand(clause(repeats=2))

    def run_attempt(site, contract, checks, attempt, conductor, tell):
        if attempt.repeat == 2 and attempt.number == 1:
            raise InputError("ReFrame's session ended early")
        document = report([latency(value=1)], uuid=attempt.folder.name)
        (attempt.folder / REPORT).write_text(json.dumps(document))

    monkeypatch.setattr(running, "run_attempt", run_attempt)
    with pytest.raises(InputError, match="ended early"):
        campaign.run(2)
    campaign.run(2)
    chain = load_measured(campaign.folder)
    assert [name[-9:] for name in chain.lines] == ["r0001-a01", "r0002-a01", "r0002-a02"]
    assert chain.last_hash in capsys.readouterr().out
    assert Campaign(campaign.folder).attempts()[1].session is None
    assert chain.problems() == []
