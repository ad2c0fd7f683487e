"""The packages that a system needs; without a missing package, nothing is asked of root."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

EMBEDDED = pathlib.Path(__file__).parents[2] / "site_configs/embedded"
ROWS = [
    line.split() for line in (EMBEDDED / "packages.txt").read_text().splitlines() if not line.startswith("#")
]  # fmt: skip
SYSTEMS = {"debian-12": ("debian", "12"), "debian-13": ("debian", "13"), "ubuntu-24.04": ("ubuntu", "24.04")}


def installing(folder, system, installed, *options):
    """Return the script's output on a system with these packages, for a user without root and sudo."""
    (folder / "os-release").write_text('NAME="{0}"\nID={0}\nVERSION_ID="{1}"\n'.format(*system))
    (folder / "installed").write_text("".join(f"{name}\n" for name in installed))
    dpkg = folder / "dpkg-query"
    dpkg.write_text(f'#!/bin/sh\nfor last; do :; done\ngrep -qx "$last" {folder}/installed && printf installed\n')
    dpkg.chmod(0o755)
    for program in ("bash", "sh", "awk", "grep", "dirname"):
        (folder / program).exists() or (folder / program).symlink_to(f"/usr/bin/{program}")
    command = [folder / "install-packages", *options]
    if os.geteuid() == 0:
        command = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    here = {"PATH": str(folder), "KAPPA_OS_RELEASE": str(folder / "os-release")}
    return subprocess.run(command, env=here, capture_output=True, text=True, check=False)


@pytest.fixture
def readable():
    """A folder that a user without rights reads, too, with the script."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for file in ("install-packages", "packages.txt"):
            shutil.copy(EMBEDDED / file, folder)
        yield folder


def test_a_row_has_every_system():
    assert ROWS[0] == ["group", *SYSTEMS]
    assert [row for row in ROWS if len(row) != len(ROWS[0])] == []


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_missing_is_named_and_what_is_there_needs_no_root(name, readable):
    column = ROWS[0].index(name)
    base = ("cluster", "packaged", "mpich", "emt", "dossier", "python", "tests")
    needed = [row[1] if row[column] == "=" else row[column] for row in ROWS if row[0] in base and row[column] != "-"]
    done = installing(readable, SYSTEMS[name], needed[1:], "--tests")
    assert done.returncode == 1, done
    assert done.stdout == f"packages of {name} to install: {needed[0]}\n"
    assert "not root and no sudo" in done.stderr
    done = installing(readable, SYSTEMS[name], needed, "--tests")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_another_system_is_told_what_is_needed(readable):
    done = installing(readable, ("rocky", "9.4"), [])
    assert done.returncode == 1
    assert "rocky-9.4 is none of the systems of" in done.stderr and "slurm-wlm" in done.stderr
