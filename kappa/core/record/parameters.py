"""The parameters of a case, as its display name shows them, and those that ReFrame's options add.

``--distribute``, ``--repeat`` and ``-P`` make new cases with a parameter more each, ``%.nid=node1`` for instance, after
the selection by ``-n``: a case of theirs can only be selected by what it was made of.
"""

import hashlib
from collections.abc import Iterable

_SEPARATOR = " %"
_NODE, _PARTITION, _REPEAT = ".nid=", ".part=", ".repeat_no="


def own_parameters(name: str) -> dict[str, str]:
    """The parameters in a case's name: what is recorded of them where reports lack them."""
    _, *parameters = name.split(_SEPARATOR)
    pairs = (parameter.partition("=") for parameter in parameters if not parameter.startswith("."))
    return {key: value for key, _, value in pairs}


def added_parameters(display_name: str) -> tuple[str, ...]:
    """What was added to the case; empty for one that was run as it is in the suite."""
    _, *parameters = display_name.split(_SEPARATOR)
    return tuple(parameter for parameter in parameters if parameter.startswith("."))


def pinned_node(added: tuple[str, ...]) -> str:
    """The node that ``--distribute`` put the case on, else empty."""
    return next((parameter.removeprefix(_NODE) for parameter in added if parameter.startswith(_NODE)), "")


def changing_parameters(parameters: Iterable[str]) -> list[str]:
    """Without those that make the same case run elsewhere, or again."""
    return [parameter for parameter in parameters if not parameter.startswith((_NODE, _PARTITION, _REPEAT))]


def hash_without_added(display_name: str) -> str:
    """The hash code of the case that this one was made of; empty when ``-P`` made it measure something else.

    It is the start of the SHA-256 of the name and the sorted parameters (ReFrame 4.10, ``RegressionTest.hashcode``).
    """
    name, *parameters = display_name.split(_SEPARATOR)
    own = changing_parameters(parameters)
    if any(parameter.startswith(".") for parameter in own):
        return ""
    return hashlib.sha256("".join([name, *sorted(own)]).encode(errors="replace")).hexdigest()[:8]
