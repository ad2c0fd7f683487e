"""Recorded output of Spack 1.1 for builds that failed."""

from pathlib import Path

from spack_envs.installer.build_log import Failure, failures, first_error

DATA = Path(__file__).parents[2] / "data/spack"


def test_first_error_of_a_build_log():
    assert "error: expected expression before '_Static_assert'" in first_error(DATA / "hpcc-build.txt")
    assert first_error(DATA / "emt-app-build.txt").startswith("CMake Error: File /kappa/")


def test_one_failed_package_is_known_by_its_log_only():
    (failure,) = failures((DATA / "one_package_failed.txt").read_text())
    assert (failure.package, failure.reason) == ("emt-app@1.0.0", "see its log")
    assert failure.log.endswith("/spack-build-out.txt")


def test_a_log_that_is_there_gives_the_reason(tmp_path):
    stage = tmp_path / "spack-stage-hpcc-1.5.0-p2z64fbr7dqo2iwvotp7clah473hn3xw"
    stage.mkdir()
    (stage / "spack-build-out.txt").write_bytes((DATA / "hpcc-build.txt").read_bytes())
    output = (DATA / "two_packages_failed.txt").read_text().replace("/stage/", f"{tmp_path}/")
    named = {failure.package: failure for failure in failures(output)}
    assert "_Static_assert" in named["hpcc@1.5.0"].reason
    assert named["hpcc@1.5.0"].log == str(stage / "spack-build-out.txt")
    assert named["btio@3.4.1"].reason == "ProcessError: Command exited with status 2:"


def test_a_source_that_cannot_be_fetched_has_no_log():
    found = failures((DATA / "fetch_failed.txt").read_text())
    assert len(found) == 6
    assert all(failure.reason.startswith("FetchError: All fetchers failed") and not failure.log for failure in found)


def test_output_without_failure():
    assert failures("==> Updating view at /x\n") == []
    assert first_error(DATA / "one_package_failed.txt") != ""
    assert isinstance(Failure("a", "b").log, str)
