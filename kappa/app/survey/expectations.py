"""What each mode has to run on a site that was found, and why what is not there is not.

A family is expected where a partition has the features of one of its cases. When the programs for it were not found it
is expected all the same in mode smoke, the basis of any verdict, which is INCOMPLETE until they are there or the site
says why not; elsewhere it is not provided.
"""

import re
from collections.abc import Collection, Mapping

from kappa.app.survey.features import (
    environment_features,
    gpus_by_slurm,
    partition_features,
    storage_targets,
    whole_gpus,
)
from kappa.app.survey.found import FoundPart, Survey
from kappa.core.vocabulary.checks import Check, catalogue
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, PARTITION_FEATURES, STORAGE_FEATURES
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.storage_targets import OF_ONE_NODE, STORAGE_TARGETS, parallel, swept

_BASIS = "smoke"
_GPU = "node/gpu"
_STORAGE = "storage/fio"
_CALIBRATE = "calibrate"
_NOT_EXPECTED_OF = ("links",)


def all_features(survey: Survey, part: FoundPart) -> list[str]:
    """With those of its storage targets."""
    found = partition_features(survey, part)
    for target, one in storage_targets(part).items() if found else ():
        if one.folder:
            found.append(STORAGE_TARGETS[target])
            if one.shared and target not in OF_ONE_NODE:
                found.append(parallel(target))
    return found


def expected(survey: Survey) -> dict[str, dict[str, list[str]]]:
    """Mode -> family -> partitions."""
    environment = environment_features(survey)
    basis = {check.family for check in catalogue().values() if _BASIS in check.modes}
    found: dict[str, dict[str, list[str]]] = {}
    for mode in MODES:
        if mode in _NOT_EXPECTED_OF:
            continue
        for name, check in catalogue().items():
            if not _runs_in(mode, name, check):
                continue
            for title, part in survey.parts.items():
                features = all_features(survey, part)
                # Nodes that no job gets: what smoke would do of them is missing.
                unreachable = not features and mode == _BASIS and name != "Fabric" and not _special(check)
                fits = any(set(case.features) <= set(features) for case in check.cases) or unreachable
                if fits and (check.family in basis or _programs_there(check, environment)):
                    _add(found.setdefault(mode, {}), check.family, title)
        for title, part in survey.parts.items():
            if gpus_by_slurm(part) and not whole_gpus(part) and not _cut(part):
                _add(found.setdefault(mode, {}), _GPU, title)
            if not any(feature in STORAGE_TARGETS.values() for feature in all_features(survey, part)):
                _add(found.setdefault(mode, {}), _STORAGE, title)
    return found


def _add(families: dict[str, list[str]], family: str, partition: str) -> None:
    partitions = families.setdefault(family, [])
    if partition not in partitions:
        partitions.append(partition)


def _special(check: Check) -> bool:
    """Whether it is of what only some nodes have: GPUs, and the disk of a node."""
    return all({"nvidia", "storage_scratch", "simulated"} & set(case.features) for case in check.cases)


def _cut(part: FoundPart) -> bool:
    return bool(part.told and part.told.gpus and part.told.gpus.mig)


def _runs_in(mode: str, name: str, check: Check) -> bool:
    if mode != _CALIBRATE:
        return mode in check.modes
    exclude = next(word.partition("=")[2] for word in MODES[mode].options if word.startswith("--exclude"))
    return "nightly" in check.modes and not re.search(exclude, name)


def _programs_there(check: Check, environment: Collection[str]) -> bool:
    return all(set(need.split("|")) & set(environment) for need in check.needs_environ)


def not_provided(survey: Survey) -> dict[str, str]:
    """Feature -> why the site has it not: what was looked for and is not there."""
    stated = {feature for part in survey.parts.values() for feature in all_features(survey, part)}
    environment = environment_features(survey)
    found = {"simulated": "its nodes exist"}
    if not any(whole_gpus(part) for part in survey.parts.values()):
        cut = any(_cut(part) for part in survey.parts.values())
        found["nvidia"] = found["several_gpus"] = (
            "the GPUs are cut in slices (MIG), the checks take whole ones"
            if cut
            else "no node that was probed has NVIDIA GPUs"
        )
    for target, feature in STORAGE_TARGETS.items():
        found[feature] = f"no file system was found for {target}"
        if swept(target):
            found[f"osts_{target}"] = "the object storage targets and servers are not stated"
    found["rails"] = "no node has several active ports of equal rate"
    found["numa_domains"] = "no node has several NUMA domains"
    for feature, row in ENVIRONMENT_FEATURES.items():
        found[feature] = (
            f"`{row.extra}` is not stated"
            if row.extra and row.extra not in ("hpl", "stream", "build_dir")
            else "not found on PATH of the nodes"
        )
    known = {**PARTITION_FEATURES, **STORAGE_FEATURES, **ENVIRONMENT_FEATURES}
    return {
        feature: why for feature, why in found.items() if feature in known and feature not in {*stated, *environment}
    }


def scales_left_out(reasons: Mapping[str, Mapping[str, str]]) -> list[tuple[str, list[str], str]]:
    """Of each partition its features and why, as entries of ``left_out``: those of one reason in one."""
    found: dict[tuple[str, str], list[str]] = {}
    for title, of_part in reasons.items():
        for feature, why in of_part.items():
            found.setdefault((feature, why), []).append(title)
    return [(feature, titles, why) for (feature, why), titles in found.items()]
