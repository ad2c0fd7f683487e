"""Which object storage targets a Lustre file system has, and which server each is on.

``lfs osts PATH`` and ``lctl get_param osc.*.ost_conn_uuid`` (Lustre Operations Manual, "Identifying OSTs", "lctl
get_param"): a line ``0: NAME-OST0000_UUID ACTIVE`` for each target, whose name repeats the index in hexadecimal digits,
and one ``osc.NAME-OST0000-osc-ffff….ost_conn_uuid=NID`` for each, the address of the server that it is reached by.
"""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import Output

_TITLE = re.compile(r"OBDS::?")
_TARGET = re.compile(r"([0-9]{1,5}): ([A-Za-z0-9_.]{1,8}-OST([0-9a-f]{4}))_UUID (ACTIVE|INACTIVE)\s*")
_NID = r"[\w.:-]{1,60}@[a-z0-9]{1,20}"
_SERVER = re.compile(rf"osc\.([A-Za-z0-9_.]{{1,8}}-OST[0-9a-f]{{4}})-osc-\w{{1,40}}\.ost_conn_uuid=({_NID})")
_INDEX = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True)
class Target:
    index: int
    name: str
    active: bool


def targets(text: str) -> tuple[Target, ...]:
    """
    :raises ParseError: no title or target; a line that is no target; one twice; an index that its name contradicts.
    """
    output = Output.read("lfs osts", text)
    output.one(_TITLE, "the title `OBDS:`")
    found: dict[int, Target] = {}
    for number, line in enumerate(output.lines, start=1):
        if not line.strip() or _TITLE.fullmatch(line):
            continue
        match = _TARGET.fullmatch(line)
        if not match or int(match[1]) != int(match[3], 16) or int(match[1]) in found:
            raise output.error(number, "`INDEX: NAME-OSTxxxx_UUID ACTIVE`, each target once, xxxx being its index")
        found[int(match[1])] = Target(int(match[1]), match[2], match[4] == "ACTIVE")
    if not found:
        raise output.missing("a target")
    if len({target.name.partition("-")[0] for target in found.values()}) != 1:
        raise output.missing("targets of one file system")
    return tuple(sorted(found.values(), key=lambda target: target.index))


def servers(text: str) -> dict[str, str]:
    """Name of each target of all that are mounted -> address (NID) of its server.

    :raises ParseError: a line that is none of these; a target on two servers, which two mounts would agree on.
    """
    output = Output.read("lctl get_param", text)
    found: dict[str, str] = {}
    for number, line in enumerate(output.lines, start=1):
        match = _SERVER.fullmatch(line)
        if not match or found.setdefault(match[1], match[2]) != match[2]:
            raise output.error(number, "`osc.NAME-OSTxxxx-osc-….ost_conn_uuid=NID`, each target on one server")
    return found


def index(text: str) -> int:
    """Of ``lfs getstripe --stripe-index FILE``: the target that holds the first stripe; errors as of the others."""
    output = Output.read("lfs getstripe", text)
    _, match = output.one(_INDEX, "the index of a target")
    return int(match[0])
