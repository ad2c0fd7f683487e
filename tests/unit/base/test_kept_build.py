"""A build is kept by its content, for every checkout: what changes a program builds it anew, nothing else does."""

import os
import pathlib
import shutil
import subprocess
import time

import pytest

from reframe_checks.base.cmake_program import KEPT_BUILD
from tests.programs import BUILDS, REPOSITORY

CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(tool C)
add_executable(tool tool.c)
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "tool"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(CMAKE)
    (folder / "tool.c").write_text("int main(void) { return 3; }\n")
    return folder


@pytest.fixture
def build(tmp_path, project):
    """``build(folder, *options)``: the exit status of the program that was built there, and what was said of it."""

    def run(folder, *options, **variables):
        environment = os.environ | {"KAPPA_BUILDS": str(tmp_path / "kept")} | variables
        command = ["bash", KEPT_BUILD, project, tmp_path / folder, "tool", *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return subprocess.run([tmp_path / folder / "tool"], check=False).returncode, done.stdout + done.stderr

    return run


def kept(tmp_path):
    return sorted(path.name for path in (tmp_path / "kept").iterdir())


def test_another_checkout_takes_what_was_built(build, tmp_path):
    assert "taken from" not in build("first")[1]
    assert (kept(tmp_path), "taken from" in build("second")[1]) == (kept(tmp_path), True)
    assert len(kept(tmp_path)) == 1


def test_the_same_folder_builds_and_configures_nothing_again(build):
    build("first")
    assert build("first") == (3, "")


@pytest.mark.parametrize("options", [("-DCMAKE_C_FLAGS=-DOTHER",), ("-DCMAKE_BUILD_TYPE=Debug",)])
def test_other_flags_are_another_build(build, tmp_path, options):
    build("first")
    assert "taken from" not in build("second", *options)[1]
    assert len(kept(tmp_path)) == 2


@pytest.mark.parametrize("cache", ["kept", "another"])
def test_other_sources_are_another_build_and_the_old_ones_the_old(build, project, tmp_path, cache):
    """Also where files have the times of a package or a copy, older than the objects of other sources."""
    build("first")
    source = project / "tool.c"
    old, stat = source.read_text(), source.stat()
    source.write_text(old.replace("3", "4"))
    assert build("first")[0] == 4
    source.write_text(old)
    os.utime(source, (stat.st_atime - 3600, stat.st_mtime - 3600))
    assert build("first", KAPPA_BUILDS=str(tmp_path / cache))[0] == 3


def test_an_edit_compiles_what_it_changed(build, project):
    (project / "CMakeLists.txt").write_text(CMAKE.replace("tool.c)", "tool.c other.c)"))
    (project / "other.c").write_text("int other(void) { return 0; }\n")
    build("first")
    (project / "tool.c").write_text("int main(void) { return 5; }\n")
    status, said = build("first")
    assert (status, "tool.c.o" in said, "other.c.o" in said) == (5, True, False)


def test_the_least_recently_used_build_makes_room(build, tmp_path):
    build("first")
    (first,) = kept(tmp_path)
    assert build("second", "-DCMAKE_C_FLAGS=-DOTHER", KAPPA_BUILDS_MIB="0")[0] == 3
    assert len(kept(tmp_path)) == 1
    assert first not in kept(tmp_path)


def test_only_own_builds_make_room(build, tmp_path):
    build("first")
    store = tmp_path / "kept"
    (mine,) = kept(tmp_path)
    old = store / f"tool-{'0' * 64}"
    shutil.copytree(store / mine, old)
    others = [f"tool-{'1' * 64}", f"tool-{'2' * 63}", "kappa.git", "kappa.results", "thesis"]
    for name in others:
        (store / name).mkdir()
        (store / name / "file").write_text("text\n")
    shutil.copy(store / mine / ".kappa-folder", store / f"tool-{'2' * 63}")
    linked = store / f"tool-{'3' * 64}"
    linked.symlink_to(shutil.copytree(store / mine, tmp_path / "elsewhere"))
    days_ago = time.time() - 3 * 86400
    unfinished = {store / ".new-AbCdEf": True, store / ".new-GhIjKl": False}
    for folder, marked in unfinished.items():
        shutil.copytree(store / mine, folder)
        if not marked:
            (folder / ".kappa-folder").unlink()
        os.utime(folder, (days_ago, days_ago))
    build("second", "-DCMAKE_C_FLAGS=-DOTHER", KAPPA_BUILDS_MIB="0")
    left = kept(tmp_path)
    assert not {mine, old.name, ".new-AbCdEf"} & set(left)
    assert {*others, linked.name, ".new-GhIjKl"} < set(left)
    assert (tmp_path / "elsewhere/tool").exists()
    assert all((store / name / "file").exists() for name in others)


def test_files_of_others_do_not_count(build, tmp_path):
    build("first")
    (tmp_path / "kept/thesis").mkdir()
    (tmp_path / "kept/thesis/figures").write_bytes(os.urandom(3 << 20))
    build("second", "-DCMAKE_C_FLAGS=-DOTHER", KAPPA_BUILDS_MIB="2")
    assert len(kept(tmp_path)) == 3


@pytest.mark.parametrize("by", ["owner", "mode", "link"])
def test_program_that_others_could_have_written_is_not_taken(build, tmp_path, by):
    if by == "owner" and os.geteuid() != 0:
        pytest.skip("needs root to make files of another user")
    build("first")
    (name,) = kept(tmp_path)
    program = tmp_path / "kept" / name / "tool"
    program.write_text("#!/bin/sh\nexit 66\n")
    match by:
        case "owner":
            os.chown(program, 65534, 65534)
        case "mode":
            program.chmod(0o775)
        case "link":
            planted = shutil.move(program, tmp_path / "planted")
            os.chown(planted, 65534, 65534) if os.geteuid() == 0 else planted.chmod(0o777)
            program.symlink_to(planted)
    status, said = build("second")
    assert (status, "taken from" in said, name in said) == (3, False, True)


def test_a_cache_that_cannot_be_written_costs_nothing(build, tmp_path):
    (tmp_path / "kept").write_text("no folder")
    status, said = build("first")
    assert (status, "cannot use this build" in said) == (3, True)


def test_all_that_a_compiler_read_counts(pytestconfig):
    """``kept_build.sh`` reads every file of this repository that compilers read for the tests' programs."""
    for name, one in BUILDS.items():
        folder = REPOSITORY / ".kappa/build/tests" / name
        root = REPOSITORY / one.source
        for file in folder.rglob("*.o.d"):
            words = file.read_text().replace("\\\n", " ").split()[1:]
            read = {pathlib.Path(os.path.normpath(folder / word)) for word in words}
            ours = {path for path in read if REPOSITORY in path.parents and ".kappa" not in path.parts}
            assert all(root in path.parents for path in ours), (name, ours)
