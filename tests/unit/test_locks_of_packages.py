"""The lock files fit pyproject.toml, and its lower bounds are the versions that tests/release/test_oldest.py tries."""

import pathlib
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = pathlib.Path(__file__).parents[2]
OLDEST = "tests/release/oldest.lock"
LOCKS = ("requirements.lock", "tests/requirements.lock", ".ci/requirements.lock", OLDEST)
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
NEEDED = [*PROJECT["project"]["dependencies"], *EXTRAS["embedded"]]


def entries(lock):
    """The requirements of a lock file with the number of their hashes."""
    text = (REPOSITORY / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    return [(Requirement(line.partition("--hash")[0]), line.count("--hash=sha256:")) for line in lines]


def pinned(lock):
    found = {}
    for requirement, _ in entries(lock):
        (version,) = requirement.specifier
        assert version.operator == "==" and canonicalize_name(requirement.name) not in found, requirement
        found[canonicalize_name(requirement.name)] = Version(version.version)
    return found


@pytest.mark.parametrize(
    ("lock", "requirements"),
    [
        ("requirements.lock", NEEDED),
        ("tests/requirements.lock", [*NEEDED, *EXTRAS["test"]]),
        (".ci/requirements.lock", PROJECT["build-system"]["requires"]),
        (OLDEST, NEEDED),
    ],
)
def test_a_lock_file_has_what_pyproject_asks_for(lock, requirements):
    versions = pinned(lock)
    for requirement in map(Requirement, requirements):
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_lock_files_agree():
    tests = pinned("tests/requirements.lock")
    for lock in ("requirements.lock", ".ci/requirements.lock"):
        assert {name: tests[name] for name in pinned(lock) if name in tests}.items() <= pinned(lock).items(), lock
    assert pinned("requirements.lock").keys() <= tests.keys()


@pytest.mark.parametrize("lock", LOCKS)
def test_each_package_has_hashes_and_no_registry_is_named(lock):
    assert [str(requirement) for requirement, hashes in entries(lock) if not hashes] == []
    assert not re.search(r"://|^--(?!hash)", (REPOSITORY / lock).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_lower_bounds_are_the_versions_that_a_test_installs():
    versions = pinned(OLDEST)
    for requirement in map(Requirement, NEEDED):
        (lowest,) = (Version(one.version) for one in requirement.specifier if one.operator == ">=")
        assert versions[canonicalize_name(requirement.name)] == lowest, requirement
