"""Read a site's ``site.yaml`` and check it against the vocabulary.

Fabrics of a simulated site become partitions. Facts of the machine replace ``{fact: NAME}``.
"""

import os
import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from kappa.core.fabrics.description import fabric_names, load_fabric
from kappa.core.fabrics.network import variants
from kappa.core.fabrics.schema import SimulatedFabric
from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import Path, YamlFile, require_sound
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import base_of, fabrics_beside
from kappa.core.sites.consistency import check_environments, check_partition
from kappa.core.sites.description import Fabrics, Partition, SiteFile, read_as_current
from kappa.core.sites.facts import PROVIDERS
from kappa.core.vocabulary import spack_tables
from kappa.core.vocabulary.features import LARGE_PUTS, PATTERNS, SHARP, SIMULATED, STORAGE_TARGETS, parallel, swept
from kappa.core.vocabulary.rules import check_quarantine
from kappa.core.vocabulary.scales import EACH_NODE, ONE_NODE, TWO_NODES, WHOLE_PARTITION

#: The variable with more folders of fabrics, separated as in PATH.
MORE_FABRICS = "KAPPA_FABRICS"
FILE = "site.yaml"
#: The variable from which all Slurm commands except sacct take the cluster.
CLUSTER_VARIABLE = "SLURM_CLUSTERS"


