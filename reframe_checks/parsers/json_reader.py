"""Read JSON into msgspec structures: one reader for the suite's own formats, fio's and IOR's.

A structure states types, bounds (``Meta``) and keys; its ``__post_init__`` raises a ``ValueError`` when fields
contradict each other. Structures of the suite's own formats refuse unknown keys.
"""

import json
import math
from collections.abc import Collection
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from msgspec import Meta, Struct
from msgspec.structs import fields

from kappa.core.ground.documents import MisfitError, converted
from reframe_checks.parsers.text import Output, Unit

T = TypeVar("T")

Text = Annotated[str, Meta(min_length=1, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufffd]*$")]
Ranks = Annotated[int, Meta(ge=1, le=int(Unit.RANKS.ceiling))]
Index = Annotated[int, Meta(ge=0, le=int(Unit.RANKS.ceiling))]
Count = Annotated[int, Meta(ge=0, le=int(Unit.COUNT.ceiling))]
Positive = Annotated[int, Meta(ge=1, le=int(Unit.COUNT.ceiling))]
Bytes = Annotated[int, Meta(ge=0, le=int(Unit.BYTES.ceiling))]
Size = Annotated[int, Meta(ge=1, le=int(Unit.BYTES.ceiling))]
Mebibytes = Annotated[int, Meta(ge=1, le=int(Unit.MEMORY_MIB.ceiling))]
Number = Annotated[float, Meta(ge=0, le=Unit.COUNT.ceiling)]
Microseconds = Annotated[float, Meta(gt=0, le=Unit.OPERATION_US.ceiling)]
#: A time that may be 0, as it can be too short for the printed digits.
ShortMicroseconds = Annotated[float, Meta(ge=0, le=Unit.OPERATION_US.ceiling)]
Times = tuple[Microseconds, ...]
Seconds = Annotated[float, Meta(ge=0, le=Unit.RUN_S.ceiling)]
MbPerS = Annotated[float, Meta(gt=0, le=Unit.MB_S.ceiling)]
MibPerS = Annotated[float, Meta(gt=0, le=Unit.MIB_S.ceiling)]
GflopPerS = Annotated[float, Meta(gt=0, le=Unit.GFLOP_S.ceiling)]


class JsonOutput(Struct, frozen=True, kw_only=True):
    """A JSON object that is a program's whole output."""

    @classmethod
    def title(cls) -> str:
        """Return the name in errors: the only ``format`` that a field allows."""
        return _only_value(cls, "format")

    @classmethod
    def read(cls, text: str, **expected: object) -> Self:
        """Return the only JSON object of ``text``.

        :param expected: required values of fields or properties, such as ``ranks=4``.
        :raises ParseError: the text is not one JSON object with these keys, types and bounds; it has a key twice, NaN
            or infinity; it contradicts itself; or a value differs from ``expected``.
        """
        output = Output.read(cls.title(), text)
        return decode(output, range(1, len(output.lines) + 1), cls, **expected)


class OwnDocument(JsonOutput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A structure of one of the suite's own formats, or a part of one."""


class MeasuredRun(OwnDocument, frozen=True, kw_only=True):
    """The run of a measurement; ``mpi``: MPI library; ``simulated``: on a simulated fabric."""

    mpi: Text
    ranks: Ranks
    nodes: Ranks
    simulated: bool

    def __post_init__(self) -> None:
        require(self.nodes <= self.ranks, "nodes: no more nodes than ranks")


class OwnMeasurement(OwnDocument, frozen=True, kw_only=True):
    """The common keys of all subcommands of ``kappa-measure``. Subclasses name their ``subcommand``."""

    program: Literal["kappa-measure"]
    version: Literal[1]
    subcommand: str
    run: MeasuredRun

    @classmethod
    def title(cls) -> str:
        return f"kappa-measure {_only_value(cls, 'subcommand')}"

    @property
    def mpi(self) -> str:
        return self.run.mpi

    @property
    def ranks(self) -> int:
        return self.run.ranks

    @property
    def simulated(self) -> bool:
        return self.run.simulated


class NodeMeasurement(OwnMeasurement, frozen=True, kw_only=True):
    """A measurement with one entry and one rank per node."""

    nodes: tuple[Any, ...]

    def __post_init__(self) -> None:
        require_each_once([one.node for one in self.nodes], "nodes")
        require(len(self.nodes) == self.run.nodes == self.ranks, f"nodes: {self.ranks} nodes, a rank on each")


class OnNodes(OwnDocument, frozen=True, kw_only=True):
    """A document with one entry and one rank per node."""

    ranks: Ranks
    nodes: tuple[Any, ...]

    def __post_init__(self) -> None:
        require_each_once([one.node for one in self.nodes], "nodes")
        require(len(self.nodes) == self.ranks, f"nodes: {self.ranks} nodes")


def _only_value(cls: type[Struct], name: str) -> str:
    return next(str(get_args(one.type)[0]) for one in fields(cls) if one.name == name)


def require(holds: bool, expected: str) -> None:
    """Require a condition; for use in ``__post_init__``.

    :raises ValueError: ``holds`` is false; the text of the error is ``expected``.
    """
    if not holds:
        raise ValueError(expected)


def require_each_once(values: Collection[object], name: str) -> None:
    require(bool(values) and len({*values}) == len(values), f"{name}: one or more, each once")


def decode(output: Output, lines: range, kind: type[T], **expected: object) -> T:
    """Return the JSON object on the given line numbers; see :meth:`JsonOutput.read`."""
    document = _loaded(output, lines)
    try:
        found = converted(document, kind)
    except MisfitError as err:
        keys = [key for key in err.path if isinstance(key, str)]
        misfit = str(err).removeprefix("the document: ").replace(": expected ", ": ", 1)
        raise output.error(_line_of(output, lines, keys[-1] if keys else ""), misfit) from None
    for name, value in expected.items():
        wanted = tuple(value) if isinstance(value, list) else value
        if (actual := getattr(found, name)) != wanted:
            raise output.error(_line_of(output, lines, name), f"{name}: {value}, found {str(actual)[:200]}")
    return found


def _loaded(output: Output, lines: range) -> Any:
    try:
        return json.loads(
            "\n".join(output.lines[lines.start - 1 : lines.stop - 1]),
            object_pairs_hook=_no_repeated_keys, parse_float=_finite, parse_constant=_finite,
        )  # fmt: skip
    except json.JSONDecodeError as err:
        raise output.error(lines.start - 1 + err.lineno, f"valid JSON ({err.msg}, column {err.colno})") from None
    except RecursionError:
        raise output.error(lines.start, "JSON of reasonable depth") from None
    except ValueError as err:
        raise output.error(lines.start, str(err)) from None


def _no_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # fio 3.1 prints the unused places of its list of percentiles.
    pairs = [pair for pair in pairs if pair != ("0.00", 0)]
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


def _line_of(output: Output, lines: range, key: str) -> int:
    """Return the line with ``key`` if exactly one line has it, else the first line."""
    found = [number for number in lines if f'"{key}"' in output.lines[number - 1]]
    return found[0] if len(found) == 1 else lines.start

