"""The requirement matrix of a dossier, and requirements that no clause covers."""

import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from reports.acceptance.contract import keep_requirements, load_requirements
from reports.acceptance.dossier import verify
from reports.acceptance.judge import judge
from reports.acceptance.requirements import requirement_matrix, uncovered
from tests.unit.acceptance.conftest import clause

REQUIREMENTS = "R-1: latency <b>\nR-2: bandwidth\n"


@pytest.fixture
def covering(campaign):
    predicted = {"value": 7, "source": "32 nodes of a laboratory", "basis": "measured"}
    return campaign.demand(clause(requirement="R-1", predicted=predicted), clause(id="B2")).measure(9, 9, 9)


@pytest.fixture
def requirements(tmp_path):
    path = tmp_path / "tender.yaml"
    path.write_text(REQUIREMENTS)
    return path


def test_matrix_has_committed_projected_and_measured_figures(covering, requirements):
    keep_requirements(covering.folder, requirements)
    [row] = requirement_matrix(judge(covering)).rows
    checks = "latency_8B of OsuLatency on cpu"
    assert row == ("R-1: latency <b>", "B1", checks, "≤ 10 us", "7 us (measured)", "9 us", "✔ met")


def test_contract_without_requirements_has_no_matrix(campaign):
    assert requirement_matrix(judge(campaign)) is None


def test_dossier_lists_uncovered_requirements_and_verifies(covering, requirements, tmp_path):
    target = tmp_path / "dossier"
    command = ["acceptance", "report", str(covering.folder), "--no-pdf", "-o", str(target)]
    assert main([*command, "--requirements", str(requirements)]) == 0
    page = (target / "dossier.html").read_text()
    assert "R-2: bandwidth" in page.partition("Requirements that no clause covers")[2]
    assert "latency &lt;b&gt;" in page
    assert verify(target).problems == []


def test_requirement_of_a_clause_is_covered(covering, requirements):
    assert uncovered(covering.contract, load_requirements(requirements)) == ["R-2: bandwidth"]


@pytest.mark.parametrize(("text", "line"), [("R-1: [a]\n", 1), ("R-1: a\nR 2: b\n", 2), ("- R-1\n", 1)])
def test_error_names_the_line_of_a_requirement(tmp_path, text, line):
    path = tmp_path / "tender.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"tender\.yaml: line {line}: "):
        load_requirements(path)


@pytest.mark.parametrize("key", ["rules", "tender"])
def test_contract_with_a_key_of_tenders_is_refused_with_the_change(campaign, key):
    with pytest.raises(InputError, match=rf"contract\.{key}: .*remove contract\.rules and"):
        _ = campaign.demand(clause(), **{key: {"x": 1}}).contract


def test_clause_of_two_kinds_is_refused(campaign):
    with pytest.raises(InputError, match="expected one of"):
        _ = campaign.demand(clause(index={}, mix={})).contract
