"""docs/record.md names every key of a run's record and of its verdict."""

import dataclasses
import pathlib
import re
import typing

import msgspec
import pytest

from kappa.core.record.load import Record
from reports.verdict.stored import StoredVerdict

PAGE = pathlib.Path(__file__).parents[3] / "docs/record.md"


def keys_of(structure):
    if dataclasses.is_dataclass(structure):
        return {field.name for field in dataclasses.fields(structure)}
    return {*structure.__struct_encode_fields__}


def structures_in(*hints):
    """Return all structures that make up the types ``hints``."""
    found, left = set(), [*hints]
    while left:
        hint = left.pop()
        left += typing.get_args(hint)
        if isinstance(hint, type) and (issubclass(hint, msgspec.Struct) or dataclasses.is_dataclass(hint)):
            left += [] if hint in found else typing.get_type_hints(hint).values()
            found.add(hint)
    return found


def undocumented(page, structure):
    return keys_of(structure) - {*re.findall(r"`([^`\n]+)`", page)}


STRUCTURES = sorted(structures_in(Record, StoredVerdict), key=lambda structure: structure.__name__)


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda structure: structure.__name__)
def test_page_names_every_key(structure):
    assert not undocumented(PAGE.read_text("utf-8"), structure)


def test_structures_within_structures_are_found():
    assert {"MatrixFile", "Metric", "SpackSpec", "CensusCase", "LinkUse", "Suspicion", "Gap"} <= {
        structure.__name__ for structure in STRUCTURES
    }


def test_key_without_its_code_span_is_missing():
    page = PAGE.read_text("utf-8").replace("`heaviest_task_us`", "heaviest_task_us")
    missing = [key for structure in STRUCTURES for key in undocumented(page, structure)]
    assert missing == ["heaviest_task_us"]
