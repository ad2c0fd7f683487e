"""Whose turn it is tonight, of the nodes that the running night found."""

import pathlib

from kappa.sites.expected import find_site, load_site
from reports.nightly.archive import open_archive
from reports.nightly.night_record import load_record
from reports.nightly.rotation import tonight
from reports.nightly.summarise import judge_night, single_nodes


def turns(site_name: str, results: pathlib.Path, night: pathlib.Path, nights: int) -> dict[str, list[str]]:
    """Partition -> nodes to measure one by one: those whose last turn is longest ago, and some that it left uncovered.

    Of the nodes that ``PartitionState`` of the running night, in the folder ``night``, found able to take jobs, of the
    partitions on which that night ran a check of one node; partitions without any are left out.

    :param nights: nights within which all are covered, at least 1.

    :raises InputError: the night has no report, or the site cannot be read.
    """
    site = load_site(find_site((site_name,)))
    archive = open_archive(results, site)
    usable = single_nodes(judge_night(night, load_record(night), site).cases, usable=True)
    able = {node for nodes in usable.values() for node in nodes}
    turn = tonight(able, archive.last_turn, archive.last_covered, nights)
    chosen = {partition: [node for node in nodes if node in turn] for partition, nodes in usable.items()}
    return {partition: nodes for partition, nodes in chosen.items() if nodes}
