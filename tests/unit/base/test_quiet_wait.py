"""Waiting for a quieter machine: until it is, and within two limits."""

from types import SimpleNamespace

import pytest

from kappa.core.ground.processes import BusyCores, busy_seconds
from reframe_checks.base import shared_machine
from reframe_checks.base.shared_machine import SESSION_WAIT_S, QuietWait

SHARE = 0.15


@pytest.fixture
def machine(monkeypatch):
    """A machine of 2 cores; each look takes a second. ``busy``: cores in use. ``looks``: number of looks."""
    state = SimpleNamespace(busy=1.0, at_s=0.0)

    def tick(seconds=1.0):
        state.at_s += seconds

    def since_last(_):
        tick()
        return state.busy

    busy = type("Busy", (), {"cores": 2, "since_last": since_last})
    monkeypatch.setattr(shared_machine, "BusyCores", busy)
    monkeypatch.setattr(shared_machine, "time", SimpleNamespace(monotonic=lambda: state.at_s, sleep=tick))
    monkeypatch.setattr(QuietWait, "waited_s", 0.0)
    return state


def test_a_quiet_machine_is_not_waited_for(machine):
    machine.busy = 0.3
    assert not QuietWait(20).goes_on(SHARE)


def test_it_ends_when_the_machine_is_quiet(machine):
    wait = QuietWait(20)
    assert wait.goes_on(SHARE) and wait.goes_on(SHARE)
    machine.busy = 0.1
    assert not wait.goes_on(SHARE)


def test_it_ends_with_its_time(machine):
    said = []
    QuietWait(20).wait(SHARE, said.append)
    assert 20 <= machine.at_s <= 23
    assert said == ["this machine is busy: waiting until it is quieter"]


def test_all_waits_of_a_session_end(machine):
    for _ in range(20):
        QuietWait(20).wait(SHARE, str)
    assert SESSION_WAIT_S <= QuietWait.waited_s <= SESSION_WAIT_S + 50
    before = machine.at_s
    QuietWait(20).wait(SHARE, str)
    assert machine.at_s - before <= 2


STAT = """cpu  900 90 900 5 5 5 5 900 0 0
cpu0 100 10 200 700 30 4 5 60 7 8
cpu1 200 20 300 700 30 4 5 80 7 8
cpu10 999 99 999 700 30 4 5 99 7 8
intr 5
"""


def test_busy_is_user_nice_system_and_steal_of_the_cores_that_count():
    assert busy_seconds(STAT, {0, 1}, 100) == pytest.approx((370 + 600) / 100)
    assert busy_seconds(STAT, {1}, 100) == pytest.approx(6)


def test_this_machine_tells():
    assert BusyCores().since_last() >= 0
