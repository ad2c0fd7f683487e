"""``kappa site software`` and its record: it accepts the first run, and later runs only by command."""

import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from kappa.core.record.software import changes, kept_in, kept_of

SEARCHED = "a digest"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    return kept_of(tmp_path, "cpu", "packaged")


def test_the_first_run_is_accepted_and_a_change_by_command_only(kept, capsys):
    assert kept.note({"/bin/fio": "1"}, SEARCHED).files == {"/bin/fio": "1"}
    assert main(["site", "software", "embedded"]) == 0
    assert kept.note({"/bin/fio": "2"}, SEARCHED).files == {"/bin/fio": "1"}
    assert main(["site", "software", "embedded"]) == 1
    assert "/bin/fio has other content" in capsys.readouterr().out
    assert main(["site", "software", "embedded", "--accept"]) == 0
    assert main(["site", "software", "embedded"]) == 0
    assert kept.note({"/bin/fio": "2"}, SEARCHED).files == {"/bin/fio": "2"}


def test_a_wider_search_accepts_what_it_adds_and_no_other_change(kept, capsys):
    kept.note({"/bin/fio": "1", "/bin/ior": "1"}, SEARCHED)
    wider = {"/bin/fio": "2", "/bin/squeue": "1"}
    accepted = kept.note(wider, "another digest")
    assert changes(accepted.files, wider) == ["/bin/fio has other content", "/bin/ior is gone"]
    assert kept.accepted() == accepted
    assert main(["site", "software", "embedded"]) == 1
    later = {**wider, "/bin/new": "1"}
    assert "/bin/new is new" in changes(kept.note(later, "another digest").files, later)


def test_a_record_of_an_older_kappa_is_read(kept):
    kept.note({"/bin/fio": "1"}, SEARCHED)
    (kept.folder / "cpu.packaged.json").write_text('{"since": "2026-01-01", "files": {"/bin/fio": "1"}}')
    wider = {"/bin/fio": "1", "/bin/squeue": "1"}
    assert changes(kept.note(wider, SEARCHED).files, wider) == []


def test_each_environment_of_a_partition_is_by_itself(kept, tmp_path):
    kept.note({}, SEARCHED)
    kept_of(tmp_path, "cpu", "app").note({}, SEARCHED)
    kept_of(tmp_path, "cpu", "app").note({"/bin/ior": "1"}, SEARCHED)
    assert [one.name for one in kept_in(tmp_path)] == ["cpu.app", "cpu.packaged"]


def test_a_damaged_record_is_no_acceptance(kept):
    kept.note({}, SEARCHED)
    (kept.folder / "cpu.packaged.json").write_text("{")
    with pytest.raises(InputError, match=r"cpu\.packaged\.json"):
        kept.note({}, SEARCHED)


def test_what_has_changed():
    assert changes({"/a": "1", "/b": "1", "/c": "1"}, {"/a": "1", "/b": "2", "/d": "1"}) == [
        "/b has other content", "/c is gone", "/d is new",
    ]  # fmt: skip
