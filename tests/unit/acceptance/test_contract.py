"""Contracts: accepted ones, and errors that name the file, the line and the expectation."""

import os
import pathlib

import pytest
import yaml

from kappa.core.ground.documents import SIZE_LIMIT
from kappa.core.ground.errors import InputError
from reports.acceptance.contract import load_contract
from tests.unit.acceptance.conftest import clause, contract
from tests.unit.reports.samples import REPOSITORY

GOOD = """\
contract:
  title: Test
  system: embedded
  date: 2026-11-21
  parties: {buyer: B, vendor: V}
clauses:
  - id: B1
    text: fast
    selector: {check: OsuLatency, metric: latency_8B, parameters: {placement: two_nodes}}
    statistic: median
    comparison: at_most
    threshold: {value: 10, unit: us}
    repeats: 3
    mandatory: true
"""


# A soft hyphen, joiners, fillers, a selector of a variant, a tag, an invisible operator, a non-character.
INVISIBLE = "\xad\u034f\u115f\u180e\u200b\u200d\u2063\u2800\u3164\ufe0f\ufffe\U000e0041\U000e0100"


@pytest.mark.parametrize("site", sorted((REPOSITORY / "site_configs").glob("*/acceptance.yaml")), ids=str)
def test_contracts_of_the_sites_are_valid(site: pathlib.Path):
    loaded = load_contract(site)
    assert loaded.system == site.parent.name
    assert all(clause.source for clause in loaded.clauses)


def test_clauses_of_the_embedded_site_hold_with_spack_environments_installed():
    """Each that is installed runs the same checks, so that only the environment's name makes a selector one series."""
    loaded = load_contract(REPOSITORY / "site_configs/embedded/acceptance.yaml")
    assert {clause.selector.environment for clause in loaded.clauses} == {"packaged"}


