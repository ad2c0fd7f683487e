"""The last 60 lines of a run say which tests failed, what each step took, and how many passed."""

import os
import subprocess
import sys

import pytest

from tests.gate.ending import GROUP_LINES, GROUPS, LINES, ending
from tests.gate.results import grouped, read
from tests.gate.running import Outcome, Step
from tests.unit.test_repository import REPOSITORY

TESTS = """
import os
import pytest

@pytest.fixture
def cluster():
    raise RuntimeError("no cluster:\\nslurmctld does not answer")

@pytest.mark.parametrize("number", range(31))
def test_on_a_cluster(cluster, number): pass

def test_figures(): assert [1, 2, 3] == [1, 2, 4]
def test_passes(): pass
@pytest.mark.skip
def test_skipped(): pass
"""
CRASHES = "import os\ndef test_crash(): os._exit(3)\n"


@pytest.fixture
def results(tmp_path):
    """results(files): the JUnit file of pytest, with two workers and this repository's conftest, on ``files``."""

    def run(files, *options):
        folder = tmp_path / "tests"
        folder.mkdir()
        (folder / "conftest.py").write_text((REPOSITORY / "tests/conftest.py").read_text())
        for name, text in files.items():
            with (folder / name).open("a") as file:
                file.write(text)
        command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", tmp_path, "-p", "no:cacheprovider",
                   "-o", "junit_family=xunit1", "--junitxml", tmp_path / "results.xml", *options, folder]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment, check=False)
        return tmp_path / "results.xml"

    return run


def outcome(tmp_path, name, status=0, **changes):
    log = tmp_path / f"{name}.log"
    if not log.exists():
        log.write_text("".join(f"line {number} of {name}\n" for number in range(100)))
    step = Step(name, ["make", name], results=changes.pop("results", None))
    return Outcome(step, log, 12.3, status, **{"note": f"status {status}" if status else "", **changes})


def test_failures_are_grouped_by_file_and_exception(results):
    found = read(results({"test_a.py": TESTS, "test_b.py": "import nosuch\n"}, "-n", "2"))
    assert found.counts == {"errors": 32, "failed": 1, "passed": 1, "skipped": 1}
    groups = {(group.first.file, group.first.exception): group for group in grouped(found.failures)}
    together = groups["tests/test_a.py", "RuntimeError"]
    assert (together.count, together.first.test) == (31, "test_on_a_cluster[0]")
    assert "slurmctld does not answer" in together.first.message
    assert "assert [1, 2, 3] == [1, 2, 4]" in groups["tests/test_a.py", "AssertionError"].first.message
    assert "No module named 'nosuch'" in groups["tests/test_b.py", "collection failure"].first.message
    assert len(groups) == 3


def test_a_worker_that_crashes_again_and_again_is_one_group(results):
    groups = grouped(read(results({"test_a.py": CRASHES}, "-n", "2")).failures)
    assert [group.first.file for group in groups] == ["tests/test_a.py"]
    assert "crashed while running" in groups[0].first.message and groups[0].count > 1


def test_an_internal_error_of_pytest_is_a_failure_with_its_cause(results):
    hook = "\n\ndef pytest_runtest_protocol(item): raise KeyError('boom')\n"
    found = read(results({"test_a.py": TESTS, "conftest.py": hook}))
    assert [failure.exception for failure in found.failures] == ["internal error"]
    assert "KeyError: 'boom'" in found.failures[0].message


def test_a_failing_run_ends_with_groups_the_table_and_the_numbers_in_60_lines(tmp_path):
    message = "&#10;".join("abcdefghijk")
    cases = [
        f'<testcase file="tests/test_{number}.py" name="test_it" time="1"><properties>'
        f'<property name="exception" value="ValueError"/></properties><failure message="{message}"/>'
        "</testcase>"
        for number in range(8)
    ]
    xml = tmp_path / "test.xml"
    xml.write_text(f"<testsuites><testsuite>{''.join(cases)}<testcase/></testsuite></testsuites>")
    outcomes = [outcome(tmp_path, "lint"), outcome(tmp_path, "test", 2, note="status 1, make's 2", results=xml)]
    lines = ending([one.step for one in outcomes] + [Step("last", ["make", "last"])], outcomes)
    assert len(lines) <= LINES and sum(line.startswith("tests/test_") for line in lines) == GROUPS
    assert "… and 3 more groups of failures" in lines
    assert lines.index("tests/test_1.py: ValueError") == GROUP_LINES
    table = next(number for number, line in enumerate(lines) if line.startswith("step "))
    assert [line.split()[0] for line in lines[table + 1 : table + 4]] == ["lint", "test", "last"]
    assert lines[table + 2].split("  ")[-1] == str(tmp_path / "test.log") and lines[table + 3].endswith("not run")
    assert lines[-2] == f"step test failed, status 1, make's 2: {tmp_path}/test.log"
    assert lines[-1] == "1 passed, 8 failed, 0 errors, 0 skipped: failed"


def test_without_results_the_end_of_the_log_is_shown(tmp_path):
    failed = outcome(tmp_path, "test", 2, results=tmp_path / "none.xml")
    lines = ending([failed.step], [failed])
    assert lines[:2] == [f"The end of {tmp_path}/test.log:", "line 75 of test"] and "line 99 of test" in lines


@pytest.mark.parametrize("names", [["a"], [f"step-{number}" for number in range(9)]])
def test_however_many_steps_fail_60_lines_hold_it(tmp_path, names):
    outcomes = [outcome(tmp_path, name, 2) for name in names]
    lines = ending([one.step for one in outcomes], outcomes)
    assert len(lines) <= LINES and lines[-1].endswith(": failed")


def test_a_green_run_ends_with_the_same_table_in_a_few_lines(tmp_path):
    busy = outcome(tmp_path, "validate", note="INCOMPLETE, because this machine was busy")
    lines = ending([busy.step], [busy])
    assert len(lines) == 4 and "passed: INCOMPLETE, because this machine was busy" in lines[1]
    assert lines[-1] == "0 passed, 0 failed, 0 errors, 0 skipped: passed"


def test_what_was_repeated_is_told_also_of_a_green_run(tmp_path):
    said = "REPEATED 1 of 3: tests/test_it.py::test_it: loops beside it: AssertionError"
    (tmp_path / "test.log").write_text(f"{said}\n100 passed\n")
    passed = outcome(tmp_path, "test", results=tmp_path / "none.xml")
    assert said in ending([passed.step], [passed])
