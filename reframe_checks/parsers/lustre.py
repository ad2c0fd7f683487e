"""Parse Lustre's layouts and object storage targets (Operations Manual, "Identifying OSTs", "lctl get_param").

- ``lfs getstripe --directory``: the layout of new files in a folder. With ``--stripe-index``: the target of a file.
- ``lfs osts PATH``: a line ``0: NAME-OST0000_UUID ACTIVE`` for each target. The name repeats the index in hexadecimal
  digits.
- ``lctl get_param osc.*.ost_conn_uuid``: a line ``osc.NAME-OST0000-osc-ffff….ost_conn_uuid=NID`` for each target. NID
  is the address of the target's server.
"""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import Output

_PAIR = re.compile(r"(stripe_count|stripe_size|pattern|stripe_offset):\s*(\S+)")
_WHOLE = re.compile(r"-1|\d{1,15}")
_TITLE = re.compile(r"OBDS::?")
_TARGET = re.compile(r"([0-9]{1,5}): ([A-Za-z0-9_.-]{1,8}-OST([0-9a-f]{4}))_UUID (ACTIVE|INACTIVE)\s*")
_NID = r"[\w.:-]{1,60}@[a-z0-9]{1,20}"
_SERVER = re.compile(rf"osc\.([A-Za-z0-9_.-]{{1,8}}-OST[0-9a-f]{{4}})-osc-\w{{1,40}}\.ost_conn_uuid=({_NID})")
_INDEX = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True)
class StripeLayout:
    """``stripe_count`` -1 means all object storage targets."""

    stripe_count: int
    stripe_size_bytes: int


def layout(text: str) -> StripeLayout:
    """Parse the plain layout of one folder.

    :raises ParseError: a key is missing, repeated or no whole number; several folders; a composite layout.
    """
    output = Output.read("lfs getstripe", text)
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(output.lines, start=1):
        if line.lstrip().startswith("lcm_"):
            raise output.error(number, "a plain layout, found a composite one")
        for key, value in _PAIR.findall(line):
            if key in found:
                raise output.error(number, f"{key} once")
            found[key] = number, value
    figures = {}
    for key in ("stripe_count", "stripe_size"):
        if key not in found:
            raise output.missing(key)
        number, value = found[key]
        if not _WHOLE.fullmatch(value):
            raise output.error(number, f"{key} as a whole number, found {value!r}")
        figures[key] = int(value)
    if figures["stripe_size"] <= 0 or figures["stripe_count"] == 0:
        raise output.missing("a positive stripe size and a stripe count other than 0")
    return StripeLayout(figures["stripe_count"], figures["stripe_size"])


@dataclass(frozen=True)
class OstTarget:
    index: int
    name: str
    active: bool


def targets(text: str) -> tuple[OstTarget, ...]:
    """Parse the targets of ``lfs osts``.

    :raises ParseError: no title or target; a line that is no target; a target twice; index and name disagree.
    """
    output = Output.read("lfs osts", text)
    output.one(_TITLE, "the title `OBDS:`")
    found: dict[int, OstTarget] = {}
    for number, line in enumerate(output.lines, start=1):
        if not line.strip() or _TITLE.fullmatch(line):
            continue
        match = _TARGET.fullmatch(line)
        if not match or int(match[1]) != int(match[3], 16) or int(match[1]) in found:
            raise output.error(number, "`INDEX: NAME-OSTxxxx_UUID ACTIVE`, each target once, xxxx being its index")
        found[int(match[1])] = OstTarget(int(match[1]), match[2], match[4] == "ACTIVE")
    if not found:
        raise output.missing("a target")
    if len({target.name.rpartition("-")[0] for target in found.values()}) != 1:
        raise output.missing("targets of one file system")
    return tuple(sorted(found.values(), key=lambda target: target.index))


def servers(text: str) -> dict[str, str]:
    """Parse the servers of all mounted targets: name of the target -> address (NID) of its server.

    :raises ParseError: a line has another form, or a target is on two servers (two mounts would agree).
    """
    output = Output.read("lctl get_param", text)
    found: dict[str, str] = {}
    for number, line in enumerate(output.lines, start=1):
        match = _SERVER.fullmatch(line)
        if not match or found.setdefault(match[1], match[2]) != match[2]:
            raise output.error(number, "`osc.NAME-OSTxxxx-osc-….ost_conn_uuid=NID`, each target on one server")
    return found


def index(text: str) -> int:
    """Parse the output of ``lfs getstripe --stripe-index FILE``: the index of the target with the first stripe."""
    output = Output.read("lfs getstripe", text)
    _, match = output.one(_INDEX, "the index of a target")
    return int(match[0])
