"""Read, check and write a fabric's YAML file. The checks compare several keys; the schema checks single keys."""

import math
import pathlib
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml
from msgspec import Struct, structs

from kappa.core.fabrics.network import network_without
from kappa.core.fabrics.schema import (
    SHAPES,
    Count,
    Counts,
    FatTree,
    Mesh,
    Number,
    SimulatedFabric,
    SoftwareBySize,
    Topology,
    Torus,
)
from kappa.core.ground.documents import Path, YamlFile, require_sound
from kappa.core.ground.errors import InputError, suggestion

SUFFIX = ".yaml"
# A platform lists a route for each pair of endpoints, so the number of nodes is limited.
MOST_NODES = 1024
_MOST_CABLES = 100_000


def fabric_names(folder: pathlib.Path) -> list[str]:
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))


def find_fabric(folder: pathlib.Path, name: str) -> SimulatedFabric:
    """Return the fabric ``name`` of ``folder``.

    :raises InputError: there is none, or its file is not valid.
    """
    known = fabric_names(folder)
    if name not in known:
        raise InputError(f"unknown fabric {name!r} in {folder}: {suggestion(name, known)}")
    return load_fabric(folder / f"{name}{SUFFIX}")


def load_fabric(path: pathlib.Path) -> SimulatedFabric:
    """Return the fabric in the file ``path``.

    :raises InputError: the file is not valid; names the file, the line and the key of each problem.
    """
    file = YamlFile(path)
    _require_shape(file)
    require_sound([file])
    fabric: SimulatedFabric = file.decode(SimulatedFabric)
    require_sound([file])
    if fabric.name != path.stem:
        file.refuse(("name",), f"expected {path.stem!r}, the name of the file, found {fabric.name!r}")
    _require_numbers(file, fabric)
    _require_kind(file, fabric)
    _require_topology(file, fabric.topology)
    if fabric.in_network and not isinstance(fabric.topology, FatTree):
        file.refuse(("in_network",), "expected a fat tree: reductions on switches need a tree")
    by_size = fabric.software.by_size
    if by_size:
        _require_sizes(file, by_size)
    shared = fabric.variants.shared
    if shared and shared.share.value >= 1:
        file.refuse(("variants", "shared", "share"), f"expected less than 1, found {shared.share.value:g}")
    require_sound([file])
    _require_losses(file, fabric)
    require_sound([file])
    return fabric


def numbers(part: Any, path: Path = ()) -> Iterator[tuple[Path, Number | Count | Counts]]:
    """Yield every number of a fabric, with the path of its key."""
    if isinstance(part, (Number, Count, Counts)):
        yield path, part
    elif isinstance(part, Struct):
        for field in structs.fields(part):
            yield from numbers(getattr(part, field.name), (*path, field.encode_name))


def _require_shape(file: YamlFile) -> None:
    """Add a problem if the key ``shape``, which selects the kind of topology, is missing or wrong."""
    if not isinstance(file.value, dict):
        file.refuse((), "expected a fabric, with the keys name, descr, kind, topology, link, node and software")
        return
    topology = file.value.get("topology")
    if not isinstance(topology, dict) or "shape" not in topology:
        file.refuse(("topology",), f"expected the key shape, one of {', '.join(SHAPES)}")
    else:
        file.require_known(("topology", "shape"), topology["shape"], SHAPES, "shape")


def _require_numbers(file: YamlFile, fabric: SimulatedFabric) -> None:
    for path, number in numbers(fabric):
        if str(path[-1]).endswith("_gb_s") and not number.value:
            file.refuse((*path, "value"), "expected more than 0")
    share = fabric.link.payload_share.value
    if not 0 < share <= 1:
        file.refuse(("link", "payload_share", "value"), f"expected more than 0 and at most 1, found {share:g}")


