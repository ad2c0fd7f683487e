import pytest

from spack_envs.installer import state, table
from spack_envs.installer.cli import main
from spack_envs.installer.installation import InstallError, keep_artefacts
from spack_envs.installer.reframe_settings import install_commands, installed_environments


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_SPACK_STATE", str(tmp_path))
    for name in ("KAPPA_SPACK_ROOT", "KAPPA_SPACK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return state.Site("embedded").environment(table.read("app"))


def put_program(environment):
    program = environment.view / "bin/emt"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_nothing_is_installed_at_first(app, capsys):
    assert not app.installed()
    assert app.missing_programs() == ["emt"]
    assert installed_environments("embedded") == []
    assert main(["embedded", "app", "--verify"]) == 1
    assert "app: not installed: spack_envs/install embedded app" in capsys.readouterr().out


def test_a_missing_program_is_named(app, capsys):
    app.write_record(digest=app.digest())
    assert not app.installed()
    assert main(["embedded", "app", "--verify"]) == 1
    assert "lacks emt" in capsys.readouterr().out


def test_a_program_that_cannot_be_executed_is_missing(app):
    put_program(app).chmod(0o644)
    assert app.missing_programs() == ["emt"]


def test_what_is_complete_becomes_an_environment_of_reframe(app, capsys):
    put_program(app)
    app.write_record(digest=app.digest())
    assert main(["embedded", "app"]) == 0
    assert "up to date" in capsys.readouterr().out
    (environment,) = installed_environments("embedded")
    assert (environment["name"], environment["features"]) == ("app", ["emt"])
    assert environment["env_vars"] == [["PATH", f"{app.view}/bin:$PATH"]]
    assert environment["extras"] == {"hash_files": {"emt": [str(app.lock_file)]}}


def test_changed_facts_make_it_out_of_date_but_still_usable(app, tmp_path, monkeypatch, capsys):
    put_program(app)
    more = tmp_path / "more"
    more.mkdir()
    app.write_record(digest=app.digest())
    (more / "mirrors.yaml").write_text("mirrors: {}\n")
    monkeypatch.setenv("KAPPA_SPACK_CONFIG", str(more))
    assert app.installed() and not app.up_to_date()
    assert main(["embedded", "app", "--verify"]) == 1
    assert "out of date" in capsys.readouterr().out


def test_what_spack_was_told_before_is_remembered(app, monkeypatch):
    app.write_record(digest="", KAPPA_SPACK_ROOT="/before")
    assert app.setting("KAPPA_SPACK_ROOT") == "/before"
    monkeypatch.setenv("KAPPA_SPACK_ROOT", "/now")
    assert app.setting("KAPPA_SPACK_ROOT") == "/now"


def test_a_damaged_record_counts_as_none(app):
    app.write_record(digest="x")
    for text in ("", "{", "[]"):
        (app.folder / "installed.json").write_text(text)
        assert app.record() == {}


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        state.write_atomically(file, "new\ud800")
    assert file.read_text() == "old"
    state.write_atomically(file, "new")
    assert file.read_text() == "new"


def test_an_artefact_that_is_not_there_is_named(app, tmp_path):
    with pytest.raises(InstallError, match=r"app: cannot keep spack\.yaml"):
        keep_artefacts(app, tmp_path / "kept")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "no site 'nowhere' in site_configs/: there are "),
        (["embedded", "nope"], "no environment 'nope'"),
        (["embedded", "--run", "find"], "--run needs exactly one ENV"),
    ],
)
def test_wrong_arguments_are_explained(app, capsys, arguments, complaint):
    assert main(arguments) == 1
    assert complaint in capsys.readouterr().err


def test_a_spack_that_is_none_is_named(app, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("KAPPA_SPACK_ROOT", str(tmp_path / "none"))
    assert main(["embedded", "app"]) == 1
    assert "KAPPA_SPACK_ROOT must name the folder of a Spack checkout" in capsys.readouterr().err


def test_each_feature_says_what_would_install_it():
    commands = install_commands("embedded")
    assert commands["ior"] == "spack_envs/install embedded mpi-io"
    assert commands["osu-cuda"] == "spack_envs/install embedded gpu"
