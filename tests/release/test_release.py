"""`make release` gives equal files, and the commands of docs/release.md accept them and nothing else."""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

REPOSITORY = pathlib.Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs/release.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.long


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def documented(block, cwd, commit=""):
    (commands,) = re.findall(rf"^```{block}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return run("bash", "-euc", commands.replace("COMMIT", commit), cwd=cwd)


def release(tree, into, *options):
    return run(sys.executable, ".ci/release.py", "--into", into, *options, cwd=tree)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A commit of the working tree, with a file beside it that git does not have."""
    folder = tmp_path_factory.mktemp("tree")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=REPOSITORY).stdout
    for path in filter(None, listed.split("\0")):
        if (REPOSITORY / path).is_file():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / path, folder / path)
    run("git", "init", "--quiet", cwd=folder)
    commit(folder)
    (folder / "kappa/untracked.py").write_text("")
    return folder


def commit(folder):
    run("git", "add", "--all", cwd=folder)
    who = ("-c", "user.name=Releaser", "-c", "user.email=releaser@localhost")
    done = run("git", *who, "commit", "--quiet", "--message", "Release", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def signed(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    for name in ("kappa", "other"):
        assert run("minisign", "-G", "-W", "-p", f"{name}.pub", "-s", f"{name}.key", cwd=folder).returncode == 0
    done = release(tree, folder / "dist", "--sign", f"minisign:{folder}/kappa.key")
    assert done.returncode == 0, done.stderr
    shutil.copy(folder / "kappa.pub", folder / "dist")
    return folder / "dist"


def test_documented_commands_verify_and_install_a_release(signed, tmp_path):
    folder = shutil.copytree(signed, tmp_path / "dist")
    verified = documented("verify", folder)
    assert verified.returncode == 0, verified.stderr
    assert verified.stdout.count(": OK\n") == 4
    installed = documented("install", folder)
    assert installed.returncode == 0, installed.stderr
    version = run(folder / "kappa/bin/kappa", "--version", cwd=tmp_path)
    assert version.returncode == 0, version.stderr


def test_documented_commands_build_the_same_release_again(signed, tree, tmp_path):
    assert run("git", "clone", "--quiet", tree, tmp_path / "checkout", cwd=tmp_path).returncode == 0
    shutil.copy(signed / "SHA256SUMS", tmp_path / "checkout")
    commit_id = run("git", "rev-parse", "HEAD", cwd=tree).stdout.strip()
    rebuilt = documented("rebuild", tmp_path / "checkout", commit_id)
    assert rebuilt.returncode == 0, rebuilt.stdout + rebuilt.stderr


def append(folder, name):
    with (folder / name).open("ab") as file:
        file.write(b" ")


def sum_again(folder):
    names = [line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    (folder / "SHA256SUMS").write_text(run("sha256sum", *names, cwd=folder).stdout)


def alter_and_sum_again(folder):
    append(folder, "provenance.intoto.json")
    sum_again(folder)


def sign_with_another_key(folder):
    alter_and_sum_again(folder)
    key = folder.parent / "other.key"
    assert run("minisign", "-S", "-s", key, "-m", "SHA256SUMS", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    "attack",
    [
        lambda folder: append(folder, next(folder.glob("*.whl")).name),
        lambda folder: append(folder, next(folder.glob("*.tar.gz")).name),
        lambda folder: append(folder, "requirements.lock"),
        lambda folder: append(folder, "provenance.intoto.json"),
        lambda folder: next(folder.glob("*.whl")).unlink(),
        lambda folder: (folder / "SHA256SUMS.minisig").unlink(),
        alter_and_sum_again,
        sign_with_another_key,
    ],
    ids=["wheel", "sdist", "lock", "provenance", "no wheel", "no signature", "other sums", "other key"],
)
def test_documented_commands_refuse_an_altered_release(signed, tmp_path, attack):
    shutil.copy(signed.parent / "other.key", tmp_path)
    folder = shutil.copytree(signed, tmp_path / "dist")
    attack(folder)
    assert documented("verify", folder).returncode != 0


def test_the_provenance_names_files_commit_and_lock(signed, tree):
    text = (signed / "provenance.intoto.json").read_text()
    document = json.loads(text)
    # Both refuse unknown fields.
    Statement.copy_from_pb(json_format.Parse(text, statement_pb2.Statement())).validate()
    json_format.ParseDict(document["predicate"], provenance_pb2.Provenance())
    files = {entry["name"]: entry["digest"]["sha256"] for entry in document["subject"]}
    assert files.keys() == {path.name for path in signed.iterdir()} - {
        "SHA256SUMS", "SHA256SUMS.minisig", "provenance.intoto.json", "kappa.pub"
    }  # fmt: skip
    for name, digest in files.items():
        assert hashlib.sha256((signed / name).read_bytes()).hexdigest() == digest
    source, lock, tools = document["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert source["digest"]["gitCommit"] == run("git", "rev-parse", "HEAD", cwd=tree).stdout.strip()
    for entry in (lock, tools):
        assert hashlib.sha256((tree / entry["name"]).read_bytes()).hexdigest() == entry["digest"]["sha256"]


def test_a_file_that_git_does_not_have_stays_out(signed):
    (wheel,) = signed.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert not [name for name in packed.namelist() if "untracked" in name]


def test_builds_that_differ_are_refused(tree, tmp_path):
    folder = shutil.copytree(tree, tmp_path / "tree")
    hook = folder / ".ci/sbom.py"
    random = '"serialNumber": "urn:uuid:" + str(__import__("uuid").uuid4())'
    hook.write_text(hook.read_text().replace('"version": 1,', f'"version": 1, {random},'))
    commit(folder)
    done = release(folder, tmp_path / "dist")
    assert done.returncode == 1 and "two builds of" in done.stderr
    assert not (tmp_path / "dist/SHA256SUMS").exists()
    again = release(folder, tmp_path / "dist")
    assert again.returncode == 2 and "exists" in again.stderr
