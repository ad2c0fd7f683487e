"""The reading of mutated output by a parser, and its comparison with the right reading."""

import math
import re
from collections.abc import Iterable, Mapping

from reframe_checks.parsers.text import ParseError
from tests.unit.parsers.cases import Case
from tests.unit.parsers.damage import is_written, leaves
from tests.unit.parsers.mutation import Mutation

_ERROR = re.compile(r".+, line [1-9][0-9]*: expected .+; found .*")
_INDEX = re.compile(r"\[(\([^)]*\)|[^]]*)\]")

_LOST_DIGIT = 1e-4


def without_indices(path: str) -> str:
    """``path`` of a value with ``[]`` for each index and key in it."""
    return _INDEX.sub("[]", path)


def misread(case: Case, whole: str, mutations: Iterable[Mutation]) -> tuple[list[str], set[str]]:
    """Complaints about what ``case.parse`` does with each mutation of ``whole``, and what of ``case.alone`` it changed.

    Right is a :class:`ParseError` with problem, place and expectation, or the same values. For a value that stands
    alone, a text may be any text on a changed line. A number may be one that is written there, if the mutation made it
    a number: another one, but not absurd.
    """
    expected = dict(leaves(case.parse(whole)))
    complaints, changed = [], set()
    for mutation in mutations:
        text = mutation(whole)
        try:
            found = renamed(dict(leaves(case.parse(text))), expected)
        except ParseError as err:
            if not _ERROR.fullmatch(str(err)):
                complaints.append(f"{mutation.what}: an error without line or expectation: {err}")
            continue
        except Exception as err:
            complaints.append(f"{mutation.what}: {err!r}")
            continue
        lines = sorted(set(text.splitlines()) - set(whole.splitlines()))
        for path in found.keys() | expected.keys():
            value, before = found.get(path), expected.get(path)
            if value == before or (value is None and path in case.may_vanish):
                continue
            changed.add(without_indices(path))
            allowed = _may_change(case, mutation, path, value) and is_written(value, lines, case.scales)
            if not allowed and not _rounded(value, before):
                complaints.append(f"{mutation.what}: {path} = {value!r}, not {before!r}")
    return complaints, changed


def _rounded(value: object, before: object) -> bool:
    """Whether a figure lost its last digit only: no second figure can tell, and no verdict changes by it."""
    floats = isinstance(value, float) and isinstance(before, float)
    return floats and math.isclose(value, before, rel_tol=_LOST_DIGIT)


def _may_change(case: Case, mutation: Mutation, path: str, value: object) -> bool:
    where = without_indices(path)
    if where not in case.alone or isinstance(value, str):
        return where in case.alone
    return where in case.boundless if mutation.absurd else mutation.other


def renamed(found: Mapping[str, object], expected: Mapping[str, object]) -> dict[str, object]:
    """``found`` by the keys of ``expected``, where the name of one node that is a key has become another."""
    lost, new = (
        sorted(
            {found[1] for path in a.keys() - b.keys() for found in _INDEX.finditer(path)}
            - {found[1] for path in b for found in _INDEX.finditer(path)}
        )
        for a, b in ((expected, found), (found, expected))
    )
    if len(lost) != 1 or len(new) != 1:
        return dict(found)
    return {path.replace(f"[{new[0]}]", f"[{lost[0]}]"): value for path, value in found.items()}
