"""What the suite's own MPI programs write alike: a JSON object with its format, what was measured, ranks and nodes."""

from collections.abc import Sequence

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

VERSION = 1


def document(text: str, program: str, key: str, name: str, expect_ranks: int) -> Record:
    """The result of ``program`` that says of ``key`` that it is ``name``, on so many ranks.

    :raises ParseError: it is no JSON object, or another one.
    """
    output = Output.read(f"{program} {name}", text)
    record = Record.parse(output, 1, len(output.lines))
    file_format = f"kappa-{program.replace('_', '-')}"
    if record.text("format") != file_format or record.integer("version") != VERSION:
        raise record.error(f"{file_format}, version {VERSION}", "format")
    if record.text(key) != name:
        raise record.error(f"the {key} {name}", key)
    if record.integer("ranks", 2, Quantity.RANKS) != expect_ranks:
        raise record.error(f"{expect_ranks} ranks", "ranks")
    return record


def ranks_and_nodes(record: Record) -> tuple[int, int]:
    ranks, nodes = record.integer("ranks"), record.integer("nodes", 1, Quantity.RANKS)
    if nodes > ranks:
        raise record.error("no more nodes than ranks", "nodes")
    return ranks, nodes


def one_of(record: Record, key: str, choices: Sequence[str]) -> str:
    if (value := record.text(key)) not in choices:
        raise record.error(" or ".join(choices), key)
    return value
