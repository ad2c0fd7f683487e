"""Results of ``pattern congestion``: samples of some nodes alone, and beside the load of the others."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from reframe_checks.parsers.patterns import common_facts, pattern_document
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Quantity

VICTIM_PATTERNS = ("latency", "bandwidth", "allreduce")
#: The load that puts nothing on the network.
CONTROL = "compute"


@dataclass(frozen=True)
class Samples:
    """Times of one victims' pattern in us, for each round one tuple: alone, and beside a load."""

    alone_us: tuple[tuple[float, ...], ...]
    beside_us: tuple[tuple[float, ...], ...]

    def impact(self, percent: int = 50) -> float:
        """The time that so many percent do not exceed, beside over alone: GPCNeT's congestion impact factor."""
        return _percentile(chain(*self.beside_us), percent) / _percentile(chain(*self.alone_us), percent)

    def impacts_of_rounds(self) -> tuple[float, ...]:
        """That of the medians of each round."""
        rounds = zip(self.alone_us, self.beside_us, strict=True)
        return tuple(statistics.median(beside) / statistics.median(alone) for alone, beside in rounds)


@dataclass(frozen=True)
class Load:
    """What aggressors did, how often in each round, and the samples of each of ``VICTIM_PATTERNS``."""

    name: str
    operations: tuple[int, ...]
    samples: dict[str, Samples]


@dataclass(frozen=True)
class Congestion:
    mpi: str
    simulated: bool
    ranks: int
    nodes: int
    victims: int
    aggressors: int
    aggressor_bytes: int
    loads: dict[str, Load]

    def above_control(self) -> list[tuple[str, str]]:
        """(load, pattern) where each round's impact is larger than each of the control's."""
        control = self.loads[CONTROL].samples
        return [
            (name, pattern)
            for name, load in self.loads.items()
            for pattern in VICTIM_PATTERNS
            if name != CONTROL
            and min(load.samples[pattern].impacts_of_rounds()) > max(control[pattern].impacts_of_rounds())
        ]


def parse(text: str, *, expect_ranks: int) -> Congestion:
    """
    :raises ParseError: no JSON object of this pattern, format and ranks, a key missing or of another type,
        or figures that contradict each other.
    """
    record = pattern_document(text, "congestion", expect_ranks)
    victims, aggressors = (record.integer(key, 2, Quantity.RANKS) for key in ("victims", "aggressors"))
    if victims + aggressors != expect_ranks:
        raise record.error(f"with the aggressors {expect_ranks} ranks", "victims")
    iterations, rounds = record.integer("iterations", 1), record.integer("rounds", 1)
    loads: dict[str, Load] = {}
    for entry in record.records("loads"):
        load = _load(entry, iterations, rounds)
        if load.name in loads:
            raise entry.error("each load once", "load")
        loads[load.name] = load
    if CONTROL not in loads:
        raise record.error(f"the control {CONTROL} among the loads", "loads")
    sent = record.integer("aggressor_bytes", 1, Quantity.BYTES)
    return Congestion(*common_facts(record), victims, aggressors, sent, loads)


def _load(record: Record, iterations: int, rounds: int) -> Load:
    operations = record.integers("operations")
    if len(operations) != rounds or min(operations) < 1:
        raise record.error(f"at least one operation in each of {rounds} rounds", "operations")
    samples = {pattern: _samples(record.record(pattern), iterations, rounds) for pattern in VICTIM_PATTERNS}
    return Load(record.text("load"), tuple(operations), samples)


def _samples(record: Record, iterations: int, rounds: int) -> Samples:
    alone, beside = (
        record.numbers(key, iterations * rounds, Quantity.OPERATION_US) for key in ("alone_us", "beside_us")
    )
    starts = range(0, iterations * rounds, iterations)
    return Samples(*(tuple(tuple(times[start : start + iterations]) for start in starts) for times in (alone, beside)))


def _percentile(values: Iterable[float], percent: int) -> float:
    """The smallest value that at least so many percent of all do not exceed."""
    ordered = sorted(values)
    return ordered[-(-percent * len(ordered) // 100) - 1]
