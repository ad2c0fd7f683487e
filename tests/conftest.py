"""Share tests among the workers of ``pytest -n``, order them, and report them to `tests.times` and `tests.gate`."""

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.repeating import Repeats, defer

# A run repeats the one before it, and how long an example takes depends on what else runs on this machine.
settings.register_profile(
    "any machine", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# These parts are made once and shared: a cluster, a build, a dry run. They take minutes, so they begin first.
ONE_CLUSTER = ("acceptance", "confirm", "faults", "nightly", "quarantine", "suite_loads")
TOGETHER = {f"tests/integration/test_{name}.py": "cluster" for name in ONE_CLUSTER} | {
    start: start for start in ("tests/emt/", "tests/sites/", "tests/spack/", "tests/sweep/")
}
FIRST = tuple(
    f"tests/{name}/" for name in ("release", "integration", "emt", "replay", "sites", "sweep", "spack", "hardening")
)


class ByWhatIsShared(LoadScopeScheduling):
    """A file is one piece of work, and so are all files of one entry of ``TOGETHER``."""

    def _split_scope(self, nodeid):
        shared = (what for start, what in TOGETHER.items() if nodeid.startswith(start))
        return next(shared, nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False
    return ByWhatIsShared(config, log)


def pytest_collection_modifyitems(items):
    def turn(item):
        return next((place for place, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST))

    items.sort(key=turn)
    for item in items:
        tier = "long" if item.get_closest_marker("long") else "test"
        item.user_properties += [("nodeid", item.nodeid), ("tier", tier)]


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Repeats())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Into the JUnit file, which has the exception's message only."""
    if call.excinfo is not None:
        item.user_properties.append(("exception", call.excinfo.typename))
    report = yield
    defer(item, call, report)
    return report
