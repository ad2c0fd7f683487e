"""Find cores whose bits differ from all other cores', or from the recorded bits for their instruction set.

Bits are equal or not, so there is no noise and no limit. Cores are compared with cores of the same basis (the
instruction set or library that the bits of a work depend on).
"""

import itertools
import json
import pathlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.record.evidence import Finding
from reframe_checks.parsers.core_programs import CoreBits

#: Work -> basis -> the digest of each variant.
Golden = Mapping[str, Mapping[str, Sequence[str]]]

GOLDEN_FILE = pathlib.Path(__file__).parent / "golden_bits.json"


@dataclass(frozen=True)
class Judgement:
    """The result of the comparison.

    ``findings`` name cores, one finding for each node and work. ``unplaced`` has the problems without a known place.
    ``golden`` has the works that were compared with a recorded value.
    """

    findings: tuple[Finding, ...]
    unplaced: tuple[str, ...]
    golden: frozenset[str]


def golden_bits() -> Golden:
    """Return the recorded values; the file describes how they were made."""
    bits: Golden = json.loads(GOLDEN_FILE.read_text(encoding="utf-8"))["digests"]
    return bits


def judge(bits: Iterable[CoreBits], variant: int, golden: Golden) -> Judgement:
    """Compare the bits of all cores.

    The right value is the recorded one if some core has it; else the value of more than half of the cores; else
    unknown.
    """
    findings: list[Finding] = []
    unplaced = []
    compared = set()
    for (work, basis), group in itertools.groupby(sorted(bits, key=_kind), key=_kind):
        cores = list(group)
        on_record = golden.get(work, {}).get(basis, [])
        expected = on_record[variant] if variant < len(on_record) else None
        right = _right(cores, expected)
        if expected is not None:
            compared.add(work)
        if right is None:
            unplaced.append(f"{work}: {len(cores)} cores ({basis}) disagree, and the right value is unknown")
            continue
        if expected not in (None, right):
            unplaced.append(f"{work}: most cores ({basis}) have {right}, the recorded value is {expected}")
        elif expected is None and len(cores) == 1:
            only = f"core {cores[0].core} of {cores[0].node}"
            unplaced.append(f"{work}: {only} is the only core with {basis}, so no other core can be compared")
        findings += _wrong(work, cores, right)
    return Judgement(tuple(findings), tuple(unplaced), frozenset(compared))


def _kind(bits: CoreBits) -> tuple[str, str]:
    return bits.work, bits.basis


def _right(cores: Sequence[CoreBits], expected: str | None) -> str | None:
    if any(digest == expected for core in cores for digest, _ in core.rounds):
        return expected
    votes = Counter(core.rounds[0][0] for core in cores if len(core.rounds) == 1)
    digest, count = max(votes.items(), key=lambda vote: vote[1], default=("", 0))
    return digest if 2 * count > len(cores) else None


def _wrong(work: str, cores: Sequence[CoreBits], right: str) -> list[Finding]:
    of_node: dict[str, list[str]] = {}
    worst: Counter[str] = Counter()
    for core in cores:
        rounds = sum(count for _, count in core.rounds)
        wrong = sum(count for digest, count in core.rounds if digest != right)
        if wrong:
            of_node.setdefault(core.node, []).append(f"core {core.core} in {wrong} of {rounds} rounds")
            worst[core.node] += wrong
    return [
        Finding("node", node, (node,), f"bits of {work}", float(worst[node]), None, ", ".join(told))
        for node, told in of_node.items()
    ]
