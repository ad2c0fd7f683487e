"""JSON that is invalid or does not fit its structure is refused with line and key."""

from typing import Literal

import pytest

from reframe_checks.parsers.json_reader import Count, MbPerS, OwnDocument, Text, require
from reframe_checks.parsers.text import ParseError


class Part(OwnDocument, frozen=True):
    rate: MbPerS | None = None
    name: Text = "x"


class Report(OwnDocument, frozen=True):
    format: Literal["kappa-report"] = "kappa-report"
    a: Count = 0
    low: Count = 0
    part: Part = Part()
    parts: tuple[Part, ...] = ()

    def __post_init__(self):
        require(self.low <= self.a, "low: at most a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1', "kappa-report, line 1: expected valid JSON"),
        ('{\n"a": 1,\n"b": }', "kappa-report, line 3: expected valid JSON"),
        ('{"a": NaN}', "a finite number, found NaN"),
        ('{"a": -Infinity}', "a finite number, found -Infinity"),
        ('{"a": 1e999}', "a finite number, found 1e999"),
        ('{"a": 1, "a": 2}', "key 'a' once only"),
        ('{"a": 1} {"a": 2}', "valid JSON .Extra data"),
        ("[1]", "object"),
        ('{"a": ' + "[" * 50_000 + "}", "JSON of reasonable depth"),
        ('{"a": ' + "9" * 50_000 + "}", "limit"),
        ('{"format": "other"}', "format: kappa-report, found 'other'"),
        ('{\n"format": "kappa-report",\n"a": true}', "kappa-report, line 3: expected a: integer, found True"),
        ('{"a": 1.5}', "a: integer"),
        ('{"a": -1}', "a: integer >= 0"),
        ('{"a": 1' + "0" * 30 + "}", "a: integer <= 1000000000000000"),
        ('{"part": {"rate": 2e9}}', r"part\.rate: number <= 1000000000"),
        ('{"part": {"rate": 0}}', r"part\.rate: number > 0"),
        ('{"part": {"rate": "1"}}', r"part\.rate: number or null"),
        ('{"part": {"rate": 1' + "0" * 400 + "}}", r"part\.rate: "),
        ('{"parts": [{}, {"name": ""}]}', r"parts\[1\]\.name: "),
        (r'{"part": {"name": "\u0007"}}', r"part\.name: "),
        ('{"part": {"nam": "x"}}', r"part\.nam: unknown key"),
        ('{"a": 1, "low": 2}', "low: at most a"),
    ],
)
def test_what_does_not_fit_is_named(text, message):
    with pytest.raises(ParseError, match=message):
        Report.read(text + "\n")


def test_another_run_than_expected_is_refused():
    assert Report.read('{"a": 3}\n', a=3).a == 3
    with pytest.raises(ParseError, match="line 2: expected a: 4, found 3"):
        Report.read('{\n"a": 3}\n', a=4)
