"""Parse records of ``scontrol show`` (``Key=Value``, with or without ``--oneliner``) and lists of nodes."""

import re
from collections.abc import Mapping, Sequence

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import expand_nodes

# A value may contain blanks, for instance the reason of a drained node. A key never does.
_KEY = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_:/]*)=")
# The reason is free text. Slurm appends the user and the time.
_REASON = re.compile(r"(?<=\sReason=).*?\[[^\]\s]+@\d{4}-\d\d-\d\dT[\d:]+\]")
#: scontrol's word for no limit.
UNLIMITED = "UNLIMITED"
_NUMBER = re.compile(r"[0-9]{1,15}")
_DURATION = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")
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


def odd_value(record: Mapping[str, str], key: str, command: str, expected: str) -> SurveyError:
    """Return the error for a value of the record, whose first key is the kind and the name of its subject."""
    kind, name = next(iter(record.items()))
    subject = f"{kind.removesuffix('Name').lower()} {one_line(name, 80)}"
    value = one_line(record.get(key, ""), 40)
    return SurveyError(f"`{command}`: {subject}: {key}: expected {expected}, found {value!r}")


def required(record: Mapping[str, str], key: str, command: str) -> str:
    """Return a value of the record.

    :raises SurveyError: the record has no such value, or it is empty.
    """
    if not record.get(key):
        raise odd_value(record, key, command, "a word")
    return record[key]


def whole(
    record: Mapping[str, str], key: str, command: str, missing: int | None = None, expected: str = "a whole number"
) -> int:
    """Return a number of the record, or ``missing``, if given, without the key.

    :raises SurveyError: the record has another value.
    """
    if missing is not None and key not in record:
        return missing
    if not _NUMBER.fullmatch(record.get(key, "")):
        raise odd_value(record, key, command, expected)
    return int(record[key])


def limit(record: Mapping[str, str], key: str, command: str) -> int | None:
    """Return a limit; ``None`` for UNLIMITED, for 0, and without the key.

    :raises SurveyError: the record has another value.
    """
    if record.get(key) == UNLIMITED:
        return None
    return whole(record, key, command, 0, f"a whole number or {UNLIMITED}") or None


def duration(record: Mapping[str, str], key: str, command: str) -> int | None:
    """Return a duration such as ``1-12:00:00``, ``12:00:00`` or ``30:00`` in seconds.

    ``None`` for UNLIMITED and without the key.

    :raises SurveyError: the record has another value.
    """
    if record.get(key, UNLIMITED) == UNLIMITED:
        return None
    match = _DURATION.fullmatch(record[key])
    if not match:
        raise odd_value(record, key, command, f"a duration such as 1-12:00:00, or {UNLIMITED}")
    days, *rest = (int(part) if part is not None else None for part in match.groups())
    parts = [part for part in rest if part is not None]
    # After days, the first number is hours. One or two numbers alone are minutes and seconds.
    hours, minutes, seconds = [*parts, 0, 0, 0][:3] if days is not None or len(parts) == 3 else [0, *parts, 0][:3]
    return ((days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds


def listed(said: str | None) -> tuple[str, ...]:
    """Split a list at its commas, but not inside parentheses or brackets."""
    if said is None or said in NOTHING:
        return ()
    return tuple(word for word in re.split(r",(?![^(\[]*[)\]])", said) if word)


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
