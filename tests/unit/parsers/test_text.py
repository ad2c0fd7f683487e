import re

import pytest

from reframe_checks.parsers.text import MAX_LINE_CHARS, Output, ParseError, Unit


def test_lines_without_their_ends():
    assert Output.read("output", "a\n\tb\n").lines == ("a", "\tb")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "output, line 1: expected output, found none"),
        ("\n \n", "found none"),
        ("one\ntwo", "output, line 2: expected a line end: the output is cut off here; found 'two'"),
        ("one\nt\0wo\n", r"output, line 2: .* without control characters; found 't\N{REPLACEMENT CHARACTER}wo'"),
        ("one\r\n", "line 1: expected line ends of Unix"),
        ("0: one\n1: two\n", "line 1: expected lines without the label of `srun --label`"),
        ("[1,0]<stdout>:one\n", "line 1: expected lines without the tag of `mpirun --tag-output`"),
        ("\x1b[31mred\n", "without control characters"),
        ("caf\N{REPLACEMENT CHARACTER}\n", "without control characters"),
        ("one\x85two\n", "without control characters"),
        ("x" * (MAX_LINE_CHARS + 1) + "\n", f"a line of at most {MAX_LINE_CHARS} characters; found 'xxx"),
    ],
)
def test_text_that_is_no_whole_output(text, message):
    with pytest.raises(ParseError, match=message.replace("[", r"\[")):
        Output.read("output", text)


def test_a_long_line_is_shown_shortened():
    with pytest.raises(ParseError) as caught:
        Output.read("output", "x" * 50_000_000)
    assert len(str(caught.value)) < 300


def test_the_only_line_that_matches():
    output = Output.read("output", "a 1\nb 2\na 3\n")
    assert output.one(re.compile("b (.)"), "b")[0] == 2
    assert output.one(re.compile("a (.)"), "a", within=range(2, 4))[0] == 3
    with pytest.raises(ParseError, match=r"line 3: expected a once only \(also on line 1\); found 'a 3'"):
        output.one(re.compile("a (.)"), "a")
    with pytest.raises(ParseError, match="line 4: expected c; found ''"):
        output.one(re.compile("c"), "c")


@pytest.mark.parametrize("token", ["0", "0.00", "1e999", "nan", "inf", "-1", "32000000.1"])
def test_numbers_that_cannot_be_a_measurement(token):
    output = Output.read("output", token + "\n")
    with pytest.raises(ParseError, match=f"line 1: expected time above 0 and at most 32000000 s, found {token}"):
        output.positive(1, "time", token, Unit.RUN_S)


@pytest.mark.parametrize("token", ["0", "100000001", "9" * 18])
def test_integers_that_cannot_be_one(token):
    output = Output.read("output", token + "\n")
    with pytest.raises(
        ParseError, match=f"threads above 0 and at most 100000000 of ranks, cores or nodes, found {token}"
    ):
        output.positive_integer(1, "threads", token, Unit.RANKS)


def test_the_ceiling_is_below_what_the_form_of_an_integer_allows():
    # Operations are never printed as an integer.
    assert all(quantity.ceiling < 10**18 for quantity in set(Unit) - {Unit.OPERATIONS})


def test_the_error_is_a_value_error():
    assert issubclass(ParseError, ValueError)
    assert "line 3" in str(ParseError("output", "more", text="a\nb\n", line=3))
