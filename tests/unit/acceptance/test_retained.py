"""Retained clauses: a rerun against a signed dossier, what it needs to count, and how often it errs."""

import datetime
import json
import pathlib
import re
import shutil

import pytest
import yaml

from kappa.app.command.main import main
from kappa.app.conduct.session import CHECKS
from kappa.core.ground.errors import InputError
from kappa.core.ground.order_statistics import Statistic
from kappa.core.record.series import CaseSeries
from reports.acceptance.accepted import accepted_dossiers, keep_copies
from reports.acceptance.campaign.signature import MANIFEST, manifest_of, sign
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import Acceptance, ClauseOutcome
from reports.acceptance.plan import Offer
from reports.acceptance.retained import months_after
from reports.acceptance.retained_chance import failing
from tests.unit.acceptance.conftest import Filled, clause, contract
from tests.unit.acceptance.test_signature import needs_minisign
from tests.unit.reports.samples import latency, loaded, report

pytestmark = needs_minisign
OLD = (9, 9.1, 8.9, 9, 9.2, 8.8)
# The second one reads the same metric as if more were better.
CLAUSES = (
    clause(repeats=6, predicted={"value": 8, "source": "a bid", "basis": "measured"}),
    clause(id="B2", comparison="at_least", threshold={"value": 5, "unit": "us"}, repeats=6),
    clause(id="B3", threshold={"value": 5, "unit": "us"}, repeats=7, mandatory=False),
)
OTHER = "ab" * 32
CHANGE = f"program {OTHER[:16]}"
FILES = {"/opt/osu.py": "cd" * 32}


def provenance(**changes):
    return {**latency()["provenance"], "files": FILES, **changes}


@pytest.fixture
def key(keys):
    return pathlib.Path(keys["Buyer"][0]).read_text().splitlines()[1]


@pytest.fixture
def signed(tmp_path, keys):
    """The accepted dossier: median 9 us of six repeats, and a clause that lacks a repeat."""
    old = Filled(tmp_path / "old").demand(*CLAUSES).measure(*OLD, provenance=provenance())
    assert write_dossier(old, tmp_path / "signed", pdf=False, how_signed=None).acceptance is Acceptance.ACCEPTED
    sign(tmp_path / "signed", f"minisign:{keys['Buyer'][1]}")
    return tmp_path / "signed"


@pytest.fixture
def retained(key):
    def make(dossier="signed", **changes):
        block = {"dossier": str(dossier), "share": 0.9, "every_months": 24, "keys": [key], **changes}
        block = {name: value for name, value in block.items() if value is not None}
        return {"id": "R1", "text": "It stays fast.", "retained": block, "mandatory": True}

    return make


@pytest.fixture
def rerun(tmp_path, signed, retained):
    """A campaign with a copy of the accepted dossier."""

    def make(*values, found=None, **changes):
        campaign = Filled(tmp_path / "campaign").demand(retained(**changes))
        keep_copies(campaign, accepted_dossiers(campaign.contract, tmp_path / "acceptance.yaml", campaign.folder))
        return campaign.measure(*values, provenance=found or provenance())

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
    ],
)
def test_each_figure_keeps_its_share(rerun, values, outcome, met, lowest):
    found = only(rerun(*values))
    assert found.outcome is outcome
    assert [one.met for one in found.retained.figures] == met
    assert found.value == pytest.approx(lowest, abs=0.01)
    assert [one.now.clause.threshold for one in found.retained.figures] == pytest.approx([10, 8.1])
    assert [one.accepted.clause.id for one in found.retained.figures] == ["B1", "B2"]


def test_another_program_needs_the_agreement_of_all(rerun, retained):
    campaign = rerun(*OLD, found=provenance(sha256=OTHER))
    found = only(campaign)
    assert found.outcome is ClauseOutcome.INCOMPLETE
    before = latency()["provenance"]["sha256"][:16]
    assert [problem for problem in found.problems if f"{CHANGE!r} in place of {before} (B1, B2)" in problem]
    agreed = {"change": CHANGE, "reason": "new compiler", "parties": ["buyer"], "date": "2028-11-21"}
    later = campaign.folder.parent / "later.yaml"
    later.write_text(yaml.safe_dump(contract(retained(agreed=[agreed]))))
    campaign.freeze(later)
    found = only(campaign)
    assert (found.outcome, found.problems) == (ClauseOutcome.MET, ())
    assert any("as agreed" in remark for remark in found.remarks)
    assert list(campaign.earlier_contracts()) == ["contract.1.yaml"]
    later.write_text(yaml.safe_dump(contract(retained(agreed=[agreed], share=0.8))))
    with pytest.raises(InputError, match="more than waivers"):
        campaign.freeze(later)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"sha256": ""}, "program unknown"),
        ({"files": {**FILES, "/opt/libfast.so": OTHER}}, f"file libfast.so {OTHER[:16]}"),
        ({"files": {}}, "file osu.py none"),
        ({"nodelist": ["node1", "node2", "node3"]}, "nodes 3"),
        ({"files": {**FILES, "/opt/spack.lock": OTHER}, "kernel": "7.0", "suite_revision": "other"}, None),
    ],
)
def test_inputs_that_differ_are_named(rerun, changes, name):
    found = only(rerun(*OLD, found=provenance(**changes)))
    names = {change.name for one in found.retained.figures for change in one.changes}
    assert names == ({name} if name else set())
    assert found.outcome is (ClauseOutcome.INCOMPLETE if name else ClauseOutcome.MET)


