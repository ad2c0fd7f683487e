"""The wheel holds all that the commands need, and an installed suite is not written into."""

import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import ComponentScope
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

REPOSITORY = pathlib.Path(__file__).parents[2]
INSTALLED = ("kappa", "reports", "reframe_checks", "spack_envs", "emt_app", "site_configs")


def listed(*folders):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return {path for path in done.stdout.split("\0") if path and (REPOSITORY / path).is_file()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    # A copy: the repository may hold files that git ignores.
    tree, folder = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for path in listed():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes((REPOSITORY / path).read_bytes())
        (tree / path).chmod((REPOSITORY / path).stat().st_mode)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, tree]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("kappa_validation-*.whl")
    return file


@pytest.fixture(scope="module")
def site_packages(wheel, tmp_path_factory):
    """As pip unpacks it."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as packed:
        for entry in packed.infolist():
            os.chmod(packed.extract(entry, folder), entry.external_attr >> 16)
    return folder


def test_the_wheel_holds_all_files_and_may_start_its_programs(wheel):
    with zipfile.ZipFile(wheel) as packed:
        found = {entry.filename: entry.external_attr >> 16 & 0o100 for entry in packed.infolist()}
    assert {path for path in found if ".dist-info/" not in path} == listed(*INSTALLED)
    programs = {path for path in listed(*INSTALLED) if os.access(REPOSITORY / path, os.X_OK)}
    assert {path for path, executable in found.items() if executable} == programs


def test_the_wheel_has_a_bill_of_packages_and_libraries(wheel):
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if ".dist-info/sboms/" in name)
        text = packed.read(name).decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = Bom.from_json(json.loads(text))
    components = {component.name: component for component in bill.components}
    lock = re.findall(r"^([\w.-]+)==(\S+)", (REPOSITORY / "requirements.lock").read_text("utf-8"), re.MULTILINE)
    python = {name: one.version for name, one in components.items() if one.purl.type == "pypi"}
    assert python == dict(lock) and "numpy" in python
    libraries = {name: one.scope for name, one in components.items() if one.purl.type == "generic"}
    required, optional = ComponentScope.REQUIRED, ComponentScope.OPTIONAL
    assert libraries == {
        "mpi": required, "nlohmann_json": required, "cli11": required, "eigen3": required, "simgrid": required,
        "metis": optional, "hdf5": optional, "mumps": optional, "gtest": ComponentScope.EXCLUDED,
    }  # fmt: skip
    (oldest,) = components["eigen3"].properties
    assert (oldest.name, oldest.value) == ("kappa:oldest-version", "3.3")


def test_an_installed_suite_works_anywhere_and_is_not_written_into(site_packages, tmp_path):
    def files():
        return {path for path in site_packages.rglob("*") if path.is_file()}

    before = files()
    named = {key: value for key, value in os.environ.items() if not key.startswith(("KAPPA_", "RFM_"))}
    here = {"PYTHONPATH": str(site_packages), "PYTHONDONTWRITEBYTECODE": "1", "XDG_DATA_HOME": str(tmp_path / "data")}
    (tmp_path / "work").mkdir()

    def kappa(*words):
        command = [sys.executable, "-m", "kappa.app.command.main", *words]
        return subprocess.run(
            command, cwd=tmp_path / "work", env={**named, **here, "XDG_CONFIG_HOME": str(tmp_path / "config")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    sites = kappa("site", "list")
    assert f"embedded: {site_packages / 'site_configs/embedded'}" in sites.stdout.splitlines(), sites.stderr
    # ReFrame lists the checks.
    plan = kappa("validate", "embedded", "smoke", "--plan")
    assert plan.returncode == 0 and "PairSweep" in plan.stdout, plan.stderr
    docs = kappa("docs", "PairSweep")
    assert docs.returncode == 0 and "worst_loss" in docs.stdout, docs.stderr
    cluster = kappa("cluster", "status")
    assert f"state folder {tmp_path}/data/kappa/.kappa/cluster" in cluster.stdout + cluster.stderr
    assert files() == before
    assert list((tmp_path / "work").iterdir()) == []
