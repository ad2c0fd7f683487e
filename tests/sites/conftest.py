"""Each site is dry-run once, and the suite described once."""

import pytest

from reframe_checks.base import catalogue
from tests.sites.dry_run import EXAMPLES, dry_run


@pytest.fixture(scope="session")
def ibisco_like(tmp_path_factory):
    return dry_run("ibisco-like", tmp_path_factory.mktemp("ibisco-like"))


@pytest.fixture(scope="session")
def cpu_infiniband(tmp_path_factory):
    return dry_run("cpu-infiniband", tmp_path_factory.mktemp("cpu-infiniband"))


@pytest.fixture(scope="session")
def embedded(tmp_path_factory):
    return dry_run("embedded", tmp_path_factory.mktemp("embedded"))


@pytest.fixture(params=EXAMPLES)
def site(request):
    return request.getfixturevalue(request.param.replace("-", "_"))


@pytest.fixture(scope="session")
def cases():
    """Every case of the suite, as ``reframe --describe`` gives it."""
    return catalogue.described_cases()
