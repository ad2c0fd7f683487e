"""ReFrame's description of all checks: the source of the catalogue and of Spack's list of programs."""

import re

import msgspec
import pytest

from kappa.core.vocabulary import checks, spack_tables
from kappa.core.vocabulary.extras import EnvironmentExtras, PartitionExtras
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, PARTITION_FEATURES, STORAGE_FEATURES
from kappa.core.vocabulary.tunables import TYPES
from reframe_checks.base.census import declared_checks
from tests import catalogue

_OF_A_CLASS = re.compile(r"\b[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+\b")


def test_what_is_generated_is_up_to_date(cases):
    assert {case["@class"] for case in cases} == set(declared_checks())
    wanted = catalogue.generated(cases)
    assert {path.name for path in wanted} == {"site-reference.md", "coverage.md", "checks.json"}
    assert not catalogue.stale(cases), "run `make docs`"


def test_features_of_the_vocabulary_are_those_that_checks_need(cases):
    promised = {feature for name in spack_tables.names() for feature in spack_tables.read(name).features}
    needed = {feature for case in cases for need in case["needs_environ"] for feature in need.split("|")}
    assert needed <= set(ENVIRONMENT_FEATURES) <= needed | promised
    assert {feature for case in cases for feature in case["case_features"]} == {*PARTITION_FEATURES, *STORAGE_FEATURES}


def test_what_is_relative_or_informational_is_measured(cases):
    for case in cases:
        assert {*case["relative"], *case["informational"]} <= {*case["metric_units"]}, case["@class"]
        assert {unit for name, unit in case["metric_units"].items() if name in case["relative"]} <= {""}, case["@class"]


def test_tunables_have_a_type_that_fits_their_default(cases):
    for case in cases:
        for variable, (kind, _, meaning) in case["tunable"].items():
            assert meaning
            msgspec.convert(case[variable], TYPES[kind])


@pytest.mark.parametrize("extras", [PartitionExtras, EnvironmentExtras])
def test_every_extra_is_read_by_some_check(extras):
    source = "".join(path.read_text(encoding="utf-8") for path in checks.SUITE.glob("**/*.py"))
    assert [name for name in extras.__struct_fields__ if f'"{name}"' not in source] == []


def test_every_osu_program_of_a_check_is_promised_by_the_environments_for_it(cases):
    needed = {}
    for case in cases:
        names = {case.get("benchmark"), case["executable"], *case["programs"]}
        needed.setdefault(frozenset(case["needs_environ"]), set()).update(
            name for name in names if name and name.startswith("osu_")
        )
    needed = {needs: programs for needs, programs in needed.items() if programs}
    # OSU builds the persistent collectives only on an MPI of version 4: no environment promises them.
    sets = (["osu"], ["osu-suite"], ["osu-suite", "osu-persistent"], ["osu-start"], ["osu-cuda"])
    assert needed.keys() == {*map(frozenset, sets)}
    for environment in map(spack_tables.read, spack_tables.names()):
        for needs, programs in needed.items():
            if needs <= set(environment.features):
                assert programs <= set(environment.programs), environment.name


def test_every_check_says_what_a_case_takes(cases):
    said = {case["@class"]: (case["measured_s"], case["estimated_s"]) for case in cases}
    assert not [name for name, both in said.items() if sorted(value > 0 for value in both) != [False, True]]


def test_every_check_says_what_a_failure_means(cases):
    said = {case["@class"]: case["failure_means"] for case in cases}
    # At least what it means; an example of what to do is most often a second sentence.
    assert not [name for name, text in said.items() if len(text.split()) < 8 or not text.endswith(".")]
    named = {word for text in said.values() for word in _OF_A_CLASS.findall(text)}
    assert named - {"OpenFOAM", "RandomAccess", "SimGrid"} <= said.keys()
