"""Faults of a node that computes, remembers or receives other bits than it should, as fast as ever."""

import contextlib
import random
from collections.abc import Iterator

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import Kind, preloaded


@contextlib.contextmanager
def wrong_arithmetic(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    with preloaded(cluster, node, "wrong_rounding.c", "-lm"):
        yield "rounds towards zero"


@contextlib.contextmanager
def flipping_memory(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    period_ms = draw.randrange(1, 11)
    with preloaded(cluster, node, "flipping_memory.c", f"-DPERIOD_MS={period_ms}", "-pthread"):
        yield f"a bit every {period_ms} ms"


@contextlib.contextmanager
def wrong_payload(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    every = draw.randrange(3, 10)
    with preloaded(cluster, node, "wrong_payload.c", f"-DEVERY={every}"):
        yield f"a bit in one of {every} large reads"


KINDS = (
    Kind("wrong arithmetic", False, "floating-point results are off in the last bit", wrong_arithmetic, preloads=True),
    Kind(
        "flipping memory",
        False,
        "a bit of `kappa-measure bits`' memory flips every 1–10 ms",
        flipping_memory,
        preloads=True,
    ),
    Kind(
        "wrong payload",
        False,
        "one of 3–9 large pieces of messages arrives with a flipped bit",
        wrong_payload,
        preloads=True,
    ),
)
