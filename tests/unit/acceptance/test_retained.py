"""Retained clauses: a rerun against a signed dossier, what it needs to count, and how often it errs."""

import datetime
import functools
import json
import pathlib
import shutil

import pytest
import yaml

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from kappa.core.ground.order_statistics import Statistic
from reports.acceptance.campaign.folder import Campaign
from reports.acceptance.campaign.signature import MANIFEST, manifest_of
from reports.acceptance.contract import binding_contract, earlier_contracts, freeze
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import Acceptance, ClauseOutcome, Planning
from reports.acceptance.kinds.retained import _months_after
from reports.acceptance.kinds.retained_chance import DRAWS, _noise, failing
from tests.unit.acceptance.conftest import Filled, clause, contract
from tests.unit.acceptance.test_signature import needs_minisign
from tests.unit.reports.samples import latency

pytestmark = needs_minisign
OLD = (9, 9.1, 8.9, 9, 9.2, 8.8)
# The second one reads the same metric as if more were better.
CLAUSES = (
    clause(repeats=6),
    clause(id="B2", comparison="at_least", threshold={"value": 5, "unit": "us"}, repeats=6),
    clause(id="B3", threshold={"value": 5, "unit": "us"}, repeats=7, mandatory=False),
)
OTHER = "ab" * 32
CHANGE = f"program {OTHER[:16]}"
FILES = {"/opt/osu.py": "cd" * 32}


def provenance(**changes):
    return {**latency()["provenance"], "files": FILES, **changes}


@pytest.fixture
def sign_as_buyer(keys):
    return functools.partial(write_dossier, pdf=False, how_signed=f"minisign:{keys['Buyer'][1]}")


@pytest.fixture
def signed(tmp_path, sign_as_buyer):
    """The accepted dossier: median 9 us of six repeats, and a clause that lacks a repeat."""
    old = Filled(tmp_path / "old").demand(*CLAUSES).measure(*OLD, provenance=provenance())
    assert sign_as_buyer(old, tmp_path / "signed").acceptance is Acceptance.ACCEPTED
    return tmp_path / "signed"


@pytest.fixture
def retained(keys):
    def make(dossier="signed", **changes):
        key = pathlib.Path(keys["Buyer"][0]).read_text().splitlines()[1]
        block = {"dossier": str(dossier), "share": 0.9, "every_months": 24, "keys": [key], **changes}
        block = {name: value for name, value in block.items() if value is not None}
        return {"id": "R1", "text": "It stays fast.", "retained": block, "mandatory": True}

    return make


def keep_inputs(campaign, verifying=verify):
    agreed = binding_contract(campaign.folder)
    file = campaign.folder.parent / "acceptance.yaml"
    planning = Planning(agreed, file, campaign.folder, lambda dossier: judge(Campaign(dossier)), verifying)
    agreed.clauses[0].keep_inputs(planning)
    return planning


@pytest.fixture
def rerun(tmp_path, signed, retained):
    """A campaign with a copy of the accepted dossier."""

    def make(*values, recorded=None, **changes):
        campaign = Filled(tmp_path / "campaign").demand(retained(**changes))
        keep_inputs(campaign)
        return campaign.measure(*values, provenance=recorded or provenance())

    return make


def only(campaign):
    return judge(campaign).clauses[0]


@pytest.mark.parametrize(
    ("values", "outcome", "met", "lowest"),
    [
        ([9] * 6, ClauseOutcome.MET, [True, True], 100),
        ([10] * 6, ClauseOutcome.MET, [True, True], 90),
        ([10.01] * 6, ClauseOutcome.NOT_MET, [False, True], 89.91),
        ([8.1] * 6, ClauseOutcome.MET, [True, True], 90),
        ([8.09] * 6, ClauseOutcome.NOT_MET, [True, False], 89.89),
        ([1, 1, 9, 9, 99, 99], ClauseOutcome.MET, [True, True], 100),
        ([9] * 5, ClauseOutcome.INCOMPLETE, [None, None], 100),
        ([], ClauseOutcome.INCOMPLETE, [None, None], None),
    ],
)
def test_each_figure_keeps_its_share(rerun, values, outcome, met, lowest):
    verdict = only(rerun(*values))
    figures = verdict.detail.figures
    assert (verdict.outcome, [figure.met for figure in figures]) == (outcome, met)
    assert verdict.value == (lowest and pytest.approx(lowest, abs=0.01))
    assert [figure.now.clause.threshold for figure in figures] == pytest.approx([10, 8.1])
    assert [figure.accepted.clause.id for figure in figures] == ["B1", "B2"]


