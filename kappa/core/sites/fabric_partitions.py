"""The partitions of a site whose machines are simulated: one for each fabric and variant of its folder of fabrics."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from kappa.core.fabrics.description import load_fabric
from kappa.core.fabrics.schema import Fabric
from kappa.core.fabrics.shapes import variants
from kappa.core.ground.errors import InputError
from kappa.core.ground.yaml_file import YamlFile, require_sound
from kappa.core.sites.description import Fabrics
from kappa.core.vocabulary.features import LARGE_PUTS, PATTERNS, SHARP, SIMULATED
from kappa.core.vocabulary.scales import EACH_NODE, ONE_NODE, TWO_NODES, WHOLE_PARTITION

#: Names further folders of fabrics, separated as those of PATH.
MORE_FABRICS = "KAPPA_FABRICS"


def put_fabrics(file: YamlFile, folder: pathlib.Path) -> None:
    """Add the partitions to the document; what it says of one by name goes before what it says of a variant.

    :raises InputError: a fabric's file cannot be used, or there is none.
    """
    document = file.value
    if not isinstance(document, Mapping) or "fabrics" not in document:
        return
    stated = file.decode(Fabrics, document["fabrics"], ("fabrics",))
    require_sound([file])
    paths = sorted((folder / stated.folder).glob("*.yaml"))
    if not paths:
        raise InputError(f"{file.source}: fabrics.folder: expected YAML files of fabrics in {folder / stated.folder}")
    for more in filter(None, os.environ.get(MORE_FABRICS, "").split(os.pathsep)):
        paths += sorted(pathlib.Path(more).glob("*.yaml"))
    by_name = document.get("partitions") or {}
    partitions = dict(by_name)
    for path in paths:
        fabric = load_fabric(path)
        for variant in variants(fabric):
            name = fabric.name if variant == "sound" else f"{fabric.name}-{variant}"
            made = _partition(fabric, variant, path.resolve())
            of_variant = getattr(stated, variant)
            for key in of_variant:
                file.moved[("partitions", name, key)] = ("fabrics", variant, key)
            partitions[name] = {**made, **of_variant, **(by_name.get(name) or {})}
    file.value = {**document, "partitions": partitions}


def _partition(fabric: Fabric, variant: str, path: pathlib.Path) -> dict[str, Any]:
    scales = [WHOLE_PARTITION] if fabric.nodes > 1 else []
    if fabric.software.by_size:  # `kappa calibrate` made it, to predict the scales of a real one
        scales += [feature for feature in (ONE_NODE, EACH_NODE, TWO_NODES) if feature not in scales]
    sharp = [SHARP] if fabric.in_network else []
    return {
        "descr": fabric.descr if variant == "sound" else f"{fabric.descr}, {variant}",
        "nodes": fabric.nodes,
        "cores": {"per_node": fabric.ranks_per_node},
        "scheduler": "local",
        "launcher": "smpirun",
        "features": [SIMULATED, PATTERNS, LARGE_PUTS, "compute", *sharp, *scales],
        "fabric": {"file": str(path), "variant": variant},
    }
