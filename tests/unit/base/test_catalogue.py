"""``make catalogue`` takes what is new in the suite, also where a site names it already."""

import sys

import pytest

from kappa.core.vocabulary import checks
from reframe_checks.base import catalogue

CASE = {
    "@class": "BrandNew", "family": "network/brand-new", "descr": "new", "needs_environ": [], "metric_units": {},
    "tunable": {"rounds": ["whole number", "", "how often"]}, "tags": ["nightly"], "name": "BrandNew",
    "case_features": [], "on_fabrics": False,
}  # fmt: skip


@pytest.fixture
def file(tmp_path, monkeypatch):
    """In the place of ``checks.json``; it knows no check."""
    cached = checks.catalogue, checks.uncatalogued, checks.families
    path = tmp_path / "checks.json"
    path.write_text("{}\n")
    monkeypatch.setattr(checks, "FILE", str(path))
    for known in cached:
        known.cache_clear()
    yield path
    for known in cached:
        known.cache_clear()


def test_a_new_family_and_its_tunables_are_known_before_sites_are_read(file, monkeypatch):
    seen = []
    monkeypatch.setattr(catalogue, "described_cases", lambda: [CASE])
    monkeypatch.setattr(catalogue, "generated", lambda _: seen.append(checks.catalogue()) or {})
    monkeypatch.setattr(sys, "argv", ["catalogue", "--check"])
    assert catalogue.main() == 0
    assert file.read_text() == "{}\n"
    checks.catalogue.cache_clear()
    monkeypatch.setattr(sys, "argv", ["catalogue"])
    assert catalogue.main() == 0
    assert seen[0] == {}
    assert [*seen[1]["BrandNew"].tunables] == ["rounds"]
    assert "network/brand-new" in file.read_text()
