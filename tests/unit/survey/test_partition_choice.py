"""A centre with fifteen partitions, and a cluster in a reservation: which nodes and partitions a new site gets."""

import os
import re

import pytest

from kappa.app.conduct.surveying import survey
from kappa.app.survey.accounts import ASSOCIATIONS, parse_user_accounts
from kappa.app.survey.doctor import partitions
from kappa.app.survey.doctor.partitions import PartitionAnswers
from kappa.app.survey.doctor.results import RIGHT, WRONG, results_of
from kappa.app.survey.slurm import SlurmFacts, parse_nodes, parse_partitions
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import user_name
from kappa.core.sites.description import Partition
from kappa.core.vocabulary.reservations import RESERVATIONS
from tests.unit.survey.clusters import node, partition, surveyed
from tests.unit.survey.test_field_cases import Untold, field, made_of
from tests.unit.test_reservations import reservation

EVERY = "c[01-85],g[1-6],m[1-4],i[1-2]"
# Partition -> its nodes and settings. The staff's three have all nodes, two other accounts' as many as `parallel`.
CENTRE = {
    "staff": (EVERY, "AllowGroups=staff"),
    "admin": (EVERY, "RootOnly=YES"),
    "ops": (EVERY, "AllowAccounts=ops,root"),
    "system": (EVERY, "Hidden=YES"),
    "old": (EVERY, "State=DOWN"),
    "debug": ("c[01-83]", "MaxNodes=2 MaxTime=00:30:00 PriorityTier=9"),
    "parallel": ("c[01-81]", "MaxTime=3-00:00:00 AllowAccounts=science PreemptMode=REQUEUE"),
    "long": ("c[01-81]", "MaxNodes=8 MaxTime=14-00:00:00 AllowAccounts=science"),
    "industry": ("c[01-81]", "AllowAccounts=industry AllowQos=paid"),
    "serial": ("c[01-85]", "MaxNodes=1 MaxTime=7-00:00:00 Default=YES"),
    "course": ("c[01-10]", "ReqResv=YES"),
    "gpu": ("g[1-6]", "MaxTime=1-00:00:00 DenyAccounts=industry"),
    "gpu-short": ("g[1-6]", "MaxTime=01:00:00"),
    "bigmem": ("m[1-4]", "AllowQos=normal,long"),
    "interactive": ("i[1-2]", "MaxNodes=1 MaxTime=08:00:00"),
}
PARTITIONS = "".join(
    f"PartitionName={name} {settings if 'State=' in settings else f'{settings} State=UP'} Nodes={nodes}\n"
    for name, (nodes, settings) in CENTRE.items()
)
NODES = "\n".join([
    *(node(f"c{number:02}") for number in range(1, 86)),
    *(node(f"g{number}", gres="gpu:a100:4") for number in range(1, 7)),
    *(node(f"m{number}", memory=2060000) for number in range(1, 5)),
    *(node(f"i{number}", cores=16) for number in range(1, 3)),
])  # fmt: skip
# `chem` is below `science`; `bob` belongs to the staff.
ACCOUNTS = (
    "shape|root|||normal\nshape|science||root|normal\nshape|chem||science|normal\nshape|ops||root|normal\n"
    f"shape|chem|{user_name()}||normal,short\nshape|ops|bob||normal\nother|industry|{user_name()}||paid\n"
)


