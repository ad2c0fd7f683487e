"""``kappa catalogue`` accepts new names of the suite, also if a site uses them already."""

import pytest

from kappa.app.command import catalogue as command
from kappa.app.command.main import main
from kappa.core.vocabulary import checks
from kappa.tools import catalogue

CASE = {
    "@class": "BrandNew", "@file": "", "family": "network/brand-new", "descr": "new", "needs_environ": [],
    "metric_units": {},
    "tunable": {"rounds": ["whole number", "", "how often"]}, "rounds": 3, "programs": [], "executable": "<undefined>",
    "informational": [], "failure_means": "It is old.", "hint": "", "tags": ["nightly"], "name": "BrandNew",
    "case_features": [], "on_fabrics": False, "needs_partition": ["network"], "measured_s": 0, "estimated_s": 90,
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
    assert main(["catalogue", "--check"]) == 0
    assert file.read_text() == "{}\n"
    checks.catalogue.cache_clear()
    assert main(["catalogue", "--write"]) == 0
    assert seen[0] == {}
    assert [*seen[1]["BrandNew"].tunables] == ["rounds"]
    assert "network/brand-new" in file.read_text()


def test_a_file_that_is_out_of_date_is_named_and_written_only_when_asked(file, tmp_path, monkeypatch, capsys):
    stale, sound = tmp_path / "stale.md", tmp_path / "sound.md"
    stale.write_text("old")
    sound.write_text("right")
    monkeypatch.setattr(catalogue, "described_cases", lambda: [CASE])
    monkeypatch.setattr(catalogue, "generated", lambda _: {stale: "new", sound: "right"})
    assert main(["catalogue", "--check"]) == 1
    said = capsys.readouterr().out
    assert str(stale) in said and str(sound) not in said
    assert stale.read_text() == "old"
    assert main(["catalogue", "--write"]) == 0
    assert capsys.readouterr().out == f"written: {stale}\n"
    assert stale.read_text() == "new"


def test_the_page_of_a_check_that_is_gone_is_removed(file, tmp_path, monkeypatch, capsys):
    gone = tmp_path / "Gone.md"
    gone.write_text("old")
    monkeypatch.setattr(catalogue, "described_cases", lambda: [CASE])
    monkeypatch.setattr(catalogue, "generated", lambda _: {gone: None})
    assert main(["catalogue", "--check"]) == 1
    assert main(["catalogue", "--write"]) == 0
    assert str(gone) in capsys.readouterr().out and not gone.exists()
    assert main(["catalogue", "--check"]) == 0


def test_a_class_without_a_docstring_has_that_of_its_file(tmp_path):
    path = tmp_path / "checks.py"
    path.write_text('"""Of the\n``file``.\n\nMore."""\nclass Mute: pass\nclass Told:\n    """Of the class."""\n')
    assert catalogue.docstring(path, "Mute") == "Of the `file`."
    assert catalogue.docstring(path, "Told") == "Of the class."


def test_the_checks_are_listed_and_nothing_is_written(file, monkeypatch, capsys):
    monkeypatch.setattr(catalogue, "described_cases", lambda: [CASE])
    assert main(["catalogue"]) == 0
    assert capsys.readouterr().out.splitlines()[2] == "| `BrandNew` | new |  | `network` |  | ≈ 90 s |"
    assert file.read_text() == "{}\n"


@pytest.mark.parametrize("option", ["--write", "--check"])
def test_an_installed_suite_has_no_pages_to_write(option, monkeypatch, capsys):
    monkeypatch.setattr(command, "installed", lambda: True)
    assert main(["catalogue", option]) == 2
    assert "need a checkout" in capsys.readouterr().err
