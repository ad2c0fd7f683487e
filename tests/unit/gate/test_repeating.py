"""A test whose figures a busy machine can spoil runs again, alone; a wrong result stays one."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.unit.test_repository import REPOSITORY

MARKED_AT_MOST = 10
SPOILT = """
import pathlib
from tests.repeating import timing

def nth(name):
    counted = pathlib.Path(__file__).with_name(name)
    with counted.open("a") as file:
        file.write("x")
    return len(counted.read_text())
"""
ONCE = SPOILT + '@timing("loops beside it")\ndef test_spoilt_once(): assert nth("once") == 2\n'
ALWAYS = SPOILT + '@timing("loops beside it")\ndef test_wrong(): assert nth("wrong") == 0\n'
RAISES = SPOILT + '@timing("loops beside it")\ndef test_raises(): nth("raises"); raise OSError("left over")\n'
FIXTURE = SPOILT + (
    "import pytest\n"
    "@pytest.fixture\ndef clean():\n    yield\n    assert nth('left') == 0\n"
    '@timing("loops beside it")\ndef test_leaves(clean): pass\n'
)


@pytest.fixture
def run(tmp_path):
    """run(files): the exit status and the output of pytest with two workers and this repository's conftest."""

    def run(**files):
        folder = tmp_path / "checked"
        folder.mkdir()
        (folder / "conftest.py").write_text((REPOSITORY / "tests/conftest.py").read_text())
        for name, text in files.items():
            (folder / f"test_{name}.py").write_text(text)
        (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = timing: as in pyproject.toml\n")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", folder], cwd=tmp_path, text=True,
            capture_output=True, env={**environment, "PYTHONPATH": str(REPOSITORY)}, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, folder

    return run


def test_a_spoilt_test_is_repeated_once_and_told(run):
    status, said, folder = run(once=ONCE)
    assert status == 0 and (folder / "once").read_text() == "xx", said
    assert "REPEATED 1 of 3: checked/test_once.py::test_spoilt_once: loops beside it: AssertionError" in said


def test_a_wrong_result_fails_however_often_it_is_repeated(run):
    status, said, folder = run(always=ALWAYS)
    assert status == 1 and (folder / "wrong").read_text() == "xxxx", said
    assert "REPEATED 3 of 3" in said and "FAILED alone: checked/test_always.py::test_wrong" in said


def test_three_repeats_fail_though_each_passes(run):
    status, said, _ = run(**{name: ONCE.replace("once", name) for name in ("one", "two", "three")})
    assert status == 1 and said.count("REPEATED 1 of 3") == 3 and "FAILED alone" not in said


@pytest.mark.parametrize("text, name", [(RAISES, "raises"), (FIXTURE, "left")])
def test_exceptions_and_leftovers_are_not_repeated(run, text, name):
    status, said, folder = run(it=text)
    assert status == 1 and (folder / name).read_text() == "x" and "REPEATED" not in said, said


def test_few_tests_are_marked():
    marked = [
        found
        for path in pathlib.Path(REPOSITORY / "tests").rglob("test_*.py")
        if path.name != pathlib.Path(__file__).name
        for found in re.findall(r"^@timing\(", path.read_text(), re.MULTILINE)
    ]
    assert len(marked) <= MARKED_AT_MOST
