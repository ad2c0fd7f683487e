"""The network of a fabric's shape."""

from collections.abc import Collection
from typing import Literal

from kappa.core.fabrics.chassis import ChassisNetwork
from kappa.core.fabrics.fat_tree import FatTreeNetwork
from kappa.core.fabrics.grid import GridNetwork
from kappa.core.fabrics.network import Network
from kappa.core.fabrics.schema import AllToAll, Fabric, FatTree
from kappa.core.ground.errors import InputError

Variant = Literal["sound", "degraded", "shared"]
VARIANTS: tuple[Variant, ...] = ("sound", "degraded", "shared")


def variants(fabric: Fabric) -> list[Variant]:
    """Those that the fabric has."""
    return [each for each in VARIANTS if each == "sound" or getattr(fabric.variants, each)]


def network_of(fabric: Fabric, variant: Variant = "sound") -> Network:
    """:raises InputError: the fabric has no such variant."""
    if variant not in variants(fabric):
        raise InputError(f"fabric {fabric.name} has no variant {variant!r}, only {', '.join(variants(fabric))}")
    degraded = fabric.variants.degraded
    lost = [*degraded.switches, *degraded.links] if degraded and variant == "degraded" else []
    return network_without(fabric, lost)


def network_without(fabric: Fabric, lost: Collection[str]) -> Network:
    match fabric.topology:
        case FatTree() as tree:
            return FatTreeNetwork(tree, fabric.link, lost)
        case AllToAll() as chassis:
            return ChassisNetwork(chassis, fabric.link, fabric.node.memory, lost)
        case grid:
            return GridNetwork(grid, fabric.link, lost)
