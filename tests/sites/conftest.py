"""Each site is dry-run once, and the suite described once, for all processes that run tests."""

import pytest

from tests import catalogue
from tests.made_once import made_once
from tests.sites.dry_run import EXAMPLES, dry_run


def dry_run_once(factory, name):
    return made_once(factory, name, lambda folder: dry_run(name, folder))


@pytest.fixture(scope="session")
def ibisco_like(tmp_path_factory):
    return dry_run_once(tmp_path_factory, "ibisco-like")


@pytest.fixture(scope="session")
def cpu_infiniband(tmp_path_factory):
    return dry_run_once(tmp_path_factory, "cpu-infiniband")


@pytest.fixture(scope="session")
def embedded(tmp_path_factory):
    return dry_run_once(tmp_path_factory, "embedded")


@pytest.fixture(params=EXAMPLES)
def site(request):
    return request.getfixturevalue(request.param.replace("-", "_"))


@pytest.fixture(scope="session")
def cases(tmp_path_factory):
    """Every case of the suite, as ``reframe --describe`` gives it."""
    return made_once(tmp_path_factory, "cases", lambda _: catalogue.described_cases())