def test_another_program_needs_the_agreement_of_all(rerun, retained):
    campaign = rerun(*OLD, recorded=provenance(sha256=OTHER))
    verdict = only(campaign)
    assert verdict.outcome is ClauseOutcome.INCOMPLETE
    before = latency()["provenance"]["sha256"][:16]
    assert [problem for problem in verdict.problems if f"{CHANGE!r} in place of {before} (B1, B2)" in problem]
    agreed = {"change": CHANGE, "reason": "new compiler", "parties": ["buyer"], "date": "2028-11-21"}
    later = campaign.folder.parent / "later.yaml"
    later.write_text(yaml.safe_dump(contract(retained(agreed=[agreed]))))
    freeze(campaign.folder, later)
    verdict = only(campaign)
    assert (verdict.outcome, verdict.problems) == (ClauseOutcome.MET, ())
    assert any("as agreed" in remark for remark in verdict.remarks)
    assert list(earlier_contracts(campaign.folder)) == ["contract.1.yaml"]
    later.write_text(yaml.safe_dump(contract(retained(agreed=[agreed], share=0.8))))
    with pytest.raises(InputError, match="more than waivers"):
        freeze(campaign.folder, later)


@pytest.mark.parametrize(
    ("before", "now", "name"),
    [
        ({}, {"sha256": ""}, "program unknown"),
        ({"sha256": ""}, {"sha256": ""}, "program unknown"),
        ({}, {"files": {**FILES, "/opt/libfast.so": OTHER}}, f"file libfast.so {OTHER[:16]}"),
        ({}, {"files": {}}, "file osu.py none"),
        ({}, {"nodelist": ["node1", "node2", "node3"]}, "nodes 3"),
        ({}, {"files": {**FILES, "/opt/spack.lock": OTHER}, "kernel": "7.0", "suite_revision": "other"}, None),
    ],
)
def test_inputs_that_differ_are_named(tmp_path, sign_as_buyer, retained, before, now, name):
    old = Filled(tmp_path / "old").demand(*CLAUSES).measure(*OLD, provenance=provenance(**before))
    sign_as_buyer(old, tmp_path / "signed")
    campaign = Filled(tmp_path / "campaign").demand(retained())
    keep_inputs(campaign)
    verdict = only(campaign.measure(*OLD, provenance=provenance(**now)))
    names = {change for figure in verdict.detail.figures for change in figure.changes}
    assert names == ({name} if name else set())
    assert verdict.outcome is (ClauseOutcome.INCOMPLETE if name else ClauseOutcome.MET)


def alter(path):
    path.write_bytes(path.read_bytes().replace(b"9.2", b"9.3"))


def unsign(dossier):
    (dossier / f"{MANIFEST}.minisig").unlink()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (shutil.rmtree, f"no valid {MANIFEST}"),
        (lambda dossier: (dossier / MANIFEST).write_text("{"), f"no valid {MANIFEST}"),
        (unsign, "not signed"),
        (lambda dossier: alter(dossier / "verdict.json"), "altered: verdict.json"),
    ],
)
def test_a_damaged_copy_is_incomplete_and_a_damaged_dossier_is_refused(
    tmp_path, rerun, signed, retained, damage, problem
):
    campaign = rerun(*OLD)
    damage(campaign.folder / "accepted/R1")
    verdict = only(campaign)
    assert verdict.outcome is ClauseOutcome.INCOMPLETE
    assert verdict.problems[0].startswith(f"accepted/R1: {problem}; ")
    damage(signed)
    for changes in ({}, {"keys": None}):
        with pytest.raises(
            InputError, match=f"^{tmp_path}/acceptance.yaml: clause R1: retained.dossier: {signed}: {problem}"
        ):
            keep_inputs(Filled(tmp_path / "other").demand(retained(**changes)))
    assert not (tmp_path / "other/accepted").exists()


