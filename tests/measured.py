"""Results of ``kappa-measure`` that are made up."""

from collections.abc import Mapping
from typing import Any


def measured(subcommand: str, own: Mapping[str, object], *, ranks: int, nodes: int) -> dict[str, Any]:
    """A document with the figures ``own``, of a run that was none."""
    run = {"mpi": "made up", "ranks": ranks, "nodes": nodes, "simulated": False}
    return {"program": "kappa-measure", "version": 1, "subcommand": subcommand, "run": run, **own}