def chosen_of(more, access):
    """Return the chosen partitions with their nodes, the options that they want, and the rows of the table."""
    lines = []
    cluster = Untold(NODES, PARTITIONS)
    cluster.more = more
    found = survey(cluster, (), access, lines.append)
    rows = [re.split(r" {2,}", line) for line in lines[: len(CENTRE) + 1]]
    assert max(map(len, lines[: len(CENTRE) + 1])) <= 100
    chosen = {title: (part.count, part.wants) for title, part in found.parts.items()}
    return chosen, {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize(
    ("more", "access"),
    [({ASSOCIATIONS: ACCOUNTS}, []), ({ASSOCIATIONS: ACCOUNTS}, ["--account=chem"]), ({}, ["-A", "science"])],
)
def test_the_partition_whose_jobs_get_most_nodes_is_chosen(more, access):
    chosen, table = chosen_of(more, access)
    assert chosen.pop("bigmem") == (4, ["--qos=normal" if more else "--qos=normal|long"])
    assert chosen == {
        "parallel": (81, []), "gpu": (6, []), "debug": (2, []), "serial": (2, []), "interactive": (2, []),
    }  # fmt: skip
    assert [*table] == ["PARTITION", *CENTRE]
    usable = {name: table[name][0] for name in ("staff", "ops", "parallel", "debug", "old")}
    assert usable == {"staff": "0/97", "ops": "0/97", "parallel": "81/81", "debug": "83/83", "old": "0/97"}
    assert table["debug"][1:3] == ["2", "30m"] and table["parallel"][1:3] == ["none", "72h"]
    reasons = {
        "staff": "AllowGroups=staff", "admin": "RootOnly=YES", "ops": "AllowAccounts=ops,root", "system": "Hidden=YES",
        "old": "State=DOWN", "industry": "AllowAccounts=industry", "course": "ReqResv=YES",
        "long": "parallel gives a job 81 nodes, not 8", "gpu-short": "gpu has a longer time limit",
    }  # fmt: skip
    assert {name: row[3].removeprefix("not: ") for name, row in table.items() if row[3].startswith("not: ")} == reasons
    assert table["parallel"][3] == "chosen: parallel (81)"


def test_without_accounting_a_partition_that_may_refuse_the_account_comes_last():
    chosen, table = chosen_of({}, [])
    assert {name: count for name, (count, _) in chosen.items() if name in ("debug", "serial")} == {
        "debug": 83, "serial": 2,
    }  # fmt: skip
    assert "parallel" not in chosen and "ops" not in chosen
    assert table["parallel"][3] == table["ops"][3] == "not: debug surely admits you"


def test_accounts_of_a_user_with_those_above_them():
    mine = parse_user_accounts(ACCOUNTS + "no line\nshape|loop||loop|\n", user_name(), "SHAPE")
    assert mine.accounts == {"chem": {"chem", "science"}} and mine.qos == {"normal", "short"}
    assert parse_user_accounts("", "ann", "shape") == ({}, frozenset())


def test_only_the_accounts_that_the_user_has_are_asked_for():
    both = ACCOUNTS + f"shape|other|{user_name()}||normal\n"
    chosen, _ = chosen_of({ASSOCIATIONS: both}, [])
    assert chosen["parallel"] == (81, ["--account=chem"])
    assert "--account=science" not in str(chosen)


# Drained, free of jobs and busy in a reservation for maintenance; free and reserved outside of it.
STATES = {
    "n1": "IDLE+MAINTENANCE+RESERVED", "n2": "IDLE+DRAIN+MAINTENANCE+RESERVED", "n3": "MIXED+MAINTENANCE+RESERVED",
    "n4": "IDLE", "n5": "IDLE+RESERVED",
}  # fmt: skip
SITE = "--reservation=maintenance"


def in_maintenance(text, settings="MaxNodes=UNLIMITED"):
    cluster = Untold("\n".join(node(name, state=state) for name, state in STATES.items()),
                     f"PartitionName=batch Nodes=n[1-5] {settings} State=UP\n")  # fmt: skip
    cluster.more = {RESERVATIONS: text}
    return cluster


TWO = reservation(nodes="n[1-3]", Users="(null)") + reservation("training", "n5", "SPEC_NODES", Users="(null)")


@pytest.mark.parametrize(
    ("text", "access", "nodes", "out", "probed", "whole"),
    [
        (TWO, [], "n[1-5]", "n[1-3]", ["n4"], True),
        (TWO, [SITE], "n[1-3]", "n2", ["n1"], False),
        (TWO, ["--reservation", "training"], "n5", "", ["n5"], False),
        (TWO, ["--reservation=maintenance,training"], "n[1-3,5]", "n2", ["n1", "n5"], False),
        (reservation(nodes="n[1-3]", flags="MAINT,FLEX", Users="(null)"), [SITE], "n[1-5]", "n2", ["n1", "n4"], True),
    ],
)
def test_a_site_has_the_nodes_that_jobs_of_the_reservation_get(text, access, nodes, out, probed, whole, tmp_path):
    cluster = in_maintenance(text)
    found, made, _ = made_of(cluster, tmp_path, access)
    part = found.parts["batch"]
    assert (part.nodes, part.out_of_service, part.whole) == (nodes, out, whole)
    assert cluster.asked["batch"] == probed
    assert made["batch"].slurm_nodes == (None if whole else nodes) and made["batch"].access == access
    assert not found.unreachable


def test_a_recorded_node_in_a_reservation_for_maintenance():
    cluster = Untold(field("28-scontrol-node-maintenance.txt"), partition("regular", "node01"))
    cluster.more = {RESERVATIONS: reservation(nodes="node01", Users="(null)")}
    parts = [surveyed(cluster, access=access).parts["regular"] for access in ([], [SITE])]
    assert [part.out_of_service for part in parts] == ["node01", ""]
    assert cluster.asked["regular"] == ["node01"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("No reservations in the system\n", "no reservation 'maintenance'"),
        (reservation(state="INACTIVE"), "reservation maintenance is INACTIVE"),
        (reservation(Users="other"), "reservation maintenance does not admit you"),
        (reservation(nodes="x1", Users="(null)"), "no partition that you may use"),
    ],
)
def test_no_site_is_made_of_a_reservation_that_jobs_cannot_use(text, words, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)  # Slurm admits root everywhere
    with pytest.raises(InputError, match=words):
        surveyed(in_maintenance(text), access=[SITE])


def test_a_partition_that_needs_a_reservation_is_open_to_jobs_with_one():
    with pytest.raises(InputError, match="no partition that you may use"):
        surveyed(in_maintenance(TWO, "ReqResv=YES"))
    assert [*surveyed(in_maintenance(TWO, "ReqResv=YES"), access=[SITE]).parts] == ["batch"]


@pytest.mark.parametrize(
    ("text", "access", "stated", "state", "words"),
    [
        (TWO, [], 5, RIGHT, "out of service: n[1-3]"),
        (TWO, [SITE], 3, RIGHT, "out of service: n2"),
        (TWO, [SITE], 5, WRONG, "Slurm has 3 in reservation maintenance: n[1-3]"),
        (reservation(nodes="x1"), [SITE], 5, WRONG, "no partition batch with these nodes in reservation maintenance"),
    ],
)
def test_the_doctor_compares_the_nodes_of_the_reservation(text, access, stated, state, words):
    cluster = in_maintenance(text)
    slurm = SlurmFacts({}, parse_nodes(cluster.nodes), parse_partitions(cluster.partitions), ())
    described = Partition(nodes=stated, access=access, features=[], environments=["system"])
    answers = PartitionAnswers("batch", described, slurm, *partitions.reservation_of(described, lambda: text))
    found, *_ = results_of(partitions.TESTS, answers, ("batch",))
    assert found.state == state and words in found.finding


def test_the_doctor_names_a_reservation_that_is_not_there():
    described = Partition(nodes=1, access=["--reservation=gone"], features=[], environments=["system"])
    reservation, problem = partitions.reservation_of(described, lambda: TWO)
    assert reservation is None and "'gone'" in problem