def _require_sizes(file: YamlFile, by_size: SoftwareBySize) -> None:
    where: Path = ("software", "by_size")
    for key in ("send_us", "isend_us", "receive_us"):
        if len(getattr(by_size, key)) != len(by_size.bytes):
            file.refuse((*where, key), f"expected {len(by_size.bytes)} figures, one for each of bytes")
    if by_size.bytes != sorted(set(by_size.bytes)):
        file.refuse((*where, "bytes"), "expected sizes in ascending order")


def _require_kind(file: YamlFile, fabric: SimulatedFabric) -> None:
    fitted = [".".join(map(str, path)) for path, number in numbers(fabric) if number.origin == "fitted"]
    if fitted and fabric.kind != "calibrated":
        file.refuse(("kind",), f"expected calibrated: {fitted[0]} is fitted; found {fabric.kind}")
    if not fitted and fabric.kind == "calibrated":
        file.refuse(("kind",), "expected spec-only, as no number's origin is fitted; found calibrated")


def _require_topology(file: YamlFile, topology: Topology) -> None:
    where: Path = ("topology",)
    if isinstance(topology, FatTree):
        levels = len(topology.down.value)
        for key in ("up", "parallel"):
            counts = getattr(topology, key)
            if counts and len(counts.value) != levels:
                file.refuse((*where, key), f"expected {levels} figures, as many as down has, found {len(counts.value)}")
            if counts and counts.value[0] != 1:
                file.refuse((*where, key), "expected 1 as the first: a node has one cable to one switch")
        most = math.prod(topology.down.value)
        if not 2 <= topology.nodes.value <= min(most, MOST_NODES):
            file.refuse((*where, "nodes"), f"expected 2 to {min(most, MOST_NODES)}, the capacity of the switches")
        parallel = topology.parallel.value if topology.parallel else []
        if math.prod([*topology.up.value, *parallel, *topology.down.value[1:]]) > _MOST_CABLES:
            file.refuse(where, f"expected down, up and parallel with a product of at most {_MOST_CABLES}")
        return
    if isinstance(topology, (Torus, Mesh)):
        count = topology.nodes_per_switch.value * math.prod(topology.sizes.value)
        key = "sizes"
    else:
        count, key = topology.chassis.value * topology.sockets_per_chassis.value, "chassis"
        if topology.asics_per_chassis.value > topology.sockets_per_chassis.value:
            file.refuse((*where, "asics_per_chassis"), "expected at most one for each socket")
        if topology.links_between_asics.value > 64:
            file.refuse((*where, "links_between_asics"), "expected at most 64")
    if not 2 <= count <= MOST_NODES:
        file.refuse((*where, key), f"expected 2 to {MOST_NODES} nodes in total, found {count}")


def _require_losses(file: YamlFile, fabric: SimulatedFabric) -> None:
    degraded = fabric.variants.degraded
    if not degraded:
        return
    where: Path = ("variants", "degraded")
    sound = network_without(fabric, [])
    for number, name in enumerate(degraded.switches):
        file.require_known((*where, "switches", number), name, sound.switches, "switch")
    for number, name in enumerate(degraded.links):
        file.require_known((*where, "links", number), name, sound.cables, "link")
    if not degraded.switches and not degraded.links:
        file.refuse(where, "expected at least one lost switch or link")
    if not file.problems:
        cut_off = network_without(fabric, [*degraded.switches, *degraded.links]).cut_off()
        if cut_off:
            file.refuse(where, f"expected a loss with a route around it; this one cuts {cut_off} off")


def fabric_yaml(fabric: SimulatedFabric, heading: str) -> str:
    """Return the YAML text of a fabric, which ``load_fabric`` can read; ``heading`` is its comment."""
    document = _stated(msgspec.to_builtins(fabric))
    body = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    return "".join(f"# {line}\n" for line in heading.splitlines()) + body


def _stated(value: Any) -> Any:
    """Return the document without default values, as a person would write it."""
    if not isinstance(value, dict):
        return value
    return {key: _stated(inner) for key, inner in value.items() if inner not in (None, {}, []) and _stated(inner) != {}}
