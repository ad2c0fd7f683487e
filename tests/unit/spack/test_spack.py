"""The pinned Spack is cloned from local repositories, and what its commands answer; Spack itself is a stand-in."""

import json
import subprocess

import pytest

from spack_envs.installer import installation, spack, state, table
from spack_envs.installer.cli import main
from spack_envs.installer.spack import InstallError

# Of Spack only what the installer asks for: it "installs" the one program of `app`.
STAND_IN = """#!/bin/sh
set -eu
while [ "$1" != -e ]; do shift; done
case $3 in
    concretize) touch "$2/spack.lock" ;;
    install) mkdir -p "$2/view/bin"; printf '#!/bin/sh\\n' > "$2/view/bin/emt"; chmod +x "$2/view/bin/emt" ;;
    find) [ ! -e "$2/../broken" ] || exit 3; echo "[]" ;;
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
    monkeypatch.setattr(state.Site, "facts", facts)
    return state.Site("embedded").environment(table.read("app"))


def test_the_pinned_release_is_cloned_once(pin, tmp_path, capsys):
    pin()
    environment = state.Site("embedded").environment(table.read("app"))
    root = spack.find(environment)
    assert root == tmp_path / "state/spack-v1"
    assert (tmp_path / "state/packages-v1/repos/spack_repo/builtin/repo.yaml").is_file()
    assert capsys.readouterr().out.count("cloning file://") == 2
    assert spack.find(environment) == root
    assert capsys.readouterr().out == ""


def test_a_tag_that_moved_is_refused_and_leaves_nothing(pin, tmp_path):
    commit = pin(packages="0" * 40)["packages"]
    with pytest.raises(InstallError) as caught:
        spack.find(state.Site("embedded").environment(table.read("app")))
    assert str(caught.value) == f"file://{tmp_path}/packages: tag v1 is commit {commit}, release.toml says {'0' * 40}"
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["spack-v1"]


def test_a_repository_that_cannot_be_reached_says_what_to_do(pin, tmp_path):
    pin()
    (tmp_path / "spack").rename(tmp_path / "elsewhere")
    with pytest.raises(InstallError, match=r"cannot clone file://.*spack .*\n.*KAPPA_SPACK_ROOT"):
        spack.find(state.Site("embedded").environment(table.read("app")))


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
