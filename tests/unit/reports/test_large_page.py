"""A run of 512 nodes, one of them slow, as a page (`python -m tests.benchmarks.pages` has seconds and sheets, too)."""

import msgspec
import pytest

from kappa.core.record.load import load_session
from reports.show.run_page import render
from reports.verdict.judge import judge
from tests.benchmarks.pages import SLOW_NODE, large_report
from tests.tiers import long
from tests.unit.reports.samples import SITE

NAME = f"node0{SLOW_NODE}"


def rendered(report, folder):
    path = folder / "run-report.json"
    path.write_bytes(msgspec.json.encode(report))
    return render(judge(load_session(path), SITE))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return rendered(large_report(512), tmp_path_factory.mktemp("large"))


def test_it_can_be_mailed(page):
    assert len(page.encode()) <= 3_000_000


@long
def test_a_browser_opens_that_of_ten_thousand_nodes(tmp_path):
    """8 s."""
    assert len(rendered(large_report(10_000, pairs=False), tmp_path).encode()) < 10_000_000


def test_its_results_are_as_many_as_its_metrics(page):
    assert page.count("data-state=") < 150, "not a row for each node"
    assert "511 equal cases" in page


def test_the_slow_node_has_its_name_in_every_strip_that_it_is_slow_in(page):
    assert page.count(f'">{NAME}</span>') == 5
    assert f"suspect: {NAME}" in page
    assert f"scontrol update nodename={NAME} " in page
