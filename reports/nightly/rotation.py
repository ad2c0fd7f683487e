"""Choose the nodes that a night measures alone, so that each node is measured within a stated number of nights."""

import math
import pathlib
from collections.abc import Collection, Mapping

from kappa.core.sites.load import Site
from reports.nightly.archive import NIGHTS, Archive, open_archive
from reports.nightly.night import load_record
from reports.nightly.summarise import judge_night, nodes_of, single_nodes


def tonight(
    nodes: Collection[str], last_turn: Mapping[str, float], last_covered: Mapping[str, float], nights: int
) -> list[str]:
    """Return the nodes due in the rotation: never chosen first, then the longest ago; equal ones by name.

    1. A share of ``1 / nights`` of ``nodes``, rounded up. So each node has a turn in any ``nights`` nights in a row.
       A turn without a result counts, too. Otherwise a node that cannot be measured would block the others.
    2. In addition nodes whose last turn had no result, the longest waiting first, at most as many again.

    :param last_turn: node -> time of its last turn, in any unit that grows with time.
    :param last_covered: node -> time of its last turn with a result, in the same unit.
    :param nights: at least 1.
    :raises ValueError: ``nights`` is less than 1.
    """
    if nights < 1:
        raise ValueError(f"expected at least 1 night, found {nights}")
    order = sorted(set(nodes), key=lambda node: (last_turn.get(node, -math.inf), node))
    share = math.ceil(len(order) / nights)
    left_out = [node for node in order[share:] if last_covered.get(node, -math.inf) < last_turn.get(node, -math.inf)]
    return [*order[:share], *left_out[:share]]


def turns(site: Site, results: pathlib.Path, night: pathlib.Path, nights: int) -> dict[str, list[str]]:
    """Return partition -> nodes to measure alone (see ``tonight``).

    The nodes are the ones that ``PartitionState`` of the running night, in the folder ``night``, found usable. The
    partitions are those on which that night ran a check of one node. A partition without such nodes is left out.

    :param nights: the rotation covers all nodes within so many nights, at least 1.
    :raises InputError: the night has no report, or the site is unreadable.
    """
    usable = single_nodes(judge_night(night, load_record(night), site).cases, usable=True)
    return _chosen(usable, open_archive(results, site), nights)


def next_turns(site: Site, results: pathlib.Path, sizes: Mapping[str, int], nights: int) -> dict[str, list[str]]:
    """Return the nodes due in the next night like ``turns``, out of those usable in the newest night.

    :param sizes: partition -> its number of nodes, for partitions on which a check of one node runs. For a partition
        that no night has seen yet, this number of usable nodes is assumed, with numbers as names.
    """
    archive = open_archive(results, site)
    seen: dict[str, list[str]] = {}
    if archive.nights and archive.nights[-1].has_page:
        folder = results / NIGHTS / archive.nights[-1].folder
        seen = nodes_of(judge_night(folder, load_record(folder), site).cases, usable=True)
    numbered = {name: [f"{name}:{number}" for number in range(1, size + 1)] for name, size in sizes.items()}
    return _chosen({name: seen.get(name) or numbered[name] for name in sizes}, archive, nights)


def _chosen(usable: Mapping[str, list[str]], archive: Archive, nights: int) -> dict[str, list[str]]:
    able = {node for nodes in usable.values() for node in nodes}
    turn = tonight(able, archive.last_turn, archive.last_covered, nights)
    chosen = {partition: [node for node in nodes if node in turn] for partition, nodes in usable.items()}
    return {partition: nodes for partition, nodes in chosen.items() if nodes}
