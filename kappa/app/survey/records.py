"""Records of ``scontrol show``: ``Key=Value``, on one line each (``--oneliner``) or on several, and lists of nodes."""

import re
from collections.abc import Sequence

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError

# A value may hold blanks, as the reason of a drained node; a key never does.
_KEY = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_:/]*)=")
# Who drained a node may have written anything; Slurm puts the user and the time behind it.
_REASON = re.compile(r"(?<=\sReason=).*?\[[^\]\s]+@\d{4}-\d\d-\d\dT[\d:]+\]")
#: What scontrol writes for nothing.
NOTHING = ("(null)", "N/A", "n/a", "None", "NONE", "")


class SurveyError(InputError):
    """What a cluster says cannot be read; names the command, the line and what was expected."""


def records(text: str, command: str, first: str) -> list[dict[str, str]]:
    """Return the records of a text, each a line that begins with ``first``; of a key that is there twice the first.

    An indented line goes on with the record above it, as scontrol writes without ``--oneliner``. Others without
    ``first`` are passed over when they hold no key at all: scontrol then says that there is nothing.

    :raises SurveyError: a line has keys and does not begin with ``first``.
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
    """Each record on one line, with the number of its first; scontrol writes blank lines within a record, too."""
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
    """:raises SurveyError: the record has no such number."""
    said = record.get(key, "")
    if not said.isdecimal():
        name = next(iter(record.values()), "")
        raise SurveyError(f"`{command}`: {name}: expected {key}=NUMBER, found {one_line(said, 40) or 'nothing'!r}")
    return int(said)


def listed(said: str | None) -> tuple[str, ...]:
    """The words of a list with commas, none of them in parentheses or brackets."""
    if said is None or said in NOTHING:
        return ()
    return tuple(word for word in re.split(r",(?![^(\[]*[)\]])", said) if word)


def whole_or(record: dict[str, str], key: str, otherwise: int) -> int:
    """Return a number of the record, or ``otherwise`` where the key is not there or no number."""
    said = record.get(key, "")
    return int(said) if said.isdecimal() else otherwise


def node_names(said: str, command: str) -> tuple[str, ...]:
    """Every node of a list as Slurm writes them: ``r[1-2]n[01-16],login``.

    :raises SurveyError: it is none.
    """
    if said in NOTHING:
        return ()
    try:
        return tuple(NodeSet(said, resolver=RESOLVER_NOGROUP))
    except NodeSetException as err:
        raise SurveyError(f"`{command}`: expected a list of nodes, found {one_line(said, 80)!r}: {err}") from None
