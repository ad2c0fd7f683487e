"""Waivers follow the measurement, when the unmet clauses are known; the rest of a contract stays."""

import pytest
import yaml

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from reports.acceptance.contract import earlier_contracts, freeze
from reports.acceptance.dossier import verify
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import Acceptance, ClauseOutcome
from tests.unit.acceptance.conftest import clause, contract

WAIVER = {"reason": "the cable is on order", "name": "A. Buyer", "date": "2026-11-21"}
OTHER = {**WAIVER, "reason": "the cable is here"}


@pytest.fixture
def agreed(tmp_path):
    def write(*clauses, **head):
        path = tmp_path / "agreed.yaml"
        path.write_text(yaml.safe_dump(contract(*clauses, **head)))
        return path

    return write


def names(campaign):
    return sorted(path.name for path in campaign.folder.glob("contract*"))


@pytest.mark.parametrize("changed", [clause(threshold={"value": 50, "unit": "us"}), clause(repeats=2), clause(id="B2")])
def test_contract_with_other_terms_is_refused(campaign, agreed, changed):
    with pytest.raises(InputError, match=r"differs from the contract .* only waivers may change"):
        freeze(campaign.folder, agreed(changed))
    with pytest.raises(InputError, match="differs from the contract"):
        freeze(campaign.folder, agreed(clause(), title="Other"))
    freeze(campaign.folder, campaign.folder / "contract.yaml")
    assert names(campaign) == ["contract.yaml"]


def test_waiver_after_the_measurement_excuses_and_is_remarked(campaign, agreed, tmp_path):
    campaign.measure(90, 90, 90)
    assert judge(campaign).acceptance is Acceptance.NOT_ACCEPTED
    command = ["acceptance", "report", str(campaign.folder), "--no-pdf", "-o", str(tmp_path / "d")]
    assert main([*command, "--contract", str(agreed(clause(waiver=WAIVER)))]) == 2, "no clause at all is met"
    assert judge(campaign).clauses[0].outcome is ClauseOutcome.WAIVED
    assert sorted(path.name for path in (tmp_path / "d").glob("contract*")) == ["contract.1.yaml", "contract.yaml"]
    page = (tmp_path / "d/dossier.html").read_text()
    assert "the waiver was given after the run began" in page
    assert "earlier versions: contract.1.yaml" in page
    assert verify(tmp_path / "d").problems == []


def test_every_version_of_a_contract_is_kept(campaign, agreed):
    for waiver in (WAIVER, OTHER, None):
        freeze(campaign.folder, agreed(clause(**({"waiver": waiver} if waiver else {}))))
        assert judge(campaign).clauses[0].remarks == (("the waiver was given after the run began",) if waiver else ())
    assert names(campaign) == ["contract.1.yaml", "contract.2.yaml", "contract.3.yaml", "contract.yaml"]
    waivers = [version.clauses[0].waiver for version in earlier_contracts(campaign.folder).values()]
    assert [waiver and waiver.reason for waiver in waivers] == [None, WAIVER["reason"], OTHER["reason"]]


@pytest.mark.parametrize(("later", "done"), [({"waiver": OTHER}, "changed"), ({}, "withdrawn")])
def test_former_waiver_is_remarked(campaign, agreed, later, done):
    freeze(campaign.demand(clause(waiver=WAIVER)).folder, agreed(clause(**later)))
    [remark] = judge(campaign).clauses[0].remarks
    assert remark.startswith(f"the waiver was {done} after the run began; before: the cable is on order (A. Buy")


def test_freeze_cut_off_between_two_files_goes_on(campaign, agreed, monkeypatch):
    def full(path, text):
        if path.name == "contract.yaml":
            raise InputError("the disk is full")
        path.write_text(text)

    with monkeypatch.context() as patch, pytest.raises(InputError, match="full"):
        patch.setattr("reports.acceptance.contract.write_atomically", full)
        freeze(campaign.folder, agreed(clause(waiver=WAIVER)))
    freeze(campaign.folder, agreed(clause(waiver=WAIVER)))
    assert names(campaign) == ["contract.1.yaml", "contract.yaml"]


def test_version_with_other_terms_is_refused(campaign):
    (campaign.folder / "contract.1.yaml").write_text(yaml.safe_dump(contract(clause(repeats=1))))
    with pytest.raises(InputError, match=r"contract\.1\.yaml differs from contract\.yaml in more than waivers"):
        judge(campaign)