@pytest.mark.parametrize(
    ("values", "clauses", "changes", "message"),
    [
        ([99] * 6, CLAUSES, {}, "it is NOT ACCEPTED"),
        ([-9] * 6, CLAUSES[:1], {}, "B1: a share of a figure below 0 is not defined"),
        (OLD, CLAUSES, {"keys": None}, "or name the keys of its parties in retained.keys"),
        (OLD, CLAUSES, {"keys": ["0" * 40]}, f"not signed by {'0' * 40}"),
    ],
)
def test_a_dossier_without_figures_or_signature_is_refused(
    tmp_path, sign_as_buyer, retained, values, clauses, changes, message
):
    sign_as_buyer(Filled(tmp_path / "old").demand(*clauses).measure(*values), tmp_path / "signed")
    with pytest.raises(InputError, match=message):
        keep_inputs(Filled(tmp_path / "campaign").demand(retained(**changes)))


def test_the_dossier_of_a_rerun_is_refused(tmp_path, rerun, sign_as_buyer, retained):
    sign_as_buyer(rerun(*OLD), tmp_path / "second")
    with pytest.raises(InputError, match="name the dossier of the first measurements"):
        keep_inputs(Filled(tmp_path / "third").demand(retained("second")))


def test_one_command_verifies_a_dossier_once(tmp_path, signed, retained):
    calls = []

    def verifying(folder):
        calls.append(folder)
        return verify(folder)

    planning = keep_inputs(Filled(tmp_path / "campaign").demand(retained()), verifying)
    shutil.rmtree(signed)
    [again] = planning.contract.clauses
    assert [series.id for series in again.series(planning)] == ["R1/B1", "R1/B2"]
    assert again.plan(planning).document["share"] == 0.9
    assert calls == [signed]
    keep_inputs(Campaign(tmp_path / "campaign"), verifying)
    assert calls[1:] == [tmp_path / "campaign/accepted/R1"], "the copy counts in place of the dossier"
    assert [path.name for path in (tmp_path / "campaign/accepted").iterdir()] == ["R1"]


@pytest.fixture
def dossier(tmp_path, rerun):
    write_dossier(rerun(*OLD), tmp_path / "d", pdf=False, how_signed=None)
    return tmp_path / "d"


def test_dossier_has_the_accepted_one_and_each_figure(dossier, signed):
    proof = verify(dossier)
    assert (proof.exit_status, proof.problems) == (2, []), "only the copy of the accepted one is signed"
    assert any(line.startswith(f"accepted/R1: {MANIFEST}.minisig: ") for line in proof.good)
    copied = {path.relative_to(dossier / "accepted/R1") for path in (dossier / "accepted/R1").rglob("*")}
    assert copied == {path.relative_to(signed) for path in signed.rglob("*")}
    page = (dossier / "dossier.html").read_text()
    assert all(f">{cell}</td>" in page for cell in ("≤ 10 us", "9 us", "≥ 8.1 us", "100 %", "✔ met"))
    [document] = json.loads((dossier / "verdict.json").read_text())["clauses"]
    figures = document["retained"]["figures"]
    assert [(figure["accepted"], figure["share"], figure["met"]) for figure in figures] == [(9, 1, True)] * 2


