"""Synthetic results of ``kappa-measure``."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

EACH_WAY = 256 << 20


def measured(subcommand: str, own: Mapping[str, object], *, ranks: int, nodes: int) -> dict[str, Any]:
    """A document with the figures ``own``, of a run that was none."""
    run = {"mpi": "made up", "ranks": ranks, "nodes": nodes, "simulated": False}
    return {"program": "kappa-measure", "version": 1, "subcommand": subcommand, "run": run, **own}


def ring_traffic(
    ends: Sequence[Any], mb_s: Callable[[Any, Any], float], told: Callable[[Any], Mapping[str, object]]
) -> str:
    """Text of a ring over ``ends``, one rank on each: ``mb_s(sender, receiver)``, and what the rank at an end told."""
    nodes = []
    for rank, end in enumerate(ends):
        rates = {side: mb_s(ends[(rank + step) % len(ends)], end) for side, step in (("before", -1), ("next", 1))}
        nodes.append(
            {
                "rank": rank, **told(end),
                **{f"from_{side}_MBps": rate for side, rate in rates.items()},
                **{f"from_{side}_s": EACH_WAY / 1e6 / rate for side, rate in rates.items()},
            }
        )  # fmt: skip
    figures = {"bytes": 2 * EACH_WAY, "bytes_each_way": EACH_WAY, "nodes": nodes}
    return json.dumps(measured("ring-traffic", figures, ranks=len(ends), nodes=len(ends)), indent=0) + "\n"
