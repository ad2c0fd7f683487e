"""The pinned Spack is cloned from local repositories, and what its commands answer; Spack itself is a stand-in."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from kappa.core.vocabulary import spack_tables
from spack_envs.installer import installation, spack, state
from spack_envs.installer.cli import main
from spack_envs.installer.spack import InstallError

DATA = Path(__file__).parents[2] / "data/spack"

# The part of Spack that the installer uses: it "installs" the one program of `app`. Files in the site's folder contain
# its answers; `found.json` has the compilers that it knows once it has solved.
STAND_IN = """#!/bin/sh
set -eu
released=
case "$*" in *" -C "*"/released "*) released=1 ;; esac
while [ "$1" != -e ]; do shift; done
env=$2 site=$2/..
shift 2
[ "$1" != -c ] || shift 2
case $1 in
    python)
        if [ "$released" ]; then cat "$site/released.json"
        elif [ -e "$env/spack.lock" ] && [ -e "$site/found.json" ]; then cat "$site/found.json"
        elif [ -e "$site/settings.json" ]; then cat "$site/settings.json"
        else echo '{"packages": {}, "compilers": {}, "compiler_packages": ["gcc"], "providers": {}, "repos": {}}'; fi ;;
    concretize)
        mkdir -p "$SPACK_USER_CACHE_PATH/cache/providers"
        echo '[e]  4pzr3vk      ^cli11@2.1.2'
        if [ -e "$site/solution" ]; then cp "$site/solution" "$env/spack.lock"
        else echo '{"concrete_specs": {}}' >"$env/spack.lock"; fi ;;
    install)
        # It would solve once more.
        case " $* " in *" --only-concrete "*) ;; *) exit 4 ;; esac
        [ ! -e "$site/fails" ] || { cat "$site/fails"; exit 1; }
        mkdir -p "$env/view/bin"; printf '#!/bin/sh\\n' > "$env/view/bin/emt"; chmod +x "$env/view/bin/emt" ;;
    mirror)
        [ ! -e "$site/fails" ] || { cat "$site/fails"; exit 1; }
        folder=${5#--directory=}; mkdir -p "$folder"; cp "$env/spack.yaml" "$folder"; echo "$6" >"$folder/excluded" ;;
    find) [ ! -e "$site/broken" ] || exit 3; echo "[]" ;;
esac
"""


def repository(folder, files):
    """Makes a git repository with the tag ``v1``; returns its commit."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "-m", "all"], ["tag", "v1"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return head.stdout.strip()


@pytest.fixture
def pin(tmp_path, monkeypatch):
    """Writes a ``release.toml`` of repositories here; other commits than theirs can be given."""
    version = '__version__ = "1.1.0"\n'
    commits = {
        "spack": repository(tmp_path / "spack", {"bin/spack": STAND_IN, "lib/spack/spack/__init__.py": version}),
        "packages": repository(tmp_path / "packages", {"repos/spack_repo/builtin/repo.yaml": ""}),
    }
    monkeypatch.setattr(spack, "ENVIRONMENTS", tmp_path)
    monkeypatch.setenv("KAPPA_SPACK_STATE", str(tmp_path / "state"))
    for name in ("KAPPA_SPACK_ROOT", "KAPPA_SPACK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KAPPA_SPACK_SPEC", "")  # so that what a test sets goes with it

    def write(**wrong):
        lines = [
            f'[{part}]\nurl = "file://{tmp_path / part}"\ntag = "v1"\ncommit = "{commit}"\n'
            for part, commit in {**commits, **wrong}.items()
        ]
        (tmp_path / "release.toml").write_text("".join(lines))
        return commits

    return write


@pytest.fixture
def app(pin, tmp_path, monkeypatch):
    """The environment `app` of a site without facts of its own."""
    pin()
    facts = tmp_path / "site/spack"
    facts.mkdir(parents=True)
    monkeypatch.setattr(state.SpackSite, "facts", facts)
    return state.SpackSite("embedded").environment(spack_tables.read("app"))


def test_the_pinned_release_is_cloned_once(pin, tmp_path, capsys):
    pin()
    environment = state.SpackSite("embedded").environment(spack_tables.read("app"))
    root = spack.find(environment)
    assert root == tmp_path / "state/spack-v1"
    assert (tmp_path / "state/packages-v1/repos/spack_repo/builtin/repo.yaml").is_file()
    assert capsys.readouterr().out.count("cloning file://") == 2
    assert spack.find(environment) == root
    assert capsys.readouterr().out == ""


