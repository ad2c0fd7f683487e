"""Programs are built by the compilers that their environment names."""

from types import SimpleNamespace

import pytest

from reframe_checks.base.cmake_program import CMakeProgram


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({}, []),
        ({"cxx": "smpicxx"}, ["-DCMAKE_CXX_COMPILER=smpicxx"]),
        ({"cc": "mpicc", "cxx": "/opt/c++"}, ["-DCMAKE_C_COMPILER=mpicc", "-DCMAKE_CXX_COMPILER=/opt/c++"]),
    ],
)
def test_the_compilers_of_an_environment(stated, named):
    environment = SimpleNamespace(name="here", features=[], extras={"build_dir": "/built", **stated})
    check = SimpleNamespace(installed="", program="emt", source="/src", cmake_options=[], current_environ=environment)
    CMakeProgram.command_line(check)
    configure = check.prerun_cmds[1].split()
    assert [word for word in configure if "COMPILER" in word] == named
    assert check.command == "/built/emt/emt"
