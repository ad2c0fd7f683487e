"""Output that was damaged in many lines, or at random, gives an error, or figures that the output really holds.

One line or one figure at a time: ``test_mutation.py``. Here, of everything in a result read from damaged text, each
value is the one read from the whole text, or it stands on a line that the damage has changed; and as many values are
there as before. So a figure is never made from pieces of two lines, taken from the wrong line, or left out.
Undetectable, and so not claimed: a digit that becomes another digit, where no second figure depends on it; what a
program prints or not (``may_vanish``); and two whole lines of equal key exchanged (``exchangeable``: tables of one
message size behind one another, the same networks on several nodes). In fio's JSON of several jobs that would be so,
too (one job is used here).

Damage is made from the case's name and a number, and from nothing else, so that every run on every machine repeats it.
"""

import hashlib

import pytest

from kappa.core.ground.clean_text import clean
from reframe_checks.parsers.text import MAX_LINE_CHARS, ParseError
from tests.tiers import few_or_many
from tests.unit.parsers.cases import CASES
from tests.unit.parsers.damage import damaged, is_written, leaves
from tests.unit.parsers.misread import renamed, without_indices


@few_or_many("seeds", 50, 1000)
@pytest.mark.parametrize("name", CASES)
def test_damaged_output(recorded, name, seeds):
    case = CASES[name]
    whole = recorded(case.file)
    expected = dict(leaves(case.parse(whole)))
    for seed in range(seeds):
        text, damage = damaged(whole, f"{name} {seed}")
        try:
            found = renamed(dict(leaves(case.parse(text))), expected)
        except ParseError as err:
            assert "expected" in str(err)
            continue
        told = f"seed {seed}, {damage}"
        # Control characters are refused, but for the underlines of what a program says of GPUs.
        lines = clean(text).splitlines()
        changed = sorted(set(lines) - set(whole.splitlines()))
        assert len(found) == len(expected), told
        for path, value in found.items():
            vanished = value in (None, False) and path in case.may_vanish
            if path in expected and (value == expected[path] or vanished):
                continue
            where = lines if without_indices(path) in case.exchangeable else changed
            assert is_written(value, where, case.scales), (
                f"{told}: {path} = {value} stands on no changed line: {changed}"
            )


def test_damage_is_the_same_in_every_run():
    text = "".join(f"line {number}\n" for number in range(10))
    digest = hashlib.sha256("".join(damaged(text, f"any {seed}")[0] for seed in range(100)).encode()).hexdigest()
    assert digest == "3d6a699e41563e5d3b7b8d86943bb8297280eb947e76b3549f189d3ce0c364cf"


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
