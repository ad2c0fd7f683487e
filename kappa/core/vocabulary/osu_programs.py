"""OSU's collectives by kind: those on few ranks, and those of the complete suite without a check of their own."""

# On host and on GPU memory, for comparison.
ON_RANKS = ["osu_bcast", "osu_gather", "osu_reduce"]

BLOCKING = [
    "osu_allgather", "osu_allgatherv", "osu_alltoallv", "osu_alltoallw", "osu_gatherv", "osu_reduce_scatter",
    "osu_reduce_scatter_block", "osu_scatter", "osu_scatterv",
]  # fmt: skip
_KINDS = [
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "gather",
    "gatherv", "reduce", "reduce_scatter", "scatter", "scatterv",
]  # fmt: skip
NON_BLOCKING = [*(f"osu_i{kind}" for kind in _KINDS), "osu_ireduce_scatter_block"]
PERSISTENT = [f"osu_{kind}_persistent" for kind in _KINDS]
_NEIGHBOUR = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"]
NEIGHBOUR = [f"osu_{prefix}neighbor_{kind}" for prefix in ("", "i") for kind in _NEIGHBOUR]


def has_sizes(program: str) -> bool:
    return "barrier" not in program


def reduces(program: str) -> bool:
    return "reduce" in program


def divides_into_blocks(program: str) -> bool:
    return program.endswith("reduce_scatter_block")
