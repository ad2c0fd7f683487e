"""JSON without its loose ends: no NaN, no infinity, no key twice; and typed access that says what is wrong where."""

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.text import Output, Quantity

T = TypeVar("T")


def _no_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} once only")
    return record


def _finite(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise ValueError(f"a finite number, found {token[:40]}")
    return value


class Record:
    """A JSON object; ``lines`` are those of its document, ``where`` is its path. Getters raise :class:`ParseError`."""

    def __init__(self, output: Output, lines: range, value: object, where: str) -> None:
        self._output = output
        self._lines = lines
        self._where = where
        if not isinstance(value, dict):
            raise self.error("an object {…}")
        self._values: dict[str, object] = value

    @classmethod
    def parse(cls, output: Output, first: int, last: int) -> "Record":
        """The one object on the lines ``first`` to ``last`` of ``output``."""
        try:
            value = json.loads(
                "\n".join(output.lines[first - 1 : last]),
                object_pairs_hook=_no_repeated_keys,
                parse_float=_finite,
                parse_constant=_finite,
            )
        except json.JSONDecodeError as err:
            raise output.error(first - 1 + err.lineno, f"valid JSON ({err.msg}, column {err.colno})") from None
        except RecursionError:
            raise output.error(first, "JSON of reasonable depth") from None
        except ValueError as err:
            raise output.error(first, str(err)) from None
        return cls(output, range(first, last + 1), value, "")

    def error(self, expected: str, key: str = "") -> ParseError:
        """What is wrong at ``key``, or with the object; with the line if one alone has that key, else the first."""
        where = ".".join(part for part in (self._where, key) if part)
        name = f'"{key or self._where.rpartition(".")[2]}"'
        lines = [number for number in self._lines if name in self._output.lines[number - 1]]
        line = lines[0] if len(lines) == 1 else self._lines[0]
        return self._output.error(line, f"{where}: {expected}" if where else expected)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def _value(self, key: str) -> object:
        if key not in self._values:
            raise self.error("a value, found no such key", key)
        return self._values[key]

    def text(self, key: str) -> str:
        value = self._value(key)
        if not isinstance(value, str) or not value or not value.isprintable():
            raise self.error("a text", key)
        return value

    def integer(self, key: str, minimum: int = 0, quantity: Quantity = Quantity.COUNT) -> int:
        value = self._value(key)
        if type(value) is not int or not minimum <= value <= quantity.ceiling:
            raise self.error(f"an integer, at least {minimum} and at most {quantity}", key)
        return value

    def number(self, key: str, quantity: Quantity, minimum: float | None = None) -> float:
        """``minimum``: minus what ``quantity`` can be, if not given."""
        value = self._value(key)
        least = -quantity.ceiling if minimum is None else minimum
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= quantity.ceiling:
            raise self.error(f"a number, at least {least:g} and at most {quantity}", key)
        return float(value)

    def fact(self, key: str) -> "int | float | str | bool | list[str] | None":
        """A number, a text, which may be empty, a list of texts, true, false or null."""
        value = self._value(key)
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return value
        if value is None or isinstance(value, (int, float, str)):
            return value
        raise self.error("a number, a text, a list of texts, true, false or null", key)

    def flag(self, key: str) -> bool:
        value = self._value(key)
        if not isinstance(value, bool):
            raise self.error("true or false", key)
        return value

    def optional(self, key: str, read: Callable[[str], T]) -> T | None:
        """``read(key)``, or ``None`` where the key is there and null."""
        return None if self._value(key) is None else read(key)

    def record(self, key: str) -> "Record":
        return Record(self._output, self._lines, self._value(key), f"{self._where}.{key}".lstrip("."))

    def records(self, key: str) -> "list[Record]":
        value = self._list(key)
        where = f"{self._where}.{key}".lstrip(".")
        return [Record(self._output, self._lines, entry, f"{where}[{index}]") for index, entry in enumerate(value)]

    def lists_of_records(self, key: str) -> "list[list[Record]]":
        values = self._list(key)
        where = f"{self._where}.{key}".lstrip(".")
        if not all(isinstance(value, list) for value in values):
            raise self.error("a list of lists", key)
        return [
            [Record(self._output, self._lines, entry, f"{where}[{row}][{place}]") for place, entry in enumerate(value)]
            for row, value in enumerate(values)
        ]

    def texts(self, key: str) -> list[str]:
        values = self._list(key)
        if not all(isinstance(value, str) and value and value.isprintable() for value in values):
            raise self.error("a list of texts", key)
        return values

    def integers(self, key: str, quantity: Quantity = Quantity.COUNT) -> list[int]:
        values = self._list(key)
        if not all(_is_index(value, quantity) for value in values):
            raise self.error(f"a list of integers, none negative or above {quantity}", key)
        return values

    def numbers(self, key: str, length: int, quantity: Quantity) -> list[float]:
        """``length`` numbers above 0."""
        values = self._list(key)
        if len(values) != length or not all(_is_positive(value, quantity) for value in values):
            raise self.error(f"a list of {length} numbers above 0 and at most {quantity}", key)
        return [float(value) for value in values]

    def matrix(self, key: str, rows: int, columns: int, quantity: Quantity) -> list[list[float | None]]:
        """``rows`` lists of ``columns`` numbers above 0 or nulls."""
        values = self._list(key)
        if len(values) != rows or not all(_is_row(row, columns, quantity) for row in values):
            raise self.error(f"{rows} lists of {columns} numbers above 0 and at most {quantity}, or nulls", key)
        return [[None if value is None else float(value) for value in row] for row in values]

    def pairs(self, key: str) -> list[tuple[int, int]]:
        """Lists of two integers each, the smaller first, none negative."""
        values = self._list(key)
        if not all(_is_pair(value) for value in values):
            raise self.error("lists of two integers, the smaller first", key)
        return [(first, second) for first, second in values]

    def ordered_pairs(self, key: str, below: int) -> list[tuple[int, int]]:
        """Lists of two integers each, none negative, all below ``below``."""
        values = self._list(key)
        if not all(
            isinstance(value, list) and len(value) == 2 and all(_is_index(each) and each < below for each in value)
            for value in values
        ):
            raise self.error(f"lists of two integers below {below}", key)
        return [(first, second) for first, second in values]

    def _list(self, key: str) -> list[Any]:
        value = self._value(key)
        if not isinstance(value, list):
            raise self.error("a list", key)
        return value


def _is_index(value: object, quantity: Quantity = Quantity.COUNT) -> bool:
    return type(value) is int and 0 <= value <= quantity.ceiling


def _is_positive(value: object, quantity: Quantity) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= quantity.ceiling


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_index, value)) and value[0] < value[1]


def _is_row(row: object, columns: int, quantity: Quantity) -> bool:
    return (
        isinstance(row, list)
        and len(row) == columns
        and all(value is None or _is_positive(value, quantity) for value in row)
    )