def test_contract_has_its_values(load):
    loaded = load(GOOD)
    assert loaded.parties == {"buyer": "B", "vendor": "V"}
    only = loaded.clauses[0]
    assert (only.threshold, only.unit, only.limit) == (10, "us", "≤ 10 us")
    assert only.selector.parameters == {"placement": "two_nodes"}
    assert (only.holds(10), only.holds(10.01)) == (True, False)


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("repeats: 3", "repeats: three", 13, "expected integer, found 'three'"),
        ("repeats: 3", "repeats: 0", 13, "expected integer >= 1, found 0"),
        ("median", "mean", 10, "expected median, minimum, maximum, {percentile: NUMBER}"),
        ("median", "{percentile: 100}", 10, "statistic"),
        ("at_most", "less", 11, "expected at_least or at_most, found 'less'"),
        ("    text: fast\n", "", 7, "'text' is a required property"),
        ("mandatory: true", "mandatory: true\n    tolerance: 3", 15, "unknown key 'tolerance': did you mean 'source'?"),
        ("value: 10", "value: .nan", 12, "expected a finite number"),
        ("value: 10", "value: 1e1", 12, "expected a finite number, found '1e1'"),
        ("2026-11-21", "2026-13-01", 4, "expected a date of the calendar"),
        ("2026-11-21", "yesterday", 4, "expected a date of the calendar as YYYY-MM-DD"),
        ("check: OsuLatency, ", "", 9, "expected either check or family"),
        ("system: embedded", "system: ../embedded", 3, "system"),
        ("  title: Test\n", "  title: Test\n  title: Other\n", 3, "expected each key once, and as text; found 'title'"),
        ("parties: {buyer: B, vendor: V}", "parties: &p {buyer: B}\n  mode: *p", 6, "found the alias *p"),
        ("id: B1", "id: B1: C", 7, "mapping values are not allowed"),
        ("value: 10", f"value: {'9' * 400}", 12, "expected a number of at most 100 characters"),
        ("value: 10", f"value: 0x{'f' * 9000}", 12, "expected a number of at most 100 characters"),
        ("value: 10", "value: 0x_", 12, "expected a valid int, found '0x_'"),
        ("value: 10", "value: !!int ''", 12, "expected a valid int, found ''"),
        ("value: 10", "value: !!bool maybe", 12, "expected a valid bool, found 'maybe'"),
        ("value: 10", "value: !!timestamp never", 12, "expected a valid timestamp, found 'never'"),
        ("repeats: 3", "repeats: 3.0", 13, "expected integer, found 3.0"),
        ("median", "{every_node: 2.0}", 10, "every_node: expected integer or null, found 2.0"),
        ("median", "{percentile: .nan}", 10, "percentile: expected a finite number"),
        ("unit: us", 'unit: "\\e[31mus\\0"', 12, "expected no control or invisible characters"),
        ("unit: us", 'unit: "us\\n"', 12, "expected one line without blanks at its ends"),
        ("text: fast", 'text: "\\u202efast"', 8, "expected no control or invisible characters"),
        ("check: OsuLatency", 'check: "OsuLatency\\n"', 9, "expected one line without blanks at its ends"),
        ("placement: two_nodes", '"\\a": two_nodes', 9, "expected no control or invisible characters"),
        ("placement: two_nodes", 'placement: "two_nodes "', 9, "expected one line without blanks at its ends"),
        ("system: embedded", 'system: "embedded\\n"', 3, "expected letters, digits, '.', '_' and '-', found 'embedded"),
        ("id: B1", 'id: "B1\\n"', 7, "expected at most 40 letters, digits, '.', '_' and '-'"),
        ("2026-11-21", '"2026-11-21\\n"', 4, "expected a date of the calendar as YYYY-MM-DD"),
        ("text: fast", 'text: " "', 8, "expected some text"),
        ("text: fast", "text: fast\x1b", 8, "expected no control or invisible characters, found '\\x1b'"),
        ("text: fast", "text: fast # \u202etsaf", 8, "expected no control or invisible characters, found '\\u202e'"),
        ("text: fast", "text: fast\u2028    mandatory: false", 8, "invisible characters, found '\\u2028'"),
        *(("text: fast", f"text: fa{char}st", 8, "expected no control or invisible characters") for char in INVISIBLE),
        *(("text: fast", f'text: "fa\\U{ord(char):08x}st"', 8, "invisible characters") for char in INVISIBLE),
        ("value: 10", "value: 0100", 12, 'found 0100, which YAML 1.1 and 1.2 read differently: write 64, or "0100"'),
        ("value: 10", "value: 1:30", 12, "found 1:30, which YAML 1.1 and 1.2 read differently: write 90"),
        ("value: 10", "value: 1:30.5", 12, "found 1:30.5, which"),
        ("value: 10", "value: 0b11", 12, "found 0b11, which"),
        ("value: 10", "value: 1_0", 12, "found 1_0, which"),
        ("value: 10", "value: 1_0.5", 12, "found 1_0.5, which"),
        ("value: 10", "value: !!int '010'", 12, "found 010, which"),
        ("repeats: 3", "repeats: 03", 13, "found 03, which"),
        ("mandatory: true", "mandatory: yes", 14, "found yes, which YAML 1.1 and 1.2 read differently: write true"),
        ("mandatory: true", "mandatory: Off", 14, "found Off, which"),
        ("{buyer: B, vendor: V}", "{buyer: no, vendor: V}", 5, 'found no, which YAML 1.1 and 1.2 read differently'),
        ("text: fast", "text: fast\udcff", 8, "expected UTF-8"),
        ("text: fast", f"text: {'[' * 100_000}", 8, "nested too deeply"),
        ("text: fast", "text: !!python/object/apply:os.system [true]", 8, "could not determine a constructor"),
    ],
)  # fmt: skip
def test_error_names_its_line(load, old, new, line, problem):
    assert old in GOOD
    with pytest.raises(InputError, match=rf"acceptance\.yaml: line {line}: ") as error:
        load(GOOD.replace(old, new, 1))
    assert problem in str(error.value)


def test_ids_occur_once(load):
    with pytest.raises(InputError, match="B1: expected each id once"):
        load(yaml.safe_dump(contract(clause(), clause())))


def test_alias_bomb_is_refused(load):
    bomb = "a0: &a0 [x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    with pytest.raises(InputError, match=r"line 2: .*alias"):
        load(bomb)


def test_large_contract_is_refused(load):
    with pytest.raises(InputError, match=f"larger than {SIZE_LIMIT:,} bytes"):
        load("#" * (SIZE_LIMIT + 1))


def test_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "acceptance.yaml")
    with pytest.raises(InputError, match="not a regular file"):
        load_contract(tmp_path / "acceptance.yaml")


@pytest.mark.parametrize(
    ("text", "value"), [("4_000", 4000), ("0x1f", 31), ("-7", -7), ("1.5e+3", 1500), ("010.5", 10.5)]
)
def test_number_that_all_readers_of_yaml_take_alike_is_read(load, text, value):
    assert load(GOOD.replace("value: 10", f"value: {text}")).clauses[0].threshold == value


def test_text_in_quotes_is_text(load):
    assert load(GOOD.replace("{buyer: B,", "{buyer: 'no',")).parties["buyer"] == "no"


def test_byte_order_mark_of_an_editor_is_accepted(load):
    assert load(f"\ufeff{GOOD}") == load(GOOD)
