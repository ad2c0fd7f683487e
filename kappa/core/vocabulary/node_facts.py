"""What a site may state about facts of its nodes, which ``kappa.node.table`` lists.

A site may state the expected value of any fact (``node_facts`` of a partition). Then Kappa compares with this value,
not with most nodes.
"""

import fnmatch
from collections.abc import Collection

import msgspec

Value = int | float | str | bool | list[str] | None

# A kind of state that not every machine has -> the facts that report it.
KINDS_OF_STATE = {
    "InfiniBand": ("ib.*",),
    "PCIe links": ("pcie.*",),
    "memory errors (EDAC)": ("error.memory_corrected", "error.memory_uncorrected"),
    "machine checks": ("error.machine_checks",),
    "throttling": ("power.*_throttled",),
    "power (RAPL)": ("power.package_w",),
    "power (Slurm)": ("slurm.power_w",),
}


class Bound(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A site's limits for a number. For any other type a site states the value itself."""

    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: Value) -> bool:
        if not isinstance(value, int | float):
            return False
        too_low = self.at_least is not None and value < self.at_least
        return not too_low and not (self.at_most is not None and value > self.at_most)

    def __str__(self) -> str:
        stated = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{word} {number:g}" for word, number in stated if number is not None)


def kinds_not_told(told: Collection[str]) -> list[str]:
    """Return the kinds of state that no node reports; ``told`` are the names of the reported facts."""
    return [
        kind
        for kind, patterns in KINDS_OF_STATE.items()
        if not any(fnmatch.filter(told, pattern) for pattern in patterns)
    ]