def test_unrecorded_programs_are_not_the_same_program(tmp_path, keys, retained):
    old = Filled(tmp_path / "old").demand(*CLAUSES).measure(*OLD, provenance=provenance(sha256=""))
    write_dossier(old, tmp_path / "signed", pdf=False, how_signed=f"minisign:{keys['Buyer'][1]}")
    campaign = Filled(tmp_path / "campaign").demand(retained())
    shutil.copytree(tmp_path / "signed", campaign.folder / "accepted/R1")
    assert "program unknown" in only(campaign.measure(*OLD, provenance=provenance(sha256=""))).problems[0]


def alter(path):
    path.write_bytes(path.read_bytes().replace(b"9.2", b"9.3"))


def unsign(dossier):
    (dossier / f"{MANIFEST}.minisig").unlink()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (shutil.rmtree, "is missing; type kappa acceptance run"),
        (unsign, "is not signed"),
        (lambda dossier: alter(dossier / "verdict.json"), "altered: verdict.json"),
        (lambda dossier: (dossier / MANIFEST).write_text("{"), "has no valid manifest"),
    ],
)
def test_a_damaged_copy_proves_nothing(rerun, damage, words):
    campaign = rerun(*OLD)
    damage(campaign.folder / "accepted/R1")
    found = only(campaign)
    assert found.outcome is ClauseOutcome.INCOMPLETE
    assert [problem for problem in found.problems if words in problem], found.problems


@pytest.mark.parametrize(
    ("damage", "changes", "words"),
    [
        (shutil.rmtree, {}, "no manifest.json: expected a signed, unaltered dossier"),
        (unsign, {"keys": None}, "is not signed"),
        (unsign, {}, "not signed by RW"),
        (lambda dossier: alter(dossier / "dossier.html"), {}, "altered: dossier.html"),
        (None, {"keys": None}, "or name the keys of its parties in retained.keys"),
        (None, {"keys": ["0" * 40]}, f"not signed by {'0' * 40}"),
    ],
)
def test_a_run_starts_only_with_a_signed_and_unaltered_dossier(tmp_path, signed, retained, damage, changes, words):
    if damage:
        damage(signed)
    campaign = Filled(tmp_path / "campaign").demand(retained(**changes))
    with pytest.raises(InputError) as error:
        accepted_dossiers(campaign.contract, tmp_path / "acceptance.yaml", campaign.folder)
    assert words in str(error.value)
    assert str(error.value).startswith(f"{tmp_path}/acceptance.yaml: clause R1: retained.dossier: {signed}: ")


@pytest.mark.parametrize(
    ("values", "clauses", "words"),
    [
        ([99] * 6, CLAUSES, "is NOT ACCEPTED: expected ACCEPTED"),
        ([-9] * 6, (clause(repeats=6),), "B1: a share of a figure below 0 is not defined"),
    ],
)
def test_a_dossier_without_figures_to_retain_is_named(tmp_path, keys, retained, values, clauses, words):
    old = Filled(tmp_path / "old").demand(*clauses).measure(*values)
    write_dossier(old, tmp_path / "signed", pdf=False, how_signed=f"minisign:{keys['Buyer'][1]}")
    campaign = Filled(tmp_path / "campaign").demand(retained())
    with pytest.raises(InputError, match=words):
        accepted_dossiers(campaign.contract, tmp_path / "acceptance.yaml", None)


def test_a_rerun_is_no_dossier_to_retain(tmp_path, rerun, keys, retained):
    write_dossier(rerun(*OLD), tmp_path / "second", pdf=False, how_signed=f"minisign:{keys['Buyer'][1]}")
    third = Filled(tmp_path / "third").demand(retained("second"))
    with pytest.raises(InputError, match="expected the dossier of the first measurements"):
        accepted_dossiers(third.contract, tmp_path / "acceptance.yaml", None)


@pytest.fixture
def dossier(tmp_path, rerun):
    write_dossier(rerun(*OLD), tmp_path / "d", pdf=False, how_signed=None)
    return tmp_path / "d"


