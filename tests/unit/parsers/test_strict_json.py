import pytest

from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


def read(text):
    output = Output.read("report", text + "\n")
    return Record.parse(output, 1, len(output.lines))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1', "report, line 1: expected valid JSON"),
        ('{\n"a": 1,\n"b": }', "report, line 3: expected valid JSON"),
        ('{"a": NaN}', "a finite number, found NaN"),
        ('{"a": -Infinity}', "a finite number, found -Infinity"),
        ('{"a": 1e999}', "a finite number, found 1e999"),
        ('{"a": 1, "a": 2}', "key 'a' once only"),
        ('{"a": 1} {"a": 2}', "valid JSON .Extra data"),
        ("[1]", "an object"),
        ('{"a": ' + "[" * 50_000 + "}", "JSON of reasonable depth"),
        ('{"a": ' + "9" * 50_000 + "}", "limit"),
    ],
)
def test_text_that_is_no_sound_json(text, message):
    with pytest.raises(ParseError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("text", "get", "message"),
    [
        ("{}", lambda record: record.integer("a"), "a: a value, found no such key"),
        ('{"a": true}', lambda record: record.integer("a"), "a: an integer, at least 0"),
        ('{"a": 1.5}', lambda record: record.integer("a"), "a: an integer"),
        ('{"a": -1}', lambda record: record.integer("a"), "a: an integer, at least 0"),
        ('{"a": "1"}', lambda record: record.number("a", Quantity.RUN_S), "a: a number"),
        ('{"a": 1' + "0" * 400 + "}", lambda record: record.number("a", Quantity.RUN_S), "a: a number"),
        ('{"a": -1}', lambda record: record.number("a", Quantity.RUN_S, 0), "a: a number, at least 0"),
        ('{"a": 4e7}', lambda record: record.number("a", Quantity.RUN_S), "a: a number, .* at most 32000000 s"),
        ('{"a": 1' + "0" * 30 + "}", lambda record: record.integer("a"), "a: an integer, .* at most 1e.15"),
        ('{"a": [1, 2e9]}', lambda record: record.numbers("a", 2, Quantity.MB_S), "at most 1000000000 MB/s"),
        ('{"a": [1, 1' + "0" * 30 + "]}", lambda record: record.integers("a"), "none negative or above 1e.15"),
        ('{"a": ""}', lambda record: record.text("a"), "a: a text"),
        (r'{"a": "\u0007"}', lambda record: record.text("a"), "a: a text"),
        ('{"a": 1}', lambda record: record.flag("a"), "a: true or false"),
        ('{"a": 1}', lambda record: record.records("a"), "a: a list"),
        ('{"a": [{}, 1]}', lambda record: record.records("a"), r"a\[1\]: an object"),
        ('{"a": ["x", ""]}', lambda record: record.texts("a"), "a: a list of texts"),
        ('{"a": [1, -1]}', lambda record: record.integers("a"), "a: a list of integers"),
        ('{"a": [1, 0]}', lambda record: record.numbers("a", 2, Quantity.MB_S), "a: a list of 2 numbers above 0"),
        ('{"a": [1]}', lambda record: record.numbers("a", 2, Quantity.MB_S), "a: a list of 2 numbers above 0"),
        ('{"a": [[1, 2], [3]]}', lambda record: record.matrix("a", 2, 2, Quantity.MB_S), "a: 2 lists of 2 numbers"),
        ('{"a": [[1, true]]}', lambda record: record.matrix("a", 1, 2, Quantity.MB_S), "a: 1 lists of 2 numbers"),
        ('{"a": [[1, 1]]}', lambda record: record.pairs("a"), "a: lists of two integers"),
        ('{"a": {"b": null}}', lambda record: record.record("a").text("b"), r"a\.b: a text"),
    ],
)
def test_values_of_the_wrong_type(text, get, message):
    with pytest.raises(ParseError, match=message):
        get(read(text))


@pytest.mark.parametrize(
    ("key", "line"), [("once", 2), ("twice", 1), ("missing", 1)], ids=["on its line", "on two lines", "on none"]
)
def test_the_line_is_named_where_there_is_one(key, line):
    record = read('{\n"once": "1",\n"twice": "1",\n"a": {"twice": 2}}')
    with pytest.raises(ParseError, match=f"report, line {line}: expected {key}: "):
        record.integer(key)


def test_values_of_the_right_type():
    record = read('{"i": 3, "f": 1.5, "t": "x", "b": false, "n": null, "r": [{"i": 0}]}')
    assert (record.integer("i"), record.number("f", Quantity.RUN_S), record.text("t"), record.flag("b")) == (
        3,
        1.5,
        "x",
        False,
    )
    assert record.number("i", Quantity.RUN_S) == 3.0
    assert record.optional("n", record.text) is None
    assert record.optional("t", record.text) == "x"
    assert record.records("r")[0].integer("i") == 0


def test_lists_of_the_right_type():
    record = read('{"t": ["x", "y"], "i": [0, 2], "n": [1, 2.5], "m": [[null, 1], [2, null]], "p": [[0, 1]]}')
    assert (record.texts("t"), record.integers("i"), record.numbers("n", 2, Quantity.MB_S)) == (
        ["x", "y"],
        [0, 2],
        [1.0, 2.5],
    )
    assert record.matrix("m", 2, 2, Quantity.MB_S) == [[None, 1.0], [2.0, None]]
    assert record.pairs("p") == [(0, 1)]
