"""The one table of storage targets.

A partition that has one lists its feature, and gives its path in ``extras: {storage: {TARGET: PATH}}``. When all its
nodes see the same files there, it also lists ``parallel_TARGET``: only then jobs of several nodes use it. A Lustre
target has ``extras: {lustre: {TARGET: {stripe_count: N, stripe_size: BYTES}}}``, -1 being all object storage targets;
one that also states how many ``osts`` on how many ``servers`` it has is swept target by target.
"""

from collections.abc import Mapping
from typing import Any

# Target -> feature of a partition that has it.
STORAGE_TARGETS = {target: f"storage_{target}" for target in ("scratch", "shared", "lustre_hdd", "lustre_ssd", "nvme")}

# What each node has to itself; the others may be `parallel`.
OF_ONE_NODE = ("scratch", "nvme")


def parallel(target: str) -> str:
    """The feature of a partition whose nodes share the files of ``target``."""
    return f"parallel_{target}"


def swept(target: str) -> str | None:
    """The feature of a partition that states the object storage targets of ``target``; a node's own has none."""
    return None if target in OF_ONE_NODE else f"osts_{target}"


def stated_folder(extras: Mapping[str, Any], target: str) -> str | None:
    """The site's path of ``target`` if it is an absolute one: others could read as an option, of ``find`` even."""
    path = extras.get("storage", {}).get(target)
    return path if str(path).startswith("/") else None
