"""``make docs`` accepts new names of the suite, also if a site uses them already."""

import pytest

from kappa.core.vocabulary import checks
from tests import catalogue

CASE = {
    "@class": "BrandNew", "@file": "", "family": "network/brand-new", "descr": "new", "needs_environ": [],
    "metric_units": {},
    "tunable": {"rounds": ["whole number", "", "how often"]}, "rounds": 3, "programs": [], "executable": "<undefined>",
    "informational": [], "failure_means": "It is old.", "hint": "", "tags": ["nightly"], "name": "BrandNew",
    "case_features": [], "on_fabrics": False, "measured_s": 0, "estimated_s": 90,
}  # fmt: skip


@pytest.fixture
def file(tmp_path, monkeypatch):
    """In the place of ``checks.json``; it knows no check."""
    cached = checks.catalogue, checks.uncatalogued, checks.families
    path = tmp_path / "checks.json"
    path.write_text("{}\n")
    monkeypatch.setattr(checks, "FILE", str(path))
    monkeypatch.setattr(catalogue, "docstring", lambda *_: "")
    for known in cached:
        known.cache_clear()
    yield path
    for known in cached:
        known.cache_clear()


def test_a_new_family_and_its_tunables_are_known_before_sites_are_read(file, monkeypatch):
    seen = []
    monkeypatch.setattr(catalogue, "described_cases", lambda: [CASE])
    monkeypatch.setattr(catalogue, "generated", lambda _: seen.append(checks.catalogue()) or {})
    assert catalogue.main(["--check"]) == 0
    assert file.read_text() == "{}\n"
    checks.catalogue.cache_clear()
    assert catalogue.main(["--write"]) == 0
    assert seen[0] == {}
    assert [*seen[1]["BrandNew"].tunables] == ["rounds"]
    assert "network/brand-new" in file.read_text()


def test_outdated_files_are_named_and_only_write_changes_them(file, tmp_path, monkeypatch, capsys):
    stale, sound = (tmp_path / name for name in ("stale.md", "sound.md"))
    for page in (stale, sound):
        page.write_text("old")
    monkeypatch.setattr(catalogue, "described_cases", lambda: [CASE])
    monkeypatch.setattr(catalogue, "generated", lambda _: {stale: "new", sound: "old"})
    assert catalogue.main(["--check"]) == 1
    text = capsys.readouterr().out
    assert str(stale) in text and str(sound) not in text
    assert stale.read_text() == "old"
    assert catalogue.main(["--write"]) == 0
    assert stale.read_text() == "new"


def test_a_class_without_a_docstring_has_that_of_its_file(tmp_path):
    path = tmp_path / "checks.py"
    path.write_text('"""Of the\n``file``.\n\nMore."""\nclass Mute: pass\nclass Told:\n    """Of the class."""\n')
    assert catalogue.docstring(path, "Mute") == "Of the `file`."
    assert catalogue.docstring(path, "Told") == "Of the class."