def test_the_dossier_has_the_accepted_one_and_each_figure(dossier, signed):
    proof = verify(dossier)
    assert (proof.exit_status, proof.problems) == (2, []), "only the copy of the accepted one is signed"
    assert any(line.startswith(f"accepted/R1: {MANIFEST}.minisig: ") for line in proof.good)
    copied = {path.relative_to(dossier / "accepted/R1") for path in (dossier / "accepted/R1").rglob("*")}
    assert copied == {path.relative_to(signed) for path in signed.rglob("*")}
    page = (dossier / "dossier.html").read_text()
    for cell in ("≤ 10 us", "9 us", "≥ 8.1 us", "100 %", "✔ met"):
        assert f">{cell}</td>" in page
    rows = re.findall("<tr>(.*?)</tr>", page.partition("<h2>Commitments</h2>")[2].partition("</table>")[0])
    assert [re.findall("<td[^>]*>(.*?)</td>", row) for row in rows[1:]] == [
        ["R1", "≥ 90 %", "–", "–", "100 %"],
        ["R1/B1", "≤ 10 us", "8 us (measured)", "9 us", "9 us (100 %)"],
        ["R1/B2", "≥ 5 us", "–", "9 us", "9 us (100 %)"],
    ]
    [found] = json.loads((dossier / "verdict.json").read_text())["clauses"]
    assert [(one["accepted"], one["share"], one["met"]) for one in found["retained"]["figures"]] == [(9, 1, True)] * 2


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


@pytest.mark.parametrize(
    ("spread", "speed", "fails"),
    # Expected: of a normal law with the standard deviation of the median of six, 0.4634.
    [(0.02, 0.92, 0.0467), (0.02, 0.88, 0.957), (0.05, 0.92, 0.251), (0.05, 0.88, 0.753)],
)
@pytest.mark.parametrize("at_least", [True, False])
def test_the_chances_of_the_median_of_six(spread, speed, fails, at_least):
    assert failing(Statistic("median"), 6, at_least, spread, 0.9, speed) == pytest.approx(fails, abs=0.005)


def test_chances_at_the_share_are_even():
    for kind in (Statistic("median"), Statistic("minimum"), Statistic("percentile", percentile=90)):
        assert failing(kind, 5, True, 0.02, 0.9, 0.9) == pytest.approx(0.5, abs=0.005)


@pytest.fixture
def agreed(tmp_path, signed, retained, monkeypatch):
    """The file of a contract for a site that offers one case and runs nothing."""
    monkeypatch.setattr("kappa.app.conduct.acceptance.run", lambda *arguments: None)
    monkeypatch.setattr(
        "kappa.app.conduct.planning.offers",
        lambda site, contract, conductor: [
            Offer(CaseSeries.of(one), one, 2, None, 600, CHECKS)
            for one in loaded(report([latency()]), tmp_path).runs[0]
        ],
    )
    file = tmp_path / "acceptance.yaml"
    file.write_text(yaml.safe_dump(contract(retained())))
    return file


def test_a_run_keeps_a_copy_and_then_needs_only_that(agreed, signed, tmp_path, capsys):
    run = ["acceptance", "run", "embedded", str(tmp_path / "campaign"), "--contract", str(agreed)]
    signature = signed / f"{MANIFEST}.minisig"
    signature.rename(tmp_path / "away")
    assert main(run) == 2
    assert "retained.dossier" in capsys.readouterr().err
    assert not (tmp_path / "campaign/contract.yaml").exists(), "the path can still be corrected"
    (tmp_path / "away").rename(signature)
    assert main(run) == 2
    shutil.rmtree(signed)
    assert main(run) == 2
    assert "B1: the selector matches no series of the run" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "campaign/accepted").iterdir()] == ["R1"]


def test_the_plan_says_the_chance_and_the_day_before_it_runs(agreed, tmp_path, capsys):
    plan = ["acceptance", "plan", "embedded", "--contract", str(agreed)]
    assert main([*plan, "--json", str(tmp_path / "plan.json")]) == 0
    planned = json.loads((tmp_path / "plan.json").read_text())
    assert [(one["clauses"], one["repeats"]) for one in planned["series"]] == [(["R1/B1", "R1/B2"], 6)]
    [found] = planned["retained"]
    # The standard deviation of the repeats is 0.141 us of 9 us; its limit is 2.09 times as much with 5 degrees.
    assert found["chances"]["B1"]["spread"] == pytest.approx(0.01571, abs=1e-5)
    assert found["chances"]["B1"]["most_spread"] / found["chances"]["B1"]["spread"] == pytest.approx(2.089, abs=1e-3)
    speeds = [(round(speed, 2), fails) for speed, fails, *_ in found["chances"]["B1"]["chances"]]
    assert speeds == [(1, True), (0.92, True), (0.88, False)]
    capsys.readouterr()
    assert main(plan) == 0
    assert f"due by {found['due']}, then every 24 months" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("day", "months", "later"),
    [((2026, 11, 21), 24, (2028, 11, 21)), ((2024, 2, 29), 12, (2025, 2, 28)), ((2026, 12, 31), 2, (2027, 2, 28))],
)
def test_a_date_some_months_later(day, months, later):
    assert months_after(datetime.date(*day), months) == datetime.date(*later)
