"""The index of a contract, by hand; and errors in the blocks about other clauses' figures, which name their line."""

import pytest
import yaml

from kappa.core.ground.errors import InputError
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import ClauseOutcome
from tests.unit.acceptance.conftest import clause

# Read as a time the clause is twice as fast as its reference, as a rate it is half as fast.
TIME = clause()
RATE = clause(id="B2", comparison="at_least", threshold={"value": 5, "unit": "us"})


def index(weights=(1, 1)):
    pieces = [
        {"clause": f"B{row}", "reference": {"value": 18, "unit": "us"}, "weight": weight}
        for row, weight in enumerate(weights, start=1)
    ]
    return {"id": "S1", "text": "Fast.", "index": {"name": "SSI", "of": pieces, "least": 1}, "mandatory": True}


def verdict(campaign):
    return next(judged for judged in judge(campaign).clauses if judged.clause.id == "S1")


@pytest.mark.parametrize(("weights", "value"), [((1, 1), 1), ((3, 1), 2**0.5), ((1, 3), 2**-0.5)])
def test_index_is_the_weighted_geometric_mean(campaign, weights, value):
    # The index may stand before its pieces, and a piece that is not met still counts.
    unmet = clause(threshold={"value": 1, "unit": "us"})
    judged = verdict(campaign.demand(index(weights), unmet, RATE).measure(9, 9, 9))
    assert judged.value == pytest.approx(value, rel=1e-12)
    assert [piece["rate"] for piece in judged.document["index"]] == [2, 0.5]
    assert judged.outcome is (ClauseOutcome.NOT_MET if value < 1 else ClauseOutcome.MET)


@pytest.mark.parametrize(
    ("values", "problem"),
    [((9, 9), "B1: the clause is incomplete"), ((0, 0, 0), "B1: 0 gives no rate: expected a figure above 0")],
)
def test_piece_without_a_rate_is_incomplete(campaign, values, problem):
    judged = verdict(campaign.demand(TIME, RATE, index()).measure(*values))
    assert (judged.outcome, judged.value) == (ClauseOutcome.INCOMPLETE, None)
    assert judged.problems == (problem, problem.replace("B1", "B2"))


def test_dossier_shows_the_pieces(campaign, tmp_path):
    write_dossier(campaign.demand(TIME, RATE, index()).measure(9, 9, 9), tmp_path / "d", pdf=False, how_signed=None)
    assert (tmp_path / "d/dossier.html").read_text().count('">18 us</td>') == 2
    assert verify(tmp_path / "d").problems == []


GOOD = f"""\
contract: {{title: Test, system: embedded, date: 2026-11-21, parties: {{buyer: B, vendor: V}}}}
clauses:
  - id: R1
    text: It stays fast.
    mandatory: true
    retained: {{dossier: ../accepted, share: 0.9, every_months: 24,
      agreed: [{{change: program 12, reason: new, parties: [vendor, buyer], date: 2028-01-01}}]}}
  - id: S1
    text: It is fast.
    mandatory: true
    index: {{name: SSI,
      of: [{{clause: B1, reference: {{value: 2, unit: us}}}}],
      least: 2}}
  - {yaml.safe_dump(TIME, default_flow_style=True, width=1000).strip()}
"""


def test_terms_of_both_kinds(load):
    retained, index_, _ = load(GOOD).clauses
    assert (retained.required, index_.required) == ("≥ 90 %", "≥ 2")
    assert index_.index.of[0].weight == 1


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("share: 0.9", "share: 90", 6, "share: expected a share above 0 and at most 1, found 90"),
        ("share: 0.9", "share: 0", 6, "share: expected a share above 0"),
        ("every_months: 24", "every_months: 0", 6, "every_months: expected 1 to 240 months, found 0"),
        ("every_months: 24", "every_years: 2", 6, "unknown key 'every_years'"),
        ("dossier: ../accepted, ", "", 6, "'dossier' is a required property"),
        ("share: 0.9", "share: 0.9, keys: [me]", 6, "expected a GnuPG fingerprint"),
        ("[vendor, buyer]", "[vendor]", 7, "expected every party: buyer, vendor"),
        ("[vendor, buyer]", "[vendor, buyer, me]", 7, "expected every party: buyer, vendor"),
        ("clause: B1", "clause: B9", 12, "expected the id of a clause about a series, found 'B9'"),
        ("clause: B1", "clause: R1", 12, "expected the id of a clause about a series, found 'R1'"),
        ("us}}]", "us}}, {clause: B1, reference: {value: 2, unit: us}}]", 12, "expected each clause once"),
        ("value: 2, unit: us", "value: 2, unit: ms", 12, "expected the clause's unit 'us', found 'ms'"),
        ("value: 2, unit: us", "value: 0, unit: us", 12, "expected a finite number above 0, found 0"),
        ("least: 2", "least: -2", 13, "expected a finite number above 0, found -2"),
        ("least: 2}", "least: 2}\n    repeats: 3", 14, "unknown key 'repeats'"),
    ],
)
def test_an_error_names_its_line(load, old, new, line, message):
    assert old in GOOD
    with pytest.raises(InputError, match=rf"acceptance\.yaml: line {line}: ") as error:
        load(GOOD.replace(old, new, 1))
    assert message in str(error.value)
