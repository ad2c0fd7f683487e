"""Programs are built by the compilers that their environment names."""

import shlex
import subprocess
from types import SimpleNamespace

import pytest

from kappa.core.ground.folders import SUITE
from reframe_checks.base.cmake_program import CMakeProgram, build_command
from reframe_checks.base.programs import builds
from tests.stand_in import StandIn


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({}, []),
        ({"cxx": "smpicxx"}, ["-DCMAKE_CXX_COMPILER=smpicxx"]),
        ({"cc": "mpicc", "cxx": "/opt/c++"}, ["-DCMAKE_C_COMPILER=mpicc", "-DCMAKE_CXX_COMPILER=/opt/c++"]),
    ],
)
def test_the_compilers_of_an_environment(stated, named):
    extras = {"build_dir": "/built folder", **stated}
    environment = SimpleNamespace(name="here", features=[], extras=extras)
    check = StandIn(
        CMakeProgram, installed="", program="emt", folder="", source="/src", cmake_options=[],
        current_environ=environment,
    )  # fmt: skip
    check.command_line()
    words = shlex.split(" ".join([check.executable, *check.executable_opts]))
    assert words == build_command(check, extras)
    assert [word for word in words if "COMPILER" in word] == named
    assert check.command == "/built folder/emt/emt"


@pytest.mark.parametrize(
    ("features", "built"),
    [
        (["sweep-build"], {"kappa-measure"}),
        (["mumps"], {"kappa-measure-mumps"}),
        (["sweep-build", "mumps", "emt-build"], {"kappa-measure", "kappa-measure-mumps", "emt"}),
        (["emt", "osu"], set()),
    ],
)
def test_an_environment_builds_each_program_once(features, built):
    environment = {"name": "here", "features": features, "modules": [], "extras": {"build_dir": "/built"}}
    commands = [command for _, command in builds([environment])]
    folders = [command[3] for command in commands]
    assert sorted(folders) == sorted(f"/built/{name}" for name in built)
    with_mumps = [command[3] for command in commands if "-DMEASURE_MUMPS=ON" in command]
    assert with_mumps == [folder for folder in folders if folder.endswith("mumps")]


@pytest.mark.parametrize(
    ("version", "said"), [("8.5.0", "GCC 8.5.0 (/usr/bin/g++) is too old for C++20"), ("11.3.0", "")]
)
def test_a_compiler_that_is_too_old_is_said_at_once(version, said):
    compiler = {"ID": "GNU", "VERSION": version}
    named = [f"-DCMAKE_CXX_COMPILER_{key}={value}" for key, value in compiler.items()]
    command = ["cmake", "-DCMAKE_CXX_COMPILER=/usr/bin/g++", *named, "-P", str(SUITE / "emt_app/cxx20.cmake")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(said)
    assert said in " ".join(done.stderr.split())
