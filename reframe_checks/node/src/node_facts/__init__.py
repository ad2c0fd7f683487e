"""What a node tells of itself, a room for each concern.

Every fact is NAME: number, text, list of texts, or None where the node does not tell; the names are those of
kappa/vocabulary/node_facts.py, which says how they are compared.

Needs nothing but Python 3.6 and Linux, as it runs where no environment of the suite is.
"""

from node_facts import devices, errors, identity, leftovers, limits, links, memory, mounts, names, slurm, system

ROOMS = (identity, slurm, system, memory, limits, links, devices, errors, leftovers, names)


def collected(paths, files):
    """All facts by name, those of the mounts at ``paths`` and the checksums of ``files`` among them.

    A room that fails is one fact, with why, and does not take the others along.
    """
    rooms = [(room.__name__.rpartition(".")[2], room.facts) for room in ROOMS]
    rooms.append(("mounts", lambda: mounts.facts(paths, files)))
    facts = {}
    for name, told in rooms:
        try:
            facts.update(told())
        except Exception as error:  # a kernel that writes what no other did must not hide the rest
            facts["failed." + name] = f"{type(error).__name__}: {error}"
    return facts