def test_a_tag_that_moved_is_refused_and_leaves_nothing(pin, tmp_path):
    commit = pin(packages="0" * 40)["packages"]
    with pytest.raises(InstallError) as caught:
        spack.find(state.SpackSite("embedded").environment(spack_tables.read("app")))
    assert str(caught.value) == f"file://{tmp_path}/packages: tag v1 is commit {commit}, release.toml says {'0' * 40}"
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["spack-v1"]


def test_a_repository_that_cannot_be_reached_says_what_to_do(pin, tmp_path):
    pin()
    (tmp_path / "spack").rename(tmp_path / "elsewhere")
    with pytest.raises(InstallError, match=r"cannot clone file://.*spack .*\n.*KAPPA_SPACK_ROOT"):
        spack.find(state.SpackSite("embedded").environment(spack_tables.read("app")))


def test_the_clone_is_no_spack_of_the_site_and_keeps_its_recipes(app, tmp_path):
    installation.ensure(app)
    assert app.record()["KAPPA_SPACK_ROOT"] == ""
    repos = json.loads((app.site.folder / "config/repos.yaml").read_text())["repos"]
    assert repos["builtin"] == str(tmp_path / "state/packages-v1/repos/spack_repo/builtin")


def test_a_spack_of_the_site_is_remembered(app, tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_SPACK_ROOT", str(tmp_path / "spack"))
    installation.ensure(app)
    monkeypatch.delenv("KAPPA_SPACK_ROOT")
    assert app.up_to_date()
    assert spack.find(app) == tmp_path / "spack"
    assert "builtin" not in json.loads((app.site.folder / "config/repos.yaml").read_text())["repos"]


def test_a_question_that_spack_does_not_answer_is_an_error(app, capsys):
    app.site.folder.mkdir(parents=True)
    (app.site.folder / "broken").touch()
    assert main(["embedded", "app"]) == 1
    assert "install: app: `spack find --json` ended with status 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("recorded", "last"),
    [
        ("full_disk", "    log: /stage/spack-stage-gcc-runtime-12.2.0-"),
        ("fetch_failed", "  and 1 more"),
        ("no_source", "    https://github.com/hpc/ior/archive/4.0.0.tar.gz: [Errno -2] Name or service not known"),
    ],
)
def test_the_last_lines_are_the_reason_that_spack_gave(app, capsys, recorded, last):
    app.site.folder.mkdir(parents=True)
    (app.site.folder / "fails").write_bytes((DATA / f"{recorded}.txt").read_bytes())
    assert main(["embedded", "app"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(last)


def tell_compiler(app, path, file="settings.json"):
    """Has the stand-in say that gcc 12.2.0 has the command ``path`` for C."""
    external = {"spec": "gcc@12.2.0", "prefix": "/usr", "extra_attributes": {"compilers": {"c": str(path)}}}
    told = {
        "packages": {"gcc": {"externals": [external]}},
        "compilers": {},
        "compiler_packages": ["gcc"],
        "providers": {},
        "repos": {},
    }
    app.site.folder.mkdir(parents=True, exist_ok=True)
    (app.site.folder / file).write_text(json.dumps(told))


def solve_to(app, name):
    app.site.folder.mkdir(parents=True, exist_ok=True)
    (app.site.folder / "solution").write_bytes((DATA / f"{name}.lock.json").read_bytes())


@pytest.fixture
def gcc(tmp_path):
    """A compiler that only tells its version."""
    path = tmp_path / "gcc"
    path.write_text("#!/bin/sh\necho gcc 12.2.0\n")
    path.chmod(0o755)
    return path


def test_a_compiler_that_is_not_there_stops_before_the_solver(app, capsys):
    tell_compiler(app, "/opt/rh/gcc-toolset-12/root/usr/bin/gcc")
    assert main(["embedded", "app"]) == 1
    said = capsys.readouterr()
    assert "gcc@12.2.0, c: /opt/rh/gcc-toolset-12/root/usr/bin/gcc does not exist" in said.err
    assert "solving" not in said.out


def test_a_solution_that_nothing_can_be_built_with_is_refused(app, capsys):
    solve_to(app, "stream_without_wrapper")
    assert main(["embedded", "app"]) == 1
    said = capsys.readouterr()
    assert "stream by gcc@13.2.0 in /opt/gcc-13" in said.err
    assert "extra_attributes: {compilers: {c: PATH" in said.err
    assert "installing" not in said.out


def test_the_compiler_that_was_used_is_recorded_and_another_makes_it_out_of_date(app, gcc, capsys):
    tell_compiler(app, gcc)
    solve_to(app, "stream")
    installation.ensure(app)
    assert "no compiler is declared" not in capsys.readouterr().out
    assert app.record()["origins"]["compilers"] == {str(gcc): "gcc 12.2.0"}
    assert app.up_to_date()
    gcc.write_text("#!/bin/sh\necho gcc 12.2.1\n")
    assert not app.up_to_date()


def test_a_compiler_that_spack_had_to_find_is_said_and_recorded(app, gcc, capsys):
    tell_compiler(app, gcc, "found.json")
    solve_to(app, "stream")
    installation.ensure(app)
    assert f"app: no compiler is declared; Spack uses gcc@12.2.0: {gcc}\n" in capsys.readouterr().out
    assert app.record()["origins"]["compilers"] == {str(gcc): "gcc 12.2.0"}


@pytest.fixture
def own(app, tmp_path, monkeypatch):
    """A Spack of the site, with recipes of its own."""
    roots = tmp_path / "own/spack", tmp_path / "own/recipes"
    repository(roots[0], {"bin/spack": STAND_IN, "lib/spack/spack/__init__.py": '__version__ = "1.1.1"\n'})
    repository(roots[1], {"packages/ior/package.py": "version 4"})
    monkeypatch.setenv("KAPPA_SPACK_ROOT", str(roots[0]))
    told = {
        "packages": {},
        "compilers": {},
        "compiler_packages": [],
        "providers": {},
        "repos": {"builtin": str(roots[1]), "kappa": "/x"},
    }
    app.site.folder.mkdir(parents=True, exist_ok=True)
    (app.site.folder / "settings.json").write_text(json.dumps(told))
    return roots


def test_another_spack_and_other_recipes_are_recorded_and_said(app, own, pin, capsys):
    installation.ensure(app)
    checkouts = app.record()["origins"]["checkouts"]
    assert {name: checkout["folder"] for name, checkout in checkouts.items()} == {
        "spack": str(own[0]), "builtin": str(own[1]),
    }  # fmt: skip
    for _ in range(2):
        said = capsys.readouterr().out
        for name, folder, part in (("spack", own[0], "spack"), ("builtin", own[1], "packages")):
            is_now, pinned = checkouts[name]["revision"], pin()[part]
            assert f"warning: {name} in {folder} is {is_now}; release.toml has v1, commit {pinned}\n" in said
        installation.ensure(app)


def test_the_pinned_release_is_not_warned_of(app, capsys):
    installation.ensure(app)
    assert app.record()["origins"]["checkouts"]["spack"]["folder"] == str(app.site.folder.parent / "spack-v1")
    assert "warning" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("part", "file"),
    [(0, "lib/spack/spack/new.py"), (0, "etc/spack/repos.yaml"), (1, "packages/ior/package.py")],
)
def test_another_commit_or_a_changed_file_makes_it_out_of_date(app, own, part, file):
    installation.ensure(app)
    assert app.up_to_date()
    changed = own[part] / file
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_text("other")
    subprocess.run(["git", "-C", own[part], "add", "."], check=True)
    assert not app.up_to_date()


def test_another_folder_in_place_of_spack_makes_it_out_of_date(app, own, tmp_path, monkeypatch):
    installation.ensure(app)
    shutil.copytree(own[0], tmp_path / "second", ignore=shutil.ignore_patterns(".git"))
    monkeypatch.setenv("KAPPA_SPACK_ROOT", str(tmp_path / "second"))
    assert not app.up_to_date()
    installation.ensure(app)
    assert app.up_to_date()
    assert app.record()["origins"]["checkouts"]["spack"]["revision"].startswith("no commit, files ")
    (tmp_path / "second/lib/spack/spack/new.py").touch()
    assert not app.up_to_date()


def test_nothing_is_written_outside_the_state_folder(app):
    installation.ensure(app)
    config = json.loads((app.site.folder / "config/config.yaml").read_text())["config"]
    for where in (config["source_cache"], *config["build_stage"], config["test_stage"], config["install_tree"]["root"]):
        assert where.startswith(f"{app.site.folder}/")


def test_spacks_output_keeps_its_blanks(app, capsys):
    installation.ensure(app)
    assert "\n  [e]  4pzr3vk      ^cli11@2.1.2\n" in capsys.readouterr().out


def test_the_minute_before_the_first_solution_is_told_once(app, capsys):
    installation.ensure(app)
    assert "reads all its recipes once" in capsys.readouterr().out
    (app.folder / "installed.json").unlink()
    installation.ensure(app)
    said = capsys.readouterr().out
    assert "solving" in said and "reads all its recipes" not in said


def test_a_mirror_is_solved_and_filled_and_says_where_it_is(app, tmp_path, capsys):
    tell_compiler(app, "/opt/rh/gcc-toolset-12/root/usr/bin/gcc")  # of the site, and not of this machine
    app.write_record(digest="as before")
    assert main(["embedded", "app", "--mirror", str(tmp_path / "sources")]) == 0
    assert json.loads((tmp_path / "sources/config/mirrors.yaml").read_text())["mirrors"]["kappa"]["url"] == ".."
    specs = yaml.safe_load((tmp_path / "sources/spack.yaml").read_text())["spack"]["specs"]
    assert specs == ["kappa.emt-app@=1.0.0", "compiler-wrapper"]
    assert (tmp_path / "sources/excluded").read_text() == "--exclude-specs=emt-app\n"
    assert f"KAPPA_SPACK_CONFIG={tmp_path}/sources/config spack_envs/install embedded app" in capsys.readouterr().out
    assert app.record() == {"digest": "as before"} and not app.lock_file.exists()


def test_a_mirror_that_lacks_a_source_is_none(app, tmp_path, capsys):
    app.site.folder.mkdir(parents=True)
    (app.site.folder / "fails").write_bytes((DATA / "mirror_lacks_source.txt").read_bytes())
    assert main(["embedded", "app", "--mirror", str(tmp_path / "sources")]) == 1
    assert not (tmp_path / "sources").exists()
    said = capsys.readouterr().err.splitlines()
    assert "mirroring failed" in said[0]
    assert said[1] == "  ior@4.0.0: All fetchers failed"
    assert said[-1] == "    https://github.com/hpc/ior/archive/4.0.0.tar.gz: [Errno -2] Name or service not known"


def test_spack_is_asked_for_the_chosen_spec(app, capsys):
    assert main(["embedded", "app", "--spec", "emt-app ^mpich"]) == 0
    chosen = state.SpackSite("embedded").environment(app.table)
    assert chosen.installed() and chosen.folder != app.site.folder / "app"
    spec, develop = (
        yaml.safe_load((chosen.folder / "spack.yaml").read_text())["spack"][key] for key in ("specs", "develop")
    )
    assert spec == ["kappa.emt-app@=1.0.0 ^mpich"]
    assert (chosen.folder / develop["emt-app"]["path"]).is_dir()
    assert not (app.site.folder / "app").exists()


def test_a_chosen_mpi_counts_and_not_the_one_that_the_site_requires(app, capsys):
    told = {"packages": {}, "compilers": {}, "compiler_packages": [], "repos": {}}
    app.site.folder.mkdir(parents=True)
    (app.site.folder / "settings.json").write_text(
        json.dumps({**told, "providers": {"mpi": ["mpich", "openmpi"], "blas": ["openblas"]}})
    )
    (app.site.folder / "released.json").write_text(json.dumps({**told, "providers": {}}))
    assert main(["embedded", "app", "--spec", "emt-app ^[virtuals=mpi] mpich@4"]) == 0
    chosen = state.SpackSite("embedded").environment(app.table)
    # The key is `mpi:`, with which Spack lets go of `mpi` as other files have it.
    assert yaml.safe_load((chosen.released / "packages.yaml").read_text()) == {
        "packages": {"mpi:": {"buildable": True}}
    }
    assert str(chosen.released) in spack.Spack(spack.find(chosen), chosen).command
    assert "the chosen spec overrides the site's requirement for mpi\n" in capsys.readouterr().out
    chosen.write_record()  # out of date: what it lifted before must not hide what the site requires
    assert main(["embedded", "app"]) == 0
    assert (chosen.released / "packages.yaml").is_file()
    (app.site.folder / "settings.json").write_text(json.dumps({**told, "providers": {"blas": ["openblas"]}}))
    chosen.write_record()
    assert main(["embedded", "app"]) == 0
    assert not chosen.released.exists()
