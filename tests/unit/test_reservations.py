"""The nodes that jobs of a reservation get, in the words of `scontrol show reservation`."""

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.vocabulary.node_states import condition
from kappa.core.vocabulary.reservations import Identity, named_reservation, parse_reservation


def reservation(name="maintenance", nodes="n[1-4]", flags="MAINT,SPEC_NODES", state="ACTIVE", **who):
    admits = {"Users": "root", "Groups": "(null)", "Accounts": "(null)", **who}
    return (
        f"ReservationName={name} StartTime=2025-07-08T08:00:00 EndTime=2025-07-09T08:00:00 Duration=1-00:00:00"
        f" Nodes={nodes} NodeCnt=4 CoreCnt=256 Features=(null) PartitionName=(null) Flags={flags} TRES=cpu=512"
        f" {' '.join(f'{key}={said}' for key, said in admits.items())} Licenses=(null) State={state}"
        " BurstBuffer=(null) MaxStartDelay=(null)\n"
    )


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--reservation=r"], "r"),
        (["--reservation r", "-A x"], "r"),
        (["--reservation", "r"], "r"),
        (["--partition=a --no-requeue", "--reservation=a", "--reservation=b"], "b"),
        (["--account=r", "-r", "-Jr"], ""),
    ],
)
def test_the_reservation_that_options_name(options, name):
    assert named_reservation(options) == name


@pytest.mark.parametrize(
    ("state", "takes_jobs", "in_service"),
    [
        ("IDLE+MAINTENANCE+RESERVED", True, True),
        ("MIXED+RESERVED", True, True),
        ("maint", True, True),
        ("resv", True, True),
        ("PLANNED+MAINTENANCE", True, True),
        ("IDLE+DRAIN+MAINTENANCE+RESERVED", False, False),
        ("maint*", False, False),
        ("down$", False, False),
        ("FAIL+RESERVED", False, False),
        ("HAPPY+MAINTENANCE", False, False),
        ("", False, False),
    ],
)
def test_only_the_reservation_itself_is_no_obstacle_to_its_jobs(state, takes_jobs, in_service):
    mine, now = parse_reservation(reservation(), "maintenance"), condition(state)
    seen = mine.seen("n1", now)
    assert (seen.takes_jobs, seen.in_service) == (takes_jobs, in_service)
    assert mine.seen("n5", now) == now


@pytest.mark.parametrize(
    ("flags", "others", "nodes"),
    [
        ("SPEC_NODES", "", {"n1", "n2"}),
        # Two reservations with the same nodes: the flags of both decide, as in Slurm.
        ("SPEC_NODES", reservation("other", "n[2-3]", "SPEC_NODES"), {"n1"}),
        ("SPEC_NODES", reservation("other", "n[2-3]", "SPEC_NODES", "INACTIVE"), {"n1", "n2"}),
        ("OVERLAP", reservation("other", "n[2-3]", "SPEC_NODES"), {"n1", "n2"}),
        ("OVERLAP", reservation("other", "n[2-3]"), {"n1"}),
        ("MAINT", reservation("other", "n[2-3]"), {"n1", "n2"}),
        ("MAINT", reservation("licenses", "(null)"), {"n1", "n2"}),
    ],
)
def test_only_the_named_one_of_several_reservations_counts(flags, others, nodes):
    mine = parse_reservation(others + reservation("mine", "n[1-2]", flags), "mine")
    assert mine.nodes == nodes
    assert [name for name in ("n1", "n2", "n3") if mine.gives(name)] == sorted(nodes)


def test_jobs_of_a_flexible_reservation_get_nodes_outside_of_it_and_begin_before_it():
    mine = parse_reservation(reservation(flags="FLEX", state="INACTIVE"), "maintenance")
    assert mine.gives("n9") and not mine.seen("n9", condition("maint")).takes_jobs


def test_a_list_of_reservations_opens_the_nodes_of_each():
    text = reservation("a", "n1") + reservation("b", "n2") + reservation("c", "n3")
    assert parse_reservation(text, "a,b").nodes == {"n1", "n2"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (reservation("other"), "no reservation 'maintenance': Slurm has other"),
        ("No reservations in the system\n", "no reservation 'maintenance': Slurm has none"),
        (reservation(state="INACTIVE"), "is INACTIVE, expected State=ACTIVE: it lasts from 2025-07-08T08:00:00 to"),
        (reservation().partition("State")[0], "is of no State"),
        (reservation(nodes="n[1-"), "maintenance: Nodes: "),
    ],
)
def test_a_reservation_that_jobs_cannot_use_is_named(text, words):
    with pytest.raises(InputError) as refused:
        parse_reservation(text, "maintenance")
    assert words in str(refused.value) and "maintenance" in str(refused.value)


@pytest.mark.parametrize(
    ("who", "admitted"),
    [
        ({"Users": "root,ann"}, True),
        ({"Users": "root,bob"}, False),
        ({"Users": "-bob"}, True),
        ({"Users": "-bob,-ann"}, False),
        ({"Users": "(null)", "Groups": "hpc,staff"}, True),
        ({"Users": "(null)", "Groups": "staff"}, False),
        ({"Users": "(null)", "Accounts": "chem"}, True),
        ({"Users": "(null)", "Accounts": "bio"}, False),
        ({"Users": "ann", "Accounts": "-chem"}, True),
        ({"Users": "ann", "Accounts": "-chem,-physics"}, False),
    ],
)
def test_whom_a_reservation_admits(who, admitted):
    text, ann = reservation(**who), Identity("ann", {"hpc"}, {"chem", "physics"})
    assert parse_reservation(text, "maintenance").nodes
    if admitted:
        assert parse_reservation(text, "maintenance", ann).nodes
    else:
        with pytest.raises(InputError, match="reservation maintenance does not admit you"):
            parse_reservation(text, "maintenance", ann)
