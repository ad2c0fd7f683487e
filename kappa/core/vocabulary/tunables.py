"""The variables that a site may set for a check: ``tunable = {VARIABLE: Tunable(TYPE, UNIT, MEANING)}`` in its class.

A site sets a variable for a partition with ``tuning: {CLASS: {VARIABLE: VALUE}}``. ``make docs`` writes the
tunables of all classes into ``checks.json``.
"""

from typing import Any, Literal, NamedTuple

TYPES: dict[str, Any] = {
    "whole number": int,
    "number": int | float,
    "yes or no": bool,
    "text": str,
    "auto or message": Literal["auto", "message"],
    "whole numbers": list[int],
    "numbers": list[int | float],
    "text, or one for each scale": str | dict[str, str],
}


class Tunable(NamedTuple):
    """``type`` is a key of ``TYPES``; ``unit`` is empty for counts and for values without a unit."""

    type: str
    unit: str
    meaning: str
