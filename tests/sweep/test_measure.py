"""Common behaviour of all subcommands of ``kappa-measure``."""

import subprocess

import pytest

from kappa.core.ground.folders import SUITE
from tests.programs import built

SHARED_WITH_EMT = {
    "common/heartbeat.hpp": "src/base/heartbeat.hpp",
    "common/own_cores.hpp": "src/base/own_cores.hpp",
    "common/cxx20.cmake": "cxx20.cmake",
}


@pytest.fixture(scope="module")
def program():
    return built("measure") / "kappa-measure"


def said_of(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shard", range(4))
def test_unit_tests(program, shard, monkeypatch):
    monkeypatch.setenv("GTEST_TOTAL_SHARDS", "4")
    monkeypatch.setenv("GTEST_SHARD_INDEX", str(shard))
    done = said_of(program.with_name("kappa-measure-test"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_subcommand_is_in_the_help(program):
    told = said_of(program, "--help").stdout
    found = [line.split()[0] for line in told.partition("Subcommands:")[2].splitlines() if line.startswith("  ")]
    subcommands = {"affinity", "bits", "node", "pairs", "mpi", "pattern", "ring-traffic", "sparse-direct"}
    assert subcommands <= set(found)


def test_what_was_not_built_is_a_usage_error_that_says_why(program):
    done = said_of(program, "sparse-direct", "--edge=3")
    assert done.returncode == said_of(program, "pairs", "--window=0").returncode != 0
    assert "built without MUMPS" in done.stderr


@pytest.mark.parametrize("words", [(), ("mpi",), ("unknown",)])
def test_a_subcommand_is_required(program, words):
    done = said_of(program, *words)
    assert done.returncode != 0 and done.stderr


@pytest.mark.parametrize("own", SHARED_WITH_EMT)
def test_the_emt_application_has_the_same_file(own):
    """Both are built from their own folders alone, the EMT application also by Spack."""
    of_emt = SUITE / "emt_app" / SHARED_WITH_EMT[own]
    assert (SUITE / "reframe_checks/src" / own).read_bytes() == of_emt.read_bytes()
