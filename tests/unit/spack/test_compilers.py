"""Compilers that a site declares, and compilers that the solver took; the locks are Spack's, shortened."""

import json
from pathlib import Path

import pytest

from spack_envs.installer.compilers import Compiler, broken, declared, taken, version, without_wrapper
from spack_envs.installer.origins import Origins

DATA = Path(__file__).parents[2] / "data/spack"


def lock(name):
    return json.loads((DATA / f"{name}.lock.json").read_text())


def program(file, text):
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_compilers_are_declared_in_packages_and_up_to_spack_0_23_in_compilers():
    external = {"spec": "gcc@12.2.0 languages='c,c++'", "prefix": "/usr"}
    commands = {"c": "/usr/bin/gcc-12", "cxx": "/usr/bin/g++-12"}
    paths = {"cc": "/opt/icx", "cxx": None, "f77": "/opt/ifx", "fc": "/opt/ifx"}
    found = declared(
        {
            "packages": {"gcc": {"externals": [{**external, "extra_attributes": {"compilers": commands}}, external]}},
            "compilers": [{"compiler": {"spec": "oneapi@=2024.1", "paths": paths, "modules": ["intel"]}}],
            "compiler_packages": ["gcc", "llvm"],
        }
    )
    assert found == [
        Compiler("gcc@12.2.0", commands),
        Compiler("oneapi@2024.1", {"c": "/opt/icx", "fortran": "/opt/ifx"}, alone=False),
    ]


def test_a_command_that_is_not_there_is_named_with_its_line(tmp_path):
    (tmp_path / "packages.yaml").write_text("packages:\n  gcc:\n    c: /nowhere/gcc\n")
    (problem,) = broken([Compiler("gcc@12.2.1", {"c": "/nowhere/gcc"})], [tmp_path])
    assert problem == f"{tmp_path}/packages.yaml:3: gcc@12.2.1, c: /nowhere/gcc does not exist"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo gcc 12", ""),
        ("echo 'unknown option --version' >&2; exit 2", ""),
        ("echo 'libx.so: cannot open shared object file' >&2; exit 127", "does not start: libx.so: cannot open shared"),
        ("kill -SEGV $$", "does not start: "),
    ],
)
def test_a_compiler_has_to_start(tmp_path, text, problem):
    path = program(tmp_path / "gcc", text)
    assert [line.partition(f"{path} ")[2][: len(problem)] for line in broken([Compiler("gcc@1", {"c": path})], [])] == (
        [problem] if problem else []
    )


def test_a_compiler_that_needs_modules_is_not_started(tmp_path):
    path = program(tmp_path / "icx", "exit 127")
    assert broken([Compiler("oneapi@1", {"c": path}, alone=False)], []) == []


def test_a_file_that_is_no_program_may_not_be_executed(tmp_path):
    (tmp_path / "gcc").touch(mode=0o644)
    assert broken([Compiler("gcc@1", {"c": f"{tmp_path}/gcc"})], [])[0].endswith("/gcc is not executable")


def test_the_solver_took_a_compiler_without_commands():
    assert without_wrapper(lock("stream_without_wrapper")) == ["stream by gcc@13.2.0 in /opt/gcc-13"]


@pytest.mark.parametrize("name", ["stream", "ior", "ior_spack_0.23"])
def test_the_compiler_that_was_taken_is_known(name):
    assert without_wrapper(lock(name)) == []
    assert taken(lock(name)) == ["gcc@12.2.0"]


def test_another_version_behind_the_same_path_is_another_origin(tmp_path):
    path = program(tmp_path / "gcc", "echo gcc 12.2.0")
    before = Origins.of([path], {})
    assert before.compilers == {path: "gcc 12.2.0"}
    assert before.now().digest("x") == before.digest("x")
    program(tmp_path / "gcc", "echo gcc 13.2.0")
    assert before.now().digest("x") != before.digest("x")
    assert version("/nowhere/gcc") == "[Errno 2] No such file or directory: '/nowhere/gcc'"
