"""Give the reasons why a new site lacks features: ``not_provided`` and ``left_out`` of its ``expected.yaml``.

Some features get no reason, because a person must look for them:

- programs of the checks of mode smoke that no node has;
- GPUs that only Slurm lists;
- RDMA ports, if it is unclear which of them carry MPI;
- storage, if none was found;
- nodes that no job can select.

The site's runs are INCOMPLETE until the feature exists, or a person gives the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kappa.app.survey.features import environment_features, features_lacking
from kappa.app.survey.found import Survey
from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.features import (
    ENVIRONMENT_FEATURES,
    PARTITION_FEATURES,
    SIMULATED,
    STORAGE_FEATURES,
    STORAGE_TARGETS,
)
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.scales import DERIVED_FEATURES

_BASIS = "smoke"
_NOT_FOUND = "not found on PATH of the nodes"
_FOUND_BY_PROGRAM = ("hpl", "stream", "build_dir")
# A feature of some nodes only. It is not asked for on nodes that no job can select.
_OF_SOME_NODES = {STORAGE_TARGETS["scratch"]: ""}


@dataclass(frozen=True)
class Reasons:
    """The reasons of a new site.

    ``not_provided``: feature -> why no partition has it. ``left_out``: (features, partitions, why) for single
    partitions. ``asked``: features of the environment without a reason, each with the finding.
    """

    not_provided: Mapping[str, str]
    left_out: list[tuple[list[str], list[str], str]] = field(default_factory=list)
    asked: Mapping[str, str] = field(default_factory=dict)


def reasons(survey: Survey) -> Reasons:
    of_parts = {
        title: features_lacking(survey, part) for title, part in survey.parts.items() if part.options is not None
    }
    of_all = {
        feature: "; ".join(dict.fromkeys(lacking[feature] for lacking in of_parts.values()))
        for feature in [*PARTITION_FEATURES, *STORAGE_FEATURES]
        if of_parts and feature not in DERIVED_FEATURES and all(feature in lacking for lacking in of_parts.values())
    }
    titles: dict[tuple[str, str], list[str]] = {}
    for title, lacking in of_parts.items():
        for feature, why in lacking.items():
            if feature not in of_all:
                titles.setdefault((feature, why), []).append(title)
    entries: dict[tuple[str, str], tuple[list[str], list[str], str]] = {}
    for (feature, why), partitions in titles.items():
        entries.setdefault((why, ", ".join(partitions)), ([], partitions, why))[0].append(feature)
    programs = _of_environment(survey)
    asked = {feature: why for feature, why in programs.items() if feature in _basis(survey, of_parts)}
    not_provided = {SIMULATED: "its nodes exist", **of_all, **programs}
    return Reasons(
        {feature: why for feature, why in not_provided.items() if feature not in asked}, list(entries.values()), asked
    )


def _of_environment(survey: Survey) -> dict[str, str]:
    has = environment_features(survey)
    return {
        feature: f"`{row.extra}` is not stated" if row.extra and row.extra not in _FOUND_BY_PROGRAM else _NOT_FOUND
        for feature, row in ENVIRONMENT_FEATURES.items()
        if feature not in has
    }


def _basis(survey: Survey, of_parts: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Return the environment's features that checks of mode smoke need on a partition that has no reason for them."""
    mode, lacking = MODES[_BASIS], []
    for title, part in survey.parts.items():
        # Do not ask for GPU programs before GPUs are found.
        unseen = {} if part.whole_gpus else {"nvidia": ""}
        lacking.append({**of_parts.get(title, _OF_SOME_NODES), **unseen})
    return {
        feature
        for name, check in catalogue().items()
        for case in check.cases
        if mode.takes(name, check.modes, case.parameters)
        and SIMULATED not in case.features
        and any(not {*case.features} & has.keys() for has in lacking)
        for need in check.needs_environ
        for feature in need.split("|")
    }
