"""Collect the facts of a node, with a module for each subject.

A fact is NAME: number, text, list of texts, or None if the node does not report it. The names are those of
kappa/core/vocabulary/node_facts.py, which says how they are compared.

Needs only Python 3.6 and Linux, because nodes lack the suite's environment.
"""

from node_facts import (
    builds,
    devices,
    environment,
    errors,
    identity,
    leftovers,
    limits,
    links,
    memory,
    modules,
    mounts,
    names,
    power,
    software,
    system,
    task,
    tcp,
)

ROOMS = (
    identity, system, memory, limits, task, environment, links, tcp, devices, errors, leftovers, names, power,
)  # fmt: skip


def of_node(paths, files, users):
    """Return all facts of the node by name, also of the mounts at ``paths``, and of ``files`` and ``users``."""
    rooms = [(room.__name__.rpartition(".")[2], room.facts) for room in ROOMS]
    rooms.append(("mounts", lambda: mounts.facts(paths, files)))
    rooms.append(("accounts", lambda: names.accounts(users)))
    return collected(rooms)


def of_software(programs, files, loaded, built_with):
    """Return the files that ``programs`` run, whether the modules ``loaded`` load, and what builds find."""
    return collected([
        ("software", lambda: software.facts(programs, files)),
        ("modules", lambda: modules.facts(loaded)),
        ("builds", lambda: builds.facts(built_with)),
    ])  # fmt: skip


def of_survey(programs):
    """Return the facts by which `kappa site new` describes a node, and the paths of ``programs``.

    Nodes are not compared by the facts of ``for_survey``.
    """
    rooms = [(room.__name__, room.facts) for room in (identity, memory, limits, links)]
    rooms += [(room.__name__, room.for_survey) for room in (system, limits, mounts)]
    return collected([*rooms, ("software", lambda: software.places(programs))])


def collected(rooms):
    """Return the facts of the modules, given as (name, function).

    A module that fails gives one fact, the reason. The others are kept.
    """
    facts = {}
    for name, told in rooms:
        try:
            facts.update(told())
        except Exception as error:  # an unknown format of one kernel file must not hide the other facts
            facts["failed." + name] = f"{type(error).__name__}: {error}"
    return facts