def put_fabrics(file: YamlFile, folder: pathlib.Path) -> None:
    """Add a partition for each fabric and variant to the document.

    Keys for a partition by its name have priority over keys for its variant.

    :raises InputError: a fabric's file is not valid, or there is no such file.
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


def _partition(fabric: SimulatedFabric, variant: str, path: pathlib.Path) -> dict[str, Any]:
    scales = [WHOLE_PARTITION] if fabric.nodes > 1 else []
    if fabric.software.by_size:  # `kappa fabric calibrate` made it, to predict the scales of a real partition
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


@dataclass(frozen=True)
class SiteDescription:
    """A site as ``site.yaml`` describes it; ``by_fact`` are the paths of values that are facts of the machine."""

    folder: pathlib.Path
    described: SiteFile
    by_fact: frozenset[Path]

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def base(self) -> pathlib.Path:
        """The folder to which relative paths of the site refer."""
        return base_of(self.folder)

    @property
    def environment_names(self) -> list[str]:
        """Every environment that a partition lists."""
        return list(dict.fromkeys(name for one in self.described.partitions.values() for name in one.environments))

    def features_of(self, partition: str) -> list[str]:
        """Return all features of the partition, including the features of its storage targets."""
        one = self.described.partitions[partition]
        return [*one.features, *_storage_features(one)]

    @property
    def as_stated(self) -> "SiteDescription":
        """The site without features that are facts of the machine."""
        partitions = {
            name: structs.replace(
                one,
                features=[
                    feature
                    for number, feature in enumerate(one.features)
                    if ("partitions", name, "features", number) not in self.by_fact
                ],
            )
            for name, one in self.described.partitions.items()
        }
        others = frozenset(at for at in self.by_fact if at[2:3] != ("features",))
        return replace(self, described=structs.replace(self.described, partitions=partitions), by_fact=others)

    def environment_features(self, environment: str) -> set[str]:
        """Return the features of an environment; none for a Spack environment that is used only if installed."""
        if environment in self.described.environments:
            return {*self.described.environments[environment].features}
        spack = self.described.spack
        return set() if spack.installed_only else {*spack_tables.read(environment).features, *spack.features}

    def stated_features(self) -> set[str]:
        """Return all features that the site states, independent of installed programs and facts of the machine."""
        of_partitions = map(self.as_stated.features_of, self.described.partitions)
        return set().union(*of_partitions, *map(self.environment_features, self.environment_names))


def describe(folder: pathlib.Path) -> SiteDescription:
    """Read ``site.yaml`` of a site.

    :raises InputError: the file is not valid; names it, and for each problem the line, the key and the expected value.
    """
    _require_description(folder)
    file = YamlFile(folder / FILE)
    read_as_current(file)
    require_sound([file])
    put_fabrics(file, folder)
    _put_defaults(file)
    by_fact = frozenset(_put_facts(file, folder))
    described = file.decode(SiteFile)
    require_sound([file])
    known = [*described.environments, *spack_tables.names()]
    with_image = [name for name, one in described.environments.items() if one.image]
    for name, partition in described.partitions.items():
        check_partition(file, name, partition, known, by_fact, with_image)
    _check_predictions(file, folder, described)
    check_environments(file, described)
    if described.quarantine:
        check_quarantine(file, described.quarantine)
    if described.keep and described.keep.runs is None and described.keep.days is None:
        file.refuse(("keep",), "expected `runs`, `days` or both: the raw output to keep for any verdict")
    require_sound([file])
    return SiteDescription(folder, described, by_fact)


def _require_description(folder: pathlib.Path) -> None:
    if not (folder / FILE).exists() and (folder / "settings.py").is_file():
        raise InputError(
            f"{clean(str(folder))}: expected {FILE}; it replaces the code in settings.py of Kappa 0.1.0, which is now "
            "the same for every site (docs/site.md)"
        )


def _check_predictions(file: YamlFile, folder: pathlib.Path, described: SiteFile) -> None:
    """Check that the fabrics that predict partitions exist; without a simulated site this is not checked."""
    for name, partition in described.partitions.items():
        if partition.predicted_by is not None and (fabrics := fabrics_beside(folder)):
            at = ("partitions", name, "predicted_by")
            file.require_known(at, partition.predicted_by, fabric_names(fabrics), "fabric")


def _storage_features(partition: Partition) -> Iterator[str]:
    for target, stated in partition.storage.items():
        if stated.measured:
            yield STORAGE_TARGETS[target]
            if stated.parallel:
                yield parallel(target)
            if stated.lustre and stated.lustre.osts and (feature := swept(target)):
                yield feature


def _put_defaults(file: YamlFile) -> None:
    """Give each partition the keys of ``partition_defaults`` that it does not have."""
    document = file.value
    if not isinstance(document, Mapping):
        return
    defaults, partitions = document.get("partition_defaults"), document.get("partitions")
    if not isinstance(defaults, Mapping) or not isinstance(partitions, Mapping):
        return
    for name, partition in partitions.items():
        if isinstance(partition, dict):
            for key in defaults.keys() - partition.keys():
                file.moved[("partitions", name, key)] = ("partition_defaults", key)
                partition[key] = defaults[key]
    file.value = {**document, "partition_defaults": {}}


def _put_facts(file: YamlFile, folder: pathlib.Path) -> list[Path]:
    """Replace ``{fact: NAME}`` by the facts of the machine. Return the paths of the replaced values."""
    provider = file.value.get("facts") if isinstance(file.value, Mapping) else None
    facts: dict[str, Any] = {}
    if provider is not None and file.require_known(("facts",), provider, PROVIDERS, "provider of facts"):
        facts = PROVIDERS[provider](base_of(folder))
    places: list[Path] = []

    def put(value: Any, path: Path) -> Any:
        if isinstance(value, Mapping):
            [key, *more], [name, *_] = value or [""], value.values() or [None]
            if not more and isinstance(name, str) and name in facts:
                file.require_known((*path, key), key, ["fact"], "key")
            if list(value) == ["fact"]:
                places.append(path)
                file.require_known((*path, "fact"), value["fact"], facts, "fact")
                return facts.get(str(value["fact"]))
            return {key: put(inner, (*path, key)) for key, inner in value.items()}
        if not isinstance(value, list):
            return value
        items: list[Any] = []
        for number, inner in enumerate(value):
            found = put(inner, (*path, len(items)))
            several = found if isinstance(found, list) and isinstance(inner, Mapping) else [found]
            for item in several:
                if len(items) != number:
                    file.moved[(*path, len(items))] = (*path, number)
                if several is found:
                    places.append((*path, len(items)))
                items.append(item)
        return items

    file.value = put(file.value, ())
    require_sound([file])
    return places
