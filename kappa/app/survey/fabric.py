"""Choose the RDMA ports of a node that carry MPI, or say that a person must choose them."""

import re
from collections import defaultdict
from typing import NamedTuple

from kappa.app.survey.probe import AdapterPort, Probe

INFINIBAND = "InfiniBand"
_ETHERNET = "Ethernet"
_ROCE, _IWARP = "RoCE", "iWARP"
# iWARP has the link layer of RoCE. Drivers of iWARP alone, and the names that rdma-core gives, tell it.
_IWARP_DEVICE = re.compile(r"iw|i40iw|cxgb|siw")


class NodeNetwork(NamedTuple):
    """The network between nodes.

    ``link``: InfiniBand, RoCE, iWARP, or Ethernet without RDMA; empty if unknown. ``link_gbit_per_s``: the rate of each
    port; 0 if unknown. ``adapters``: the RDMA ports that carry MPI, for instance ``mlx5_0:1``. ``unclear_adapters``:
    the ports from which a person must choose these, by link and rate.
    """

    link: str
    link_gbit_per_s: float
    adapters: list[str]
    unclear_adapters: dict[str, list[str]] = {}


def fabric(node: Probe) -> NodeNetwork:
    """Return the network of MPI: InfiniBand before all others, and the ports with the highest rate.

    Ports of another link or rate belong to other networks, for instance to storage's.
    """
    # Link and rate -> ports.
    groups: dict[tuple[str, float], list[str]] = defaultdict(list)
    for adapter in node.adapters:
        if adapter.active:
            groups[_link(adapter), adapter.gbit_per_s].append(adapter.port)
    if not groups:
        wired = max((port.gbit_per_s for port in node.interfaces if port.up and not port.virtual), default=0.0)
        return NodeNetwork(_ETHERNET if wired else "", wired, [])
    candidates = {group: ports for group, ports in groups.items() if group[0] == INFINIBAND} or groups
    fastest = link, rate = max(candidates, key=lambda group: group[1])
    ports = candidates[fastest]
    unknown = any(other not in (INFINIBAND, _ROCE, _IWARP) for other, _ in candidates)
    rivals = any(
        group != fastest and (group[1] == rate or group[1] * len(others) > rate * len(ports))
        for group, others in candidates.items()
    )
    if unknown or rivals:
        return NodeNetwork("", 0.0, [], {described(*group): others for group, others in candidates.items()})
    # Nodes with several GPUs have equal ports for each. The others are often storage's, at the same rate.
    if len(ports) > len(node.gpus) > 1 and len(ports) % len(node.gpus):
        return NodeNetwork(link, rate, [], {described(link, rate): ports})
    return NodeNetwork(link, rate, ports)


def described(link: str, gbit_per_s: float) -> str:
    return f"{link}, {f'{gbit_per_s:g} Gbit/s' if gbit_per_s else 'unknown rate'}"


def _link(adapter: AdapterPort) -> str:
    """Return the network of a port, or the link layer that the kernel states if that is neither of the two known."""
    if adapter.link_layer == _ETHERNET:
        return _IWARP if _IWARP_DEVICE.match(adapter.port) else _ROCE
    return INFINIBAND if adapter.link_layer == INFINIBAND else f"link layer {adapter.link_layer or 'not stated'}"
