"""The README's catalogue of checks is made from the checks, and is up to date."""

import pathlib

import pytest

from reframe_checks.base import catalogue
from reframe_checks.base.census import declared_checks

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def test_readme_is_up_to_date():
    cases = catalogue.described_cases()
    assert {case["@class"] for case in cases} == set(declared_checks())
    text = README.read_text(encoding="utf-8")
    assert catalogue.with_table(text, catalogue.as_markdown(catalogue.rows(cases))) == text, "run `make catalogue`"


def test_cases_of_a_class_share_a_row():
    common = {"@class": "A", "family": "f/a", "descr": "d", "needs_partition": ["p"], "needs_environ": ["x|y"]}
    table = catalogue.rows(
        [{**common, "metric_units": {"m": "us"}}, {**common, "metric_units": {"n": ""}, "needs_partition": ["q"]}]
    )
    assert table == [("`A`", "d", "`m` us, `n`", "`p`, `q`", "`x|y`")]
    assert r"`x\|y`" in catalogue.as_markdown(table)


@pytest.mark.parametrize("text", ["", catalogue.BEGIN + "\n", catalogue.END])
def test_missing_marker_is_an_error(text):
    with pytest.raises(ValueError, match="expected the lines"):
        catalogue.with_table(text, "")
