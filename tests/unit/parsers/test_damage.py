"""Output that was damaged in many lines, or at random, gives an error, or figures that the output really holds.

One line or one figure at a time: ``test_mutation.py``. Here, of everything in a result read from damaged text, each
value is the one read from the whole text, or it stands on a line that the damage has changed; and as many values are
there as before. So a figure is never made from pieces of two lines, taken from the wrong line, or left out.
Undetectable, and so not claimed: a digit that becomes another digit, where no second figure depends on it; what a
program prints or not (``may_vanish``); and two whole lines of equal key exchanged (``exchangeable``: tables of one
message size behind one another, the same networks on several nodes). In fio's JSON of several jobs that would be so,
too (one job is used here).
"""

import pytest
from hypothesis import HealthCheck, given, settings

from reframe_checks.parsers.text import MAX_LINE_CHARS, ParseError
from tests.tiers import few_or_many
from tests.unit.parsers.cases import CASES
from tests.unit.parsers.damage import damaged, is_written, leaves


@few_or_many("examples", 50, 150)
@pytest.mark.parametrize("name", CASES)
def test_damaged_output(recorded, name, examples):
    case = CASES[name]
    whole = recorded(case.file)
    expected = dict(leaves(case.parse(whole)))

    @given(damaged(whole))
    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )  # fmt: skip
    def gives_an_error_or_what_it_holds(text):
        try:
            found = dict(leaves(case.parse(text)))
        except ParseError as err:
            assert "expected" in str(err)
            return
        lines = set(text.splitlines())
        changed = sorted(lines if case.exchangeable else lines - set(whole.splitlines()))
        assert len(found) == len(expected)
        for path, value in found.items():
            vanished = value is None and path in case.may_vanish
            if path not in expected or (value != expected[path] and not vanished):
                assert is_written(value, changed, case.scales), f"{path} = {value} stands on no changed line: {changed}"

    gives_an_error_or_what_it_holds()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\x7fELF\x02\x01\x01\x00\xff" * 20,
        "{}\n",
        "0" * 20_000_000,
        (("# OSU " + "a " * MAX_LINE_CHARS)[: MAX_LINE_CHARS - 1] + "\n") * 3,
        (" " * MAX_LINE_CHARS + "\n") * 3 + "x\n",
        ("fio: " + "err" * (MAX_LINE_CHARS // 4) + "\n") * 3,
        ("W" + "R1" * (MAX_LINE_CHARS // 4) + " " * (MAX_LINE_CHARS // 4) + "\n") * 3,
        ("[" * MAX_LINE_CHARS + "\n") * 3,
    ],
    ids=["empty", "blank", "binary", "other JSON", "one long line", "title", "spaces", "fio", "row", "brackets"],
)
def test_anything_else_is_an_error(name, text):
    with pytest.raises(ParseError):
        CASES[name].parse(text)
