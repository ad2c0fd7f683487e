"""Which tests share a worker of ``pytest -n``: those that share a cluster, a build or a dry run made once."""

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("emt", "integration", "sites", "spack", "sweep")


class ByFolder(LoadScopeScheduling):
    """A folder of ``TOGETHER`` is one piece of work, the largest first; every other test one of its own."""

    def _split_scope(self, nodeid):
        folder = nodeid.split("/")[1]
        return folder if folder in TOGETHER else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFolder(config, log)
