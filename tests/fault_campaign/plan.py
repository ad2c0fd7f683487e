"""Which fault is put where, and when: random, and the same for the same seed."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

# Number of the first healthy round after the blocks: with more blocks they stay what they are.
FIRST_EXTRA = 1_000_000
# So that a block of fifty kinds is no night's work: healthy rounds are told by their number, not by the kinds.
KINDS_PER_HEALTHY = 4


@dataclass(frozen=True)
class Round:
    """One round: ``kind`` of fault on ``node``, its details drawn from ``seed``; a healthy round has neither."""

    number: int
    kind: str | None
    node: str | None
    seed: int


def make_plan(
    seed: int, rounds_per_kind: int, kinds: Sequence[str], nodes: Sequence[str], more_healthy: int = 0
) -> list[Round]:
    """``rounds_per_kind`` rounds of every kind and a healthy one for each four of these, then ``more_healthy``.

    They come in blocks of one round of each kind and their healthy ones, in random order. So a campaign that ends
    early is balanced, and one of more rounds begins with those of one of fewer.
    """
    plan: list[Round] = []
    for block in range(rounds_per_kind):
        draw = random.Random(f"{seed}/{block}")
        choices = [*kinds, *[None] * math.ceil(len(kinds) / KINDS_PER_HEALTHY)]
        draw.shuffle(choices)
        for kind in choices:
            node = draw.choice(nodes)
            plan.append(Round(len(plan), kind, node if kind else None, draw.randrange(2**32)))
    return plan + [Round(FIRST_EXTRA + number, None, None, 0) for number in range(more_healthy)]