def test_verify_names_a_changed_byte_of_the_accepted_dossier(dossier):
    copied = dossier / "accepted/R1"
    alter(copied / "verdict.json")
    assert verify(dossier).problems == ["altered: accepted/R1/verdict.json"]

    def list_anew(folder):
        (folder / MANIFEST).unlink()
        (folder / MANIFEST).write_text(manifest_of(folder))

    list_anew(dossier)
    assert verify(dossier).problems == ["accepted/R1: altered: verdict.json"]
    signature = (copied / f"{MANIFEST}.minisig").read_bytes()
    unsign(copied)
    list_anew(copied)
    (copied / f"{MANIFEST}.minisig").write_bytes(signature)
    list_anew(dossier)
    assert verify(dossier).problems[0].startswith(f"accepted/R1: {MANIFEST}.minisig: ")


# Of a normal law with the standard deviation of the median of six, 0.4634; at the share, both answers are as likely.
@pytest.mark.parametrize(
    ("spread", "speed", "fails"),
    [(0.02, 0.92, 0.0467), (0.02, 0.88, 0.957), (0.05, 0.92, 0.251), (0.05, 0.88, 0.753), (0.02, 0.9, 0.5)],
)
@pytest.mark.parametrize("at_least", [True, False])
def test_chance_that_a_machine_fails(spread, speed, fails, at_least):
    # Four standard deviations of a simulated chance of one half, and the digits of the expected ones.
    tolerance = 4 * (0.25 / DRAWS) ** 0.5 + 0.0005
    assert failing(Statistic("median"), 6, at_least, spread, 0.9, speed) == pytest.approx(fails, abs=tolerance)


@pytest.mark.parametrize(
    ("statistic", "at_least", "mean"),
    # Of the extremes and the third of six standard normal values (Harter 1961).
    [
        (Statistic("minimum"), False, -1.26721),
        (Statistic("maximum"), True, 1.26721),
        (Statistic("percentile", percentile=90), True, 1.26721),
        (Statistic("percentile", percentile=50), True, -0.20155),
        (Statistic("every_node", nodes=2), True, -1.26721),
        (Statistic("every_node", nodes=2), False, 1.26721),
    ],
)
def test_noise_of_an_order_statistic(statistic, at_least, mean):
    # Four standard deviations of the mean of both runs' draws.
    assert _noise(statistic, 6, at_least).mean() == pytest.approx(mean, abs=4 * 0.65 / (2 * DRAWS) ** 0.5)


def test_plan_states_the_chance_and_the_day(tmp_path, signed, retained):
    planning = keep_inputs(Filled(tmp_path / "campaign").demand(retained()))
    plan = planning.contract.clauses[0].plan(planning)
    chances = plan.document["chances"]["B1"]
    # The standard deviation of the repeats is 0.141 us of 9 us; its limit is 2.09 times as much with 5 degrees.
    assert chances["spread"] == pytest.approx(0.01571, abs=1e-5)
    assert chances["most_spread"] / chances["spread"] == pytest.approx(2.089, abs=1e-3)
    assert [round(speed, 2) for speed, fails, *_ in chances["chances"] if fails] == [1, 0.92]
    assert [round(speed, 2) for speed, fails, *_ in chances["chances"] if not fails] == [0.88]
    assert f"due by {plan.document['due']}, then every 24 months" in plan.lines[0]


def test_a_run_checks_the_dossier_before_it_binds_the_contract(tmp_path, signed, retained, capsys):
    unsign(signed)
    file = tmp_path / "acceptance.yaml"
    file.write_text(yaml.safe_dump(contract(retained())))
    assert main(["acceptance", "run", "embedded", str(tmp_path / "campaign"), "--contract", str(file)]) == 2
    assert "retained.dossier" in capsys.readouterr().err
    assert not (tmp_path / "campaign/contract.yaml").exists(), "the path can still be corrected"


@pytest.mark.parametrize(
    ("day", "months", "later"),
    [((2026, 11, 21), 24, (2028, 11, 21)), ((2024, 2, 29), 12, (2025, 2, 28)), ((2026, 12, 31), 2, (2027, 2, 28))],
)
def test_a_date_some_months_later(day, months, later):
    assert _months_after(datetime.date(*day), months) == datetime.date(*later)
