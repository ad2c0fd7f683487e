"""Recorded output of Spack 1.1 for builds that failed."""

from pathlib import Path

import pytest

from spack_envs.installer.build_log import failures, first_error

DATA = Path(__file__).parents[2] / "data/spack"


def test_first_error_of_a_build_log():
    assert "error: expected expression before '_Static_assert'" in first_error(DATA / "hpcc-build.txt")
    assert first_error(DATA / "emt-app-build.txt").startswith("CMake Error: File /kappa/")


def test_storage_that_is_full_says_more_than_the_error_that_came_of_it(tmp_path):
    (tmp_path / "log").write_text(
        "config.status: creating src/Makefile\n"
        "config.status: error: could not create src/Makefile\n"
        "mawk: close failed on file /dev/stdout (No space left on device)\n"
    )
    assert first_error(tmp_path / "log") == "mawk: close failed on file /dev/stdout (No space left on device)"


def test_one_failed_package_is_known_by_what_is_being_installed():
    (failure,) = failures((DATA / "one_package_failed.txt").read_text())
    assert (failure.package, failure.reason) == ("emt-app@1.0.0", "ProcessError: Command exited with status 1:")
    assert failure.more[0].startswith("'/usr/bin/cmake' '-G' 'Unix Makefiles'")
    assert failure.log.endswith("/spack-build-out.txt")


def test_a_full_disk_is_named():
    (failure,) = failures((DATA / "full_disk.txt").read_text())
    assert failure.package == "gcc-runtime@12.2.0"
    assert failure.reason.startswith("OSError: [Errno 28] No space left on device: ")
    assert failure.reason.endswith("/lib/libasan.so.8'")


def test_the_package_that_failed_is_named_and_not_the_one_that_needs_it():
    (failure,) = failures((DATA / "read_only_spack.txt").read_text())
    assert failure.package == "compiler-wrapper@1.0"
    assert failure.reason == "OSError: [Errno 30] Read-only file system: '/apps/spack/var/spack/cache'"


def test_what_cannot_be_solved_has_its_reasons():
    (failure,) = failures((DATA / "no_fortran_compiler.txt").read_text())
    assert failure.reason == "failed to concretize `btio@=3.4.3` for the following reasons:"
    assert failure.more == ("1. Only external, or concrete, compilers are allowed for the fortran language",)


def test_a_source_that_is_nowhere_has_the_addresses():
    (failure,) = failures((DATA / "no_source.txt").read_text())
    assert (failure.package, failure.reason) == ("ior@4.0.0", "FetchError: All fetchers failed")
    assert failure.more[-1] == "https://github.com/hpc/ior/archive/4.0.0.tar.gz: [Errno -2] Name or service not known"
    assert len(failure.more) == 2


def test_a_log_that_is_there_gives_the_reason(tmp_path):
    stage = tmp_path / "spack-stage-hpcc-1.5.0-p2z64fbr7dqo2iwvotp7clah473hn3xw"
    stage.mkdir()
    (stage / "spack-build-out.txt").write_bytes((DATA / "hpcc-build.txt").read_bytes())
    output = (DATA / "two_packages_failed.txt").read_text().replace("/stage/", f"{tmp_path}/")
    named = {failure.package: failure for failure in failures(output)}
    assert "_Static_assert" in named["hpcc@1.5.0"].reason
    assert named["hpcc@1.5.0"].log == str(stage / "spack-build-out.txt")
    assert named["btio@3.4.1"].reason == "ProcessError: Command exited with status 2:"


def test_each_package_whose_source_is_missing_is_named_once():
    found = failures((DATA / "fetch_failed.txt").read_text())
    assert len({failure.package for failure in found}) == len(found) == 6
    assert all(failure.reason == "FetchError: All fetchers failed" and not failure.log for failure in found)


def test_a_package_that_was_left_out_is_named_when_nothing_else_is():
    (failure,) = failures("==> Error: ior-4.0.0-nnmgxn3bberlvswthyka65w57nt4w7y5: Package was not installed\n")
    assert (failure.package, failure.reason) == ("ior@4.0.0", "Package was not installed")


def test_output_without_failure():
    assert failures("==> Updating view at /x\n") == []
    assert first_error(DATA / "one_package_failed.txt") != ""


@pytest.mark.parametrize(
    ("spec", "package"),
    [
        ("ncurses-6.5-20250705", "ncurses@6.5-20250705"),
        ("ca-certificates-mozilla-2025-08-12", "ca-certificates-mozilla@2025-08-12"),
        ("nvbandwidth-v0.8", "nvbandwidth@v0.8"),
        ("ior-develop", "ior@develop"),
    ],
)
def test_a_version_is_known_from_a_name(spec, package):
    installing = f"==> Installing {spec}-kytsto6ad5mrb63chhkwtnq4jkq46yoy [13/42]\n"
    (failure,) = failures(f"{installing}==> Error: FetchError: All fetchers failed for spack-stage-{spec}-kytsto6\n")
    assert (failure.package, failure.reason) == (package, "FetchError: All fetchers failed")


def test_an_address_is_named_once():
    (failure,) = failures(
        "==> Error: FetchError: All fetchers failed\n"
        "    https://curl.se/ca/cacert-2025-08-12.pem: DetailedURLError: GET https://curl.se/ca/cacert-2025-08-12.pem"
        " errored with: [Errno -2] Name or service not known\n"
        "    https://curl.se/ca/cacert-2025-08-12.pem: URLError: <urlopen error [Errno -2] Name or service not known>\n"
    )
    assert failure.more == ("https://curl.se/ca/cacert-2025-08-12.pem: [Errno -2] Name or service not known",)
