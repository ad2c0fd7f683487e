"""Which tests share a worker of ``pytest -n``: those that share a cluster, a build or a dry run made once."""

import pathlib

import pytest

TESTS = pathlib.Path(__file__).parent
TOGETHER = ("emt", "integration", "sites", "spack", "sweep")


# Before pytest-xdist reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if folder in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(folder))
