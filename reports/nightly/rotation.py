"""Which nodes are measured one by one tonight, so that each has its turn within a stated number of nights."""

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
    """The nodes whose turn it is: those whose last turn is longest ago, never given first, equal ones by name.

    A share of ``1 / nights`` of ``nodes``, rounded up, so that each node has a turn in any ``nights`` nights in a row.
    It is the turn that counts, not what came of it, else a node that nothing can measure would keep its place at the
    front for ever and the others would have none. Those that their last turn left uncovered have another on top,
    longest waiting first, as many again at most.

    :param last_turn: when each node had its last turn; any figure that grows with time.
    :param last_covered: the same of the last turn that came to a result.
    :param nights: at least 1.
    """
    if nights < 1:
        raise ValueError(f"expected at least 1 night, found {nights}")
    order = sorted(set(nodes), key=lambda node: (last_turn.get(node, -math.inf), node))
    share = math.ceil(len(order) / nights)
    left_out = [node for node in order[share:] if last_covered.get(node, -math.inf) < last_turn.get(node, -math.inf)]
    return [*order[:share], *left_out[:share]]


def turns(site: Site, results: pathlib.Path, night: pathlib.Path, nights: int) -> dict[str, list[str]]:
    """Partition -> nodes to measure one by one: those whose last turn is longest ago, and some that it left uncovered.

    Of the nodes that ``PartitionState`` of the running night, in the folder ``night``, found able to take jobs, of the
    partitions on which that night ran a check of one node; partitions without any are left out.

    :param nights: nights within which all are covered, at least 1.

    :raises InputError: the night has no report, or the site cannot be read.
    """
    usable = single_nodes(judge_night(night, load_record(night), site).cases, usable=True)
    return _chosen(usable, open_archive(results, site), nights)


def next_turns(site: Site, results: pathlib.Path, sizes: Mapping[str, int], nights: int) -> dict[str, list[str]]:
    """Whose turn it will be in the next night, as ``turns``: of the nodes that the newest night found able.

    :param sizes: partition -> its number of nodes, of those on which a check of one node would run. Of a partition that
        no night has seen yet, so many are taken to be able, which then have numbers for names.
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
