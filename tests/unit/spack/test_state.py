import errno
import fcntl
import shutil

import pytest

from kappa.core.vocabulary import spack_tables
from spack_envs.installer import cli, state
from spack_envs.installer.cli import main
from spack_envs.installer.installation import InstallError, keep_artefacts
from spack_envs.installer.reframe_settings import install_commands, installed_environments


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_SPACK_STATE", str(tmp_path))
    for name in ("KAPPA_SPACK_ROOT", "KAPPA_SPACK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return state.SpackSite("embedded").environment(spack_tables.read("app"))


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
    assert "app: not installed: run spack_envs/install embedded app" in capsys.readouterr().out


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


def test_programs_in_a_folder_of_their_platform_are_found_and_settings_sourced(app):
    openfoam = app.site.environment(spack_tables.read("openfoam"))
    assert openfoam.missing_programs() == ["blockMesh", "decomposePar", "icoFoam"]
    folder = openfoam.view / "platforms/linux64GccDPInt32-spack/bin"
    folder.mkdir(parents=True)
    for program in openfoam.missing_programs():
        (folder / program).touch(0o755)
    openfoam.write_record(digest=openfoam.digest())
    (environment,) = installed_environments("embedded")
    assert environment["env_vars"] == [["PATH", f"{openfoam.view}/bin:{folder}:$PATH"]]
    assert environment["prepare_cmds"] == [f". {openfoam.view}/etc/bashrc || true"]


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
        state.write_shared(file, "new\ud800")
    assert file.read_text() == "old"
    state.write_shared(file, "new")
    assert file.read_text() == "new"


def test_an_artefact_that_is_not_there_is_named(app, tmp_path):
    with pytest.raises(InstallError, match=r"cannot copy spack\.yaml"):
        keep_artefacts(app, tmp_path / "kept")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["embedded", "nope"], "no environment 'nope'"),
        (["embedded", "--run", "find"], "--run needs exactly one ENV"),
    ],
)
def test_wrong_arguments_are_explained(app, capsys, arguments, complaint):
    assert main(arguments) == 1
    assert complaint in capsys.readouterr().err


def test_a_site_that_is_not_there_is_wrong_use(app, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["embeded"])
    assert "did you mean 'embedded'?" in capsys.readouterr().err


def test_a_spack_that_is_none_is_named(app, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("KAPPA_SPACK_ROOT", str(tmp_path / "none"))
    assert main(["embedded", "app"]) == 1
    assert "set KAPPA_SPACK_ROOT to the folder of a Spack checkout" in capsys.readouterr().err


def test_one_environment_that_fails_does_not_stop_the_others(app, monkeypatch, capsys):
    asked = []

    def ensure(environment, jobs):
        asked.append(environment.table.name)
        if len(asked) < 3:
            raise InstallError("why")

    monkeypatch.setattr(cli, "ensure", ensure)
    assert main(["embedded", "app", "gpu", "mpi-io"]) == 1
    assert asked == ["app", "gpu", "mpi-io"]
    assert capsys.readouterr().err == "install: app: why\ngpu: why\n"


@pytest.mark.parametrize("why", [OSError(errno.ENOLCK, "No locks available"), PermissionError(errno.EACCES, "denied")])
def test_a_folder_that_cannot_be_used_is_named(app, tmp_path, monkeypatch, capsys, why):
    def refuse(*_):
        raise why

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert main(["embedded", "app"]) == 1
    said = capsys.readouterr().err
    assert f"install: app: cannot install in {tmp_path}/embedded: " in said
    assert why.strerror in said


def test_a_state_folder_that_cannot_be_made_is_named(app, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("KAPPA_SPACK_STATE", str(tmp_path / "file"))
    assert main(["embedded", "app"]) == 1
    assert f"cannot install in {tmp_path}/file/embedded" in capsys.readouterr().err


def test_another_pinned_spack_makes_out_of_date_what_it_installed(app, tmp_path, monkeypatch):
    put_program(app)
    with_clone = app.digest()
    app.write_record(digest="", KAPPA_SPACK_ROOT="/own")
    with_own = app.digest()
    release = tmp_path / "envs/release.toml"
    unneeded = shutil.ignore_patterns("installer", "__pycache__")
    shutil.copytree(spack_tables.ENVIRONMENTS, release.parent, ignore=unneeded)
    monkeypatch.setattr(state, "ENVIRONMENTS", release.parent)
    assert app.digest() == with_own
    app.write_record(digest=with_clone)
    assert app.up_to_date()
    release.write_text(release.read_text().replace("v1.1.0", "v1.2.0"))
    assert not app.up_to_date()
    app.write_record(digest=with_own, KAPPA_SPACK_ROOT="/own")
    assert app.up_to_date()


def test_each_feature_says_what_would_install_it():
    commands = install_commands("embedded")
    assert commands["ior"] == "spack_envs/install embedded mpi-io"
    assert commands["osu-cuda"] == "spack_envs/install embedded gpu"
