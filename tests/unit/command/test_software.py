"""``kappa software`` and its record: it accepts the first run, and later runs only by command."""

import pytest

from kappa.app.command.software import run
from kappa.core.ground.errors import InputError
from kappa.core.record.software import changes, kept_in, kept_of


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    return kept_of(tmp_path, "cpu", "packaged")


def test_the_first_run_is_accepted_and_a_change_by_command_only(kept, capsys):
    assert kept.note({"/bin/fio": "1"}).files == {"/bin/fio": "1"}
    assert run(["embedded"]) == 0
    assert kept.note({"/bin/fio": "2"}).files == {"/bin/fio": "1"}
    assert run(["embedded"]) == 1
    assert "/bin/fio has other content" in capsys.readouterr().out
    assert run(["embedded", "--accept"]) == 0
    assert run(["embedded"]) == 0
    assert kept.note({"/bin/fio": "2"}).files == {"/bin/fio": "2"}


def test_each_environment_of_a_partition_is_by_itself(kept, tmp_path):
    kept.note({})
    kept_of(tmp_path, "cpu", "app").note({})
    kept_of(tmp_path, "cpu", "app").note({"/bin/ior": "1"})
    assert [one.name for one in kept_in(tmp_path)] == ["cpu.app", "cpu.packaged"]


def test_a_damaged_record_is_no_acceptance(kept):
    kept.note({})
    (kept.folder / "cpu.packaged.json").write_text("{")
    with pytest.raises(InputError, match=r"cpu\.packaged\.json"):
        kept.note({})


def test_what_has_changed():
    assert changes({"/a": "1", "/b": "1", "/c": "1"}, {"/a": "1", "/b": "2", "/d": "1"}) == [
        "/b has other content", "/c is gone", "/d is new",
    ]  # fmt: skip
