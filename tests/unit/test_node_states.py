"""Every state of nodes that versions of Slurm write, and what the whole suite makes of it."""

import pytest

from kappa.core.vocabulary.node_states import SIGNS, STATES, Cause, condition

# Properties of each state: takes jobs, can be woken, in service.
FREE, ASLEEP, LEAVING, HELD, OUT = (
    (True, False, True),
    (True, True, True),
    (False, True, True),
    (False, False, True),
    (False, False, False),
)


@pytest.mark.parametrize(
    ("text", "expected", "cause"),
    [
        ("IDLE", FREE, Cause.NONE),
        ("idle", FREE, Cause.NONE),
        ("alloc", FREE, Cause.JOBS),
        ("allocated+", FREE, Cause.JOBS),
        ("ALLOCATED+COMPLETING", FREE, Cause.JOBS),
        ("mix-", FREE, Cause.SLURM),
        ("MIXED+PLANNED", FREE, Cause.SLURM),
        ("IDLE+BLOCKED", FREE, Cause.JOBS),
        ("npc", FREE, Cause.JOBS),
        ("IDLE+DYNAMIC_NORM", FREE, Cause.NONE),
        ("IDLE+CLOUD+POWERED_DOWN", ASLEEP, Cause.SLURM),
        ("IDLE+CLOUD+POWER", ASLEEP, Cause.SLURM),
        ("IDLE~", ASLEEP, Cause.SLURM),
        ("IDLE#+CLOUD", FREE, Cause.SLURM),
        ("ALLOCATED#+CLOUD+POWERING_UP", FREE, Cause.SLURM),
        ("IDLE+CLOUD+NOT_RESPONDING+POWERING_UP", FREE, Cause.SLURM),
        ("MIXED+CLOUD+NOT_RESPONDING+POWERING_UP", FREE, Cause.SLURM),
        ("IDLE*+CLOUD+POWERED_DOWN", ASLEEP, Cause.SLURM),
        ("powered_dn", ASLEEP, Cause.SLURM),
        ("DOWN+CLOUD+NOT_RESPONDING+POWERING_UP", OUT, Cause.FAULT),
        ("IDLE+CLOUD+NOT_RESPONDING+POWERING_DOWN", LEAVING, Cause.SLURM),
        ("powring_dn", LEAVING, Cause.SLURM),
        ("powrng_dn", LEAVING, Cause.SLURM),
        ("ext", OUT, Cause.OPERATOR),
        ("resm", FREE, Cause.OPERATOR),
        ("IDLE+DYNAMIC", FREE, Cause.NONE),
        ("IDLE+CLOUD+POWERING_DOWN", LEAVING, Cause.SLURM),
        ("idle%", LEAVING, Cause.SLURM),
        ("idle!", LEAVING, Cause.SLURM),
        ("MIXED+POWER_DRAIN", LEAVING, Cause.SLURM),
        ("IDLE+RESERVED", HELD, Cause.OPERATOR),
        ("resv", HELD, Cause.OPERATOR),
        ("IDLE+MAINTENANCE+RESERVED", OUT, Cause.OPERATOR),
        ("maint", OUT, Cause.OPERATOR),
        ("idle$", OUT, Cause.OPERATOR),
        ("IDLE+DRAIN", OUT, Cause.OPERATOR),
        ("drng", OUT, Cause.OPERATOR),
        ("drained*", OUT, Cause.FAULT),
        ("IDLE*+DRAIN", OUT, Cause.FAULT),
        ("failg", OUT, Cause.OPERATOR),
        ("DOWN*+CLOUD+POWERED_DOWN", OUT, Cause.FAULT),
        ("down~", OUT, Cause.FAULT),
        ("idle*", OUT, Cause.FAULT),
        ("MIXED+NOT_RESPONDING", OUT, Cause.FAULT),
        ("inval", OUT, Cause.FAULT),
        ("IDLE+DRAIN+INVALID_REG", OUT, Cause.FAULT),
        ("reboot^", OUT, Cause.OPERATOR),
        ("MIXED@", OUT, Cause.OPERATOR),
        ("DOWN+REBOOT_ISSUED", OUT, Cause.FAULT),
        ("unk*", OUT, Cause.FAULT),
        ("unknown", OUT, Cause.SLURM),
        ("future", OUT, Cause.OPERATOR),
    ],
)
def test_what_a_state_means(text, expected, cause):
    one = condition(text)
    assert not one.unknown
    assert (one.takes_jobs, one.can_be_woken, one.in_service) == expected
    assert one.cause is cause


@pytest.mark.parametrize("text", ["happy", "IDLE+HAPPY", "happy*", "", "IDLE+CLOUD?", "(null)"])
def test_of_an_unknown_state_nothing_is_assumed_and_its_text_is_kept(text):
    one = condition(text)
    assert one.unknown and (one.takes_jobs, one.in_service, one.can_be_woken) == (False, False, False)
    assert one.cause is Cause.UNKNOWN
    assert all(strange in one.meaning for strange in one.unknown)


def test_free_with_power_is_idle():
    idle = ["IDLE", "idle", "IDLE+CLOUD", "idle-"]
    busy = ["IDLE+POWERED_DOWN", "mixed", "idle#", "IDLE+DRAIN", "IDLE+COMPLETING", "resv"]
    assert all(condition(text).idle for text in idle)
    assert not any(condition(text).idle for text in busy)


def test_reservations_drains_and_answers():
    assert [condition(text).reserved for text in ("resv", "maint", "drained$", "idle")] == [True, True, True, False]
    assert [condition(text).drained for text in ("drng", "ALLOCATED+DRAIN", "fail")] == [True, True, False]
    assert [condition(text).responds for text in ("idle*", "down")] == [False, True]
    assert not condition("FUTURE").exists


def test_every_sign_stands_for_a_state_of_the_table():
    assert set(SIGNS.values()) <= set(STATES)


def test_every_state_of_sinfo_in_any_version_is_known(recorded):
    states = [line.split("|")[1] for line in recorded("sinfo/composed_all_states.txt").splitlines()]
    assert [state for state in states if condition(state).unknown] == []
