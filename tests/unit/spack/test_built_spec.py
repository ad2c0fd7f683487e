"""The spec of a program; Spack's files, cut to the packages in question."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kappa.core.vocabulary.spack_tables import REPOSITORY
from spack_envs.installer.reframe_settings import BuiltSpec, built_spec
from tests.waiting import PATIENCE_S

DATA = Path(__file__).parents[2] / "data/spack"
HASH = "nnmgxn3bberlvswthyka65w57nt4w7y5"
CHECK = """
import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.check import SystemCheck


@rfm.simple_test
class Probe(SystemCheck):
    family, informational, local = "node/files", ["one"], True
    executable = "{program}"

    @rfmb.sanity_function
    def ran(self):
        return True

    @rfmb.performance_function("")
    def one(self):
        return 1
"""


@pytest.fixture
def program(tmp_path):
    """`ior` in a view, as a link into the folder that Spack 1.1 installed."""
    prefix = tmp_path / f"store/ior-4.0.0-{HASH}"
    for folder in (prefix / "bin", prefix / ".spack", tmp_path / "view"):
        folder.mkdir(parents=True)
    (prefix / "bin/ior").write_text("#!/bin/sh\n")
    (prefix / "bin/ior").chmod(0o755)
    (prefix / ".spack/spec.json").write_bytes((DATA / "ior.spec.json").read_bytes())
    (tmp_path / "view/ior").symlink_to(prefix / "bin/ior")
    return tmp_path / "view/ior"


def spec_file(program):
    return program.resolve().parents[1] / ".spack/spec.json"


def test_a_program_in_a_view_is_of_the_spec_that_it_links_to(program):
    assert built_spec(program) == BuiltSpec("ior", "4.0.0", HASH, "gcc@12.2.0", "openmpi@4.1.4")


def test_up_to_spack_0_23_a_compiler_is_no_package(program):
    spec_file(program).write_bytes((DATA / "ior_spack_0.23.spec.json").read_bytes())
    found = built_spec(program)
    assert found == BuiltSpec("ior", "4.0.0", "zkcqbrvllvtbmdgm45fao4xhustudhvc", "gcc@12.2.0", "openmpi@4.1.4")


@pytest.mark.parametrize("text", ["", "[]", '{"spec": {"nodes": []}}', '{"spec": {"nodes": [{"name": "ior"}]}}'])
def test_a_damaged_file_says_nothing(program, text):
    spec_file(program).write_text(text)
    assert built_spec(program) is None


def test_what_spack_did_not_build_has_no_spec():
    assert built_spec(Path("/bin/sh")) is None


def test_a_result_holds_the_spec_that_ran(program, tmp_path):
    (tmp_path / "settings.py").write_text("site_configuration = {}")
    (tmp_path / "checks.py").write_text(CHECK.format(program=program))
    done = subprocess.run(
        [
            Path(sys.executable).with_name("reframe"), "--nocolor", "-C", "settings.py", "-c", "checks.py", "-r",
            "--report-file=report.json", "--prefix=.",
        ],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, check=False,
        timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (case,) = json.loads((tmp_path / "report.json").read_text())["runs"][0]["testcases"]
    assert case["provenance"]["spec"] == {
        "name": "ior", "version": "4.0.0", "hash": HASH, "compiler": "gcc@12.2.0", "mpi": "openmpi@4.1.4",
    }  # fmt: skip
