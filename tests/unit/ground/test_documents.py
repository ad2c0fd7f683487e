"""Errors of a document name the path, the expected and the found value."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from kappa.core.ground.documents import YamlFile, fit
from kappa.core.ground.errors import InputError

Word = Annotated[str, Meta(pattern="^[a-z]+$", description="lower-case letters")]


class Row(Struct, array_like=True):
    value: float
    unit: str | None = None


class Inner(Struct, forbid_unknown_fields=True):
    rows: dict[str, Row] = {}
    points: tuple[tuple[float, float], ...] = ()
    kind: Literal["node", "link"] = "node"
    words: dict[Word, Word | int] = {}

    def __post_init__(self) -> None:
        if len(self.points) > 2:
            raise ValueError("expected two points at most")


@dataclass
class Outer:
    items: list[Inner]
    count: int | None = None


@pytest.mark.parametrize(
    ("inner", "problem"),
    [
        ({"rows": {"a": [1], "b c": [2, 3]}}, "items[1].rows['b c'][1]: expected string or null, found 3"),
        ({"rows": {"a": [True]}}, "items[1].rows.a[0]: expected number, found True"),
        ({"points": [[1, 2], [3]]}, "items[1].points[1]: expected array of length 2, found [3]"),
        ({"points": [[0, 0]] * 3}, "items[1]: expected two points at most"),
        ({"rows": {"a": {"k": 1}}}, "items[1].rows.a: expected array, found {'k': 1}"),
        (["a"], "items[1]: expected object, found ['a']"),
        ({"kind": "rack"}, "items[1].kind: expected node or link, found 'rack'"),
        ({"words": {"a": "B"}}, "items[1].words.a: expected lower-case letters, found 'B'"),
        ({"words": {"a": "b", "A B": "c"}}, "items[1].words['A B']: expected lower-case letters, found 'A B'"),
        ({"rosw": {}}, "items[1].rosw: unknown key 'rosw': did you mean 'rows'?"),
        (3, "items[1]: expected object, found 3"),
    ],
    ids=str,
)
def test_an_error_names_the_place(inner, problem):
    with pytest.raises(InputError) as error:
        fit({"items": [{}, inner]}, Outer, "file")
    assert str(error.value) == f"file: {problem}"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "the document: expected object, found []"),
        ({}, "the document: 'items' is a required property"),
        ({"items": [], "count": 2.5}, "count: expected integer or null, found 2.5"),
    ],
    ids=str,
)
def test_an_error_at_the_top(document, problem):
    with pytest.raises(InputError, match="file") as error:
        fit(document, Outer, "file")
    assert str(error.value) == f"file: {problem}"


HOSTILE = st.sampled_from(["$", "`", " - at `$.items[0]`", "key", "[...]", "rows", "\x1b[31m", "'", "a"])


@given(st.lists(HOSTILE, min_size=1, max_size=4).map("".join), st.booleans())
def test_a_key_that_looks_like_a_path_is_an_error_like_any(key, deep):
    document = {"rows": {}, key: 1} if not deep else {"words": {"a": "b", key + "`": 1}}
    if document.keys() - set(Inner.__struct_fields__) or deep:
        with pytest.raises(InputError) as error:
            fit(document, Inner, "file")
        assert "\x1b" not in str(error.value)


def test_a_problem_that_is_known_already_is_one_all_the_same(tmp_path):
    (tmp_path / "site.yaml").write_text("points: []\nkind: [rack]\n")
    file = YamlFile(tmp_path / "site.yaml")
    assert file.decode(Inner) is None and file.decode(Inner) is None
    assert file.problems == [f"{tmp_path / 'site.yaml'}: line 2: kind: Expected str, got array"]
