"""A fabric as the text of its file."""

from typing import Any

import msgspec
import yaml

from kappa.core.fabrics.schema import Fabric


def fabric_yaml(fabric: Fabric, heading: str) -> str:
    """What ``load_fabric`` reads as the same fabric; ``heading`` is its comment."""
    document = _stated(msgspec.to_builtins(fabric))
    document["topology"] = {"shape": fabric.shape, **document["topology"]}
    body = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    return "".join(f"# {line}\n" for line in heading.splitlines()) + body


def _stated(value: Any) -> Any:
    """Without what is left to its default, as a person would write it."""
    if not isinstance(value, dict):
        return value
    return {key: _stated(inner) for key, inner in value.items() if inner not in (None, {}, []) and _stated(inner) != {}}
