"""The chain of measurements: whoever alters a figure, an output or the chain itself is found, with the file's name."""

import json
import shutil

import pytest

from kappa.app.conduct import acceptance as running
from kappa.app.conduct.session import Conductor
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import Stop
from kappa.core.sites.load import Site
from reports.acceptance.campaign.folder import Campaign
from reports.acceptance.campaign.layout import MEASURED, REPORT, SUMS
from reports.acceptance.campaign.measured import load_measured, note_earlier, note_measured
from reports.acceptance.campaign.signature import NOT_SIGNED
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import ClauseOutcome
from reports.acceptance.plan import AcceptancePlan, PlannedSeries
from tests.unit.acceptance.conftest import clause
from tests.unit.acceptance.test_campaign import SERIES, offer
from tests.unit.acceptance.test_mix import demanded, measured
from tests.unit.reports.samples import latency, report

OUTPUT = "output/rfm_job.out"


@pytest.fixture
def filled(campaign):
    for repeat in (1, 2, 3):
        campaign.add(latency(value=90), repeat, raw={OUTPUT: "8 90.0\n"})
    return campaign


def name_of(campaign, repeat=2):
    return f"attempts/{next(a.folder.name for a in campaign.attempts() if a.repeat == repeat)}"


def forge(campaign, value=9.0, repeat=2):
    """Write a better value into a record, as an attacker does."""
    path = campaign.folder / name_of(campaign, repeat) / REPORT
    document = json.loads(path.read_text())
    for figures in document["runs"][0]["testcases"][0]["perfvalues"].values():
        figures[0] = value
    path.write_text(json.dumps(document))


def dossier_of(campaign):
    write_dossier(campaign, campaign.folder / "d", pdf=False, how_signed=None)
    return campaign.folder / "d"


def assert_found(campaign, problem):
    """The clause is incomplete because of it, and the dossier is no longer intact."""
    [found] = judge(campaign).clauses
    assert found.outcome is ClauseOutcome.INCOMPLETE
    assert problem in found.problems
    proof = verify(dossier_of(campaign))
    assert proof.exit_status == 1
    assert problem in proof.problems


def test_unaltered_campaign_is_intact_and_shows_the_last_hash(filled):
    proof = verify(dossier_of(filled))
    assert (proof.problems, proof.unchecked) == ([], [NOT_SIGNED])
    last = load_measured(filled.folder).last_hash
    assert any(last in line for line in proof.good)
    assert last in (filled.folder / "d/dossier.html").read_text()


def test_value_changed_in_a_record_names_the_record(filled):
    forge(filled)
    assert_found(filled, f"altered since it was measured: {name_of(filled)}/{REPORT}")


def test_raw_output_changed_names_the_file(filled):
    (filled.folder / name_of(filled) / OUTPUT).write_text("8 9.0\n")
    assert_found(filled, f"altered since it was measured: {name_of(filled)}/{OUTPUT}")


def test_raw_output_removed_names_the_file(filled):
    (filled.folder / name_of(filled) / OUTPUT).unlink()
    assert_found(filled, f"missing since it was measured: {name_of(filled)}/{OUTPUT}")


def test_file_added_to_an_attempt_is_named(filled):
    (filled.folder / name_of(filled) / "output/better.out").write_text("8 9.0\n")
    assert_found(filled, f"added since it was measured: {name_of(filled)}/output/better.out")


def test_hashes_written_anew_are_named(filled):
    forge(filled)
    folder = filled.folder / name_of(filled)
    shutil.copytree(filled.folder, filled.folder.parent / "copy")
    note_measured(filled.folder.parent / "copy" / name_of(filled))
    shutil.copy(filled.folder.parent / "copy" / name_of(filled) / SUMS, folder)
    assert_found(filled, f"altered since it was measured: {name_of(filled)}/{SUMS}")


def test_second_line_about_an_attempt_breaks_the_chain(filled):
    forge(filled)
    note_measured(filled.folder / name_of(filled))
    assert_found(filled, f"{MEASURED}: line 4: {name_of(filled)} was measured before")


def test_line_removed_breaks_the_chain(filled):
    lines = (filled.folder / MEASURED).read_text().splitlines(keepends=True)
    (filled.folder / MEASURED).write_text("".join([lines[0], lines[2]]))
    assert_found(filled, f"{MEASURED}: line 2: expected the id 2, found 3: lines were removed, moved or added")
    with pytest.raises(InputError, match="line 2"):
        note_earlier(filled.folder)


