"""Parse records of ``scontrol show`` (``Key=Value``, with or without ``--oneliner``) and lists of nodes."""

import re
from collections.abc import Sequence

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import expand_nodes

# A value may contain blanks, for instance the reason of a drained node. A key never does.
_KEY = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_:/]*)=")
# The reason is free text. Slurm appends the user and the time.
_REASON = re.compile(r"(?<=\sReason=).*?\[[^\]\s]+@\d{4}-\d\d-\d\dT[\d:]+\]")
#: scontrol's words for an empty value.
NOTHING = ("(null)", "N/A", "n/a", "None", "NONE", "")


class SurveyError(InputError):
    """An answer of the cluster cannot be read. The message has the command, the line and the expected format."""


def records(text: str, command: str, first: str) -> list[dict[str, str]]:
    """Return the records of a text. Each begins with the key ``first``. The first value of a repeated key counts.

    An indented line continues the record above, as scontrol prints without ``--oneliner``. A line without any key is
    ignored: scontrol prints one if there are no records.

    :raises SurveyError: a line has keys but does not begin with ``first``.
    """
    found = []
    for number, line in _joined(clean(text).splitlines()):
        said = _REASON.search(line)
        keys = [key for key in _KEY.finditer(line) if not said or not said.start() <= key.start() < said.end()]
        if not keys:
            continue
        if keys[0][1] != first:
            raise SurveyError(
                f"`{command}`: line {number}: expected a record that begins with {first}=, found {one_line(line, 80)!r}"
            )
        ends = [*(key.start() for key in keys[1:]), len(line)]
        record: dict[str, str] = {}
        for key, end in zip(keys, ends, strict=True):
            record.setdefault(key[1], line[key.end() : end].strip())
        found.append(record)
    return found


def _joined(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Join the lines of each record, with the number of its first line. A record may contain blank lines."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if line[:1].isspace() and found:
            first, above = found.pop()
            found.append((first, f"{above.rstrip()} {line.strip()}"))
        else:
            found.append((number, line))
    return found


def whole(record: dict[str, str], key: str, command: str) -> int:
    """Return a number of the record.

    :raises SurveyError: the record has no such number.
    """
    said = record.get(key, "")
    if not said.isdecimal():
        name = next(iter(record.values()), "")
        raise SurveyError(f"`{command}`: {name}: expected {key}=NUMBER, found {one_line(said, 40) or 'nothing'!r}")
    return int(said)


def listed(said: str | None) -> tuple[str, ...]:
    """Split a list at its commas, but not inside parentheses or brackets."""
    if said is None or said in NOTHING:
        return ()
    return tuple(word for word in re.split(r",(?![^(\[]*[)\]])", said) if word)


def whole_or(record: dict[str, str], key: str, otherwise: int) -> int:
    """Return a number of the record, or ``otherwise`` if the key is missing or no number."""
    said = record.get(key, "")
    return int(said) if said.isdecimal() else otherwise


def node_names(said: str, command: str) -> tuple[str, ...]:
    """Return every node of a list in Slurm's format, for instance ``r[1-2]n[01-16],login``.

    :raises SurveyError: it is no such list.
    """
    if said in NOTHING:
        return ()
    try:
        return tuple(expand_nodes(said))
    except ValueError as err:
        raise SurveyError(f"`{command}`: {err}") from None
