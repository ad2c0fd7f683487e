"""The history's fast reader accepts exactly the values that the schema accepts."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kappa.core.ground.clean_text import clean, is_clean_json
from kappa.core.ground.errors import InputError
from kappa.core.record.model import CaseFacts
from kappa.core.record.reframe_report import decoded
from reports.history import reader
from reports.history.rows import SCHEMA, Rows
from tests.unit.reports.samples import case, cases_of, latency, report

DOCUMENT = report([latency(), case("PartitionHealth", suspects=["node1"], result="fail", census={})], uuid="night-0")
TEXT = json.dumps(DOCUMENT)
FOREIGN = ("check_class", "family", "informational", "suspects", "provenance")
ODD = (
    *(None, True, 0, -1, 2.5, 10**25, "", "node1", "<undefined>", "a\tb", "\x1b[2J", "µ", "\u202e"),
    *([], {}, [1], ["node9"], [None], {"a": 1}, {"files": 3}, {"files": {"/a": "1"}}, {"nodelist": ["node1", 2]}),
    *([1.5, 2, None, 0, "us"], [True, 2, None, 0, "us", "pass", 7], {"m": [3, 1, None, None, "s"]}),
)
TOKENS = (
    *('"', ",", "{", "}", "[", "]", ":", " ", "\r\n", "null", "true", "0", "-", "1e999", "9" * 400, "NaN", "\x7f"),
    *('"x"', "\\", "\\u00b5", "\\u001b", "\\ud800", "\\u202e", "µ", "\u202e", "<undefined>", '"name": 1,', "[" * 2000),
)


def rows_of(parsed):
    rows = Rows()
    rows.add(parsed, "file", "")
    return repr({name: rows.table().column(name).tolist() for name in SCHEMA})


def fast(text):
    return decoded(text, reader.ReportFacts)


def slow(text):
    return reader.read_slowly(text, "file")


def assert_same(text):
    quick = fast(text)
    if quick is None:
        return
    try:
        whole = slow(text)
    except InputError as err:
        # The one thing that only the whole reader sees; of a key that comes twice the last counts.
        assert "key twice" in str(err)
        return
    if quick.session_info.uuid and quick.session_info.time_start == DOCUMENT["session_info"]["time_start"]:
        assert rows_of(quick) == rows_of(whole)


def places(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


# Without the curves and other evidence, that neither looks at.
PLACES = [
    path
    for path in places(DOCUMENT)
    if path and not (path[:1] == ("runs",) and len(path) > 4 and path[4] not in CaseFacts.__struct_encode_fields__)
]


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(ODD)), min_size=1, max_size=3), st.booleans())
def test_a_value_of_another_type(changes, foreign):
    document = json.loads(TEXT)
    for path, value in changes:
        parent = document
        try:
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has taken its place away
    if foreign and isinstance(document["runs"], list) and document["runs"] == DOCUMENT["runs"]:
        cases_of(document)[1].pop("check_class")
    assert_same(json.dumps(document))


@given(st.integers(0, len(TEXT)), st.integers(0, 40), st.sampled_from(["", *TOKENS]))
def test_damaged_text(start, length, token):
    assert_same(TEXT[:start] + token + TEXT[start + length :])


@pytest.mark.parametrize("key", FOREIGN[1:])
def test_a_foreign_check_may_use_names_of_kappas(key):
    for value in (3, "node/x", ["node9"], {"nodelist": ["node9"]}):
        foreign = {"name": "F", "system": "s", "partition": "cpu", "result": "fail", key: value}
        text = json.dumps(report([latency(), foreign], uuid="night-0"))
        assert_same(text)
        assert rows_of(slow(text)) == rows_of(fast(json.dumps(report([latency()], uuid="night-0"))))


def test_a_recorded_report_is_read_fast():
    assert rows_of(fast(TEXT)) == rows_of(slow(TEXT))


def test_letters_beyond_ascii_do_not_slow_it_down():
    text = json.dumps(report([latency(perfvalues={"embedded:cpu:m": [1, 0, None, None, "µs"]}, hint="2 × 3 → 6")]))
    assert "\\u00b5" in text
    assert rows_of(fast(text)) == rows_of(slow(text))


@given(st.text())
def test_what_counts_as_clean_is_clean(text):
    for escaped in (True, False):
        if is_clean_json(json.dumps(text, ensure_ascii=escaped)):
            assert clean(text) == text


def test_nan_is_read_as_for_a_verdict():
    text = json.dumps(report([latency(value=float("nan"))], uuid="night-0"))
    assert fast(text) is None
    assert "nan" in rows_of(slow(text))
