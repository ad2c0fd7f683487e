"""Fabrics that differ from another in one thing: what software takes, or how many nodes there are."""

import msgspec

from kappa.core.fabrics.schema import Count, Counts, Fabric, FatTree, Number, SoftwareBySize
from kappa.core.ground.errors import InputError


def with_software(fabric: Fabric, share: float) -> Fabric:
    """The fabric whose software takes ``share`` of what it did, for each message."""
    software = fabric.software
    changed = msgspec.structs.replace(
        software,
        send_us=_times(software.send_us, share),
        receive_us=_times(software.receive_us, share),
        by_size=_sizes_times(software.by_size, share) if software.by_size else None,
    )
    return msgspec.structs.replace(fabric, name=f"{fabric.name}-software-{1000 * share:g}", software=changed)


def with_times_nodes(fabric: Fabric, times: int) -> Fabric:
    """The fabric with ``times`` as many nodes on a switch of as many more ports.

    :raises InputError: the fabric is more than one switch, of which more nodes would be another network.
    """
    tree = fabric.topology
    if times < 1 or not isinstance(tree, FatTree) or len(tree.down.value) != 1:
        raise InputError(f"{fabric.name}: expected one switch and a number of times from 1 on")
    nodes = tree.nodes.value * times
    larger = msgspec.structs.replace(
        tree,
        nodes=Count(value=nodes, origin="assumed", source=f"{times} times {tree.nodes.value}"),
        down=Counts(value=[nodes], origin="assumed", source="a switch with a port for each"),
    )
    return msgspec.structs.replace(fabric, name=f"{fabric.name}-times-{times}", topology=larger)


def _sizes_times(by_size: SoftwareBySize, share: float) -> SoftwareBySize:
    changed = {key: [us * share for us in getattr(by_size, key)] for key in ("send_us", "isend_us", "receive_us")}
    return msgspec.structs.replace(by_size, **changed)


def _times(number: Number, share: float) -> Number:
    return Number(value=number.value * share, origin="fitted", source=f"{number.source}, times {share:g}")
