"""Census of the suite: all checks, the checks that the site offers, and the checks that failed to load.

ReFrame only warns of a check file that does not load, and ignores a check that no environment of the site can run.
The census finds both, so that neither passes silently.
"""

import ast
import pathlib

from reframe.core.runtime import runtime

from kappa.core.record.evidence import Census, CensusCase, CensusCheck, CensusPartition, NotLoaded
from kappa.core.vocabulary.features import NODES_THAT_EXIST, SIMULATED
from reframe_checks.base.case import feature_choices, made_cases
from reframe_checks.base.reframe_internals import registered_checks
from spack_envs.installer.reframe_settings import install_commands

SUITE = pathlib.Path(__file__).parents[1]


def declared_checks() -> dict[str, pathlib.Path]:
    """Return every class below ``reframe_checks/`` whose source has the decorator ``simple_test``: name -> file."""
    found = {}
    for path in sorted(SUITE.glob("*/*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, OSError):
            found[f"({path.stem})"] = path
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any(
                "simple_test" in ast.unparse(deco) for deco in node.decorator_list
            ):
                found[node.name] = path
    return found


def take_census(suite_revision: str) -> Census:
    """Return the census.

    ``checks`` has the loaded checks, with the places where the site offers each case. ``not_loaded`` has checks that
    a file declares but ReFrame did not load. ``partitions`` has the nodes, sockets and features of each partition.
    """
    loaded = registered_checks()
    declared = declared_checks()
    offers = [
        (set(partition.features), set(environ.features))
        for partition in runtime().system.partitions
        for environ in partition.environs
    ]
    return Census(
        checks=tuple(_entry(name, loaded[name], offers) for name in declared if name in loaded),
        not_loaded=tuple(
            NotLoaded(str(path.relative_to(SUITE.parent)), f"{name} was not loaded")
            for name, path in declared.items()
            if name not in loaded
        ),
        suite_revision=suite_revision,
        install=install_commands(runtime().system.name),
        partitions={partition.name: _partition(partition) for partition in runtime().system.partitions},
    )


def _entry(name, cls, offers):
    alternatives = [set(cls.needs_partition) | set(extra) for extra in cls.alternative_features()]
    real = set() if cls.on_fabrics else {NODES_THAT_EXIST}
    missing = min(
        (
            sorted((alternative - partition) | (real if SIMULATED in partition else set()) | (set(choice) - environ))
            for alternative in alternatives
            for choice in feature_choices(cls.needs_environ)
            for partition, environ in offers
        ),
        key=len,
    )
    cases = tuple(
        CensusCase(case.name, tuple(sorted(case.features)), places)
        for case in made_cases(name)
        if (places := case.offered_on())
    )
    return CensusCheck(name, str(cls.family), not missing, missing, sorted(cls.modes_here()), cases)


def _partition(partition):
    topology = partition.processor.topology or {}
    sockets, numa_domains = (len(topology.get(key, ())) for key in ("sockets", "numa_nodes"))
    return CensusPartition(partition.extras.get("nodes", 0), sockets, numa_domains, frozenset(partition.features))