def test_last_line_removed_leaves_an_attempt_outside_the_chain(filled):
    lines = (filled.folder / MEASURED).read_text().splitlines(keepends=True)
    (filled.folder / MEASURED).write_text("".join(lines[:2]))
    assert_found(filled, f"not in {MEASURED}: {name_of(filled, 3)}")


def test_attempt_removed_is_named(filled):
    """With it gone, the attempt before would count again."""
    filled.add(latency(value=9), repeat=2, number=2)
    gone = filled.attempts()[2].folder
    shutil.rmtree(gone)
    assert_found(filled, f"missing since it was measured: attempts/{gone.name}")


def test_report_cut_off_afterwards_does_not_make_an_attempt_interrupted(filled):
    filled.add(latency(value=99), repeat=2, number=2)
    last = filled.attempts()[2].folder
    (last / REPORT).write_text((last / REPORT).read_text()[:100])
    assert_found(filled, f"altered since it was measured: attempts/{last.name}/{REPORT}")


def test_answer_of_slurm_changed_names_the_file(campaign):
    demanded(campaign)
    folder = measured(campaign.folder).folder
    (folder / "sacct.txt").write_text((folder / "sacct.txt").read_text() + "\n")
    assert_found(campaign, f"altered since it was measured: operations/{folder.name}/sacct.txt")


def test_chain_deleted_is_unchecked(filled):
    (filled.folder / MEASURED).unlink()
    proof = verify(dossier_of(filled))
    assert (proof.exit_status, proof.problems) == (2, [])
    assert any("before Kappa kept a chain" in line for line in proof.unchecked)
    assert any("before Kappa kept a chain" in line for line in judge(filled).clauses[0].remarks)


def test_attempts_of_an_earlier_run_are_unchecked(filled):
    (filled.folder / MEASURED).unlink()
    note_earlier(filled.folder)
    proof = verify(dossier_of(filled))
    assert (proof.exit_status, proof.problems) == (2, [])
    assert sum(MEASURED in line for line in proof.unchecked) == 3


def test_part_of_a_line_that_a_killed_run_left_is_cut_off(filled):
    whole = (filled.folder / MEASURED).read_text()
    (filled.folder / MEASURED).write_text(whole + '{"id":"4","re')
    note_measured(filled.add(latency(value=9), repeat=4, noted=False).folder)
    text = (filled.folder / MEASURED).read_text()
    assert text.startswith(whole) and len(text.splitlines()) == 4
    assert verify(dossier_of(filled)).problems == []


def test_line_about_a_folder_elsewhere_is_refused(filled):
    text = (filled.folder / MEASURED).read_text().replace(name_of(filled, 3), "attempts/..")
    (filled.folder / MEASURED).write_text(text)
    assert load_measured(filled.folder).broken.startswith(f"{MEASURED}: line 3:")


def test_each_attempt_is_noted_when_its_session_ends(campaign, monkeypatch, capsys):
    """Also an attempt that did not finish."""
    campaign.demand(clause(repeats=2))
    planned = AcceptancePlan((PlannedSeries(offer(SERIES, None), ("B1",), 2),), {})

    def run_attempt(site, contract, checks, attempt, conductor, tell):
        if attempt.repeat == 2 and attempt.number == 1:
            raise InputError("ReFrame's session ended early")
        document = report([latency(value=1)], uuid=attempt.folder.name)
        (attempt.folder / REPORT).write_text(json.dumps(document))

    def work():
        with campaign.locked() as lock:
            conductor = Conductor(Stop(), [lock])
            running.run_series(campaign, campaign.contract, planned, Site(campaign.folder), conductor, again=False)

    monkeypatch.setattr(running, "run_attempt", run_attempt)
    with pytest.raises(InputError, match="ended early"):
        work()
    work()
    said = capsys.readouterr().out
    found = load_measured(campaign.folder)
    assert [name[-9:] for name in found.lines] == ["r0001-a01", "r0002-a01", "r0002-a02"]
    assert found.last_hash in said
    assert Campaign(campaign.folder).attempts()[1].session is None
    assert found.problems() == []
