"""Values as YAML in flow style, on one line, each string so that YAML reads it as that string."""

import json
import re
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z_/][\w./+-]*( [\w./+-]+)*")


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        # `no` and `1e3` are strings only in quotes; what JSON writes is a string of YAML, too.
        plain = _PLAIN.fullmatch(value) and yaml.safe_load(value) == value
        return value if plain else json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)
