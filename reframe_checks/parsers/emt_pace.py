"""Results of ``emt run --pace real-time``: late steps of each rank (``emt_app/schema/result.schema.json``)."""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class RankPace:
    """Steps of one rank that ended behind their time, in ``episodes`` of steps one after the other.

    ``late_p999_us``: of all steps, those in time being 0 late.
    """

    node: str
    overruns: int
    episodes: int
    late_p999_us: float
    late_worst_us: float


@dataclass(frozen=True)
class EmtPace:
    """``dt_us``: simulated time of a step, and the wall time that it has; ``ranks`` in their order."""

    checksum: str
    dt_us: float
    steps: int
    exchange: str
    ranks: tuple[RankPace, ...]


def parse(text: str) -> EmtPace:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a figure
        that contradicts another, or a run that was ended before its last step.
    """
    output = Output.read("emt result", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-emt-result" or record.integer("version") != 1:
        raise record.error("kappa-emt-result, version 1", "format")
    if record.text("ended_by") != "steps":
        raise record.error("steps: the run was ended before its last one", "ended_by")
    pace, steps = record.record("pace"), record.integer("steps", 1)
    if pace.integer("steps", 1) != steps:
        raise pace.error(f"{steps}, as the run", "steps")
    ranks = [_rank(entry, number, steps) for number, entry in enumerate(pace.records("per_rank"))]
    if not ranks or len(ranks) != record.integer("ranks", 1, Quantity.RANKS):
        raise pace.error("one entry of each rank", "per_rank")
    most = (
        max(rank.overruns for rank in ranks), max(rank.episodes for rank in ranks),
        max(rank.late_p999_us for rank in ranks), max(rank.late_worst_us for rank in ranks),
    )  # fmt: skip
    told = (*(pace.integer(key) for key in ("overruns", "episodes")), *(_late(pace, key) for key in _LATE))
    if told != most:
        raise pace.error(f"overruns, episodes and lateness of the ranks with most, {most}", "per_rank")
    dt_us = record.number("dt_us", Quantity.OPERATION_US, 0)
    mean_us = record.record("step_us").number("mean", Quantity.OPERATION_US, 0)
    # No step ends before its time, and the last one no later than the worst; four decimals are kept.
    if not dt_us * (1 - 1e-3) <= mean_us <= (dt_us + max(rank.late_worst_us for rank in ranks) / steps) * 1.01:
        raise record.error(f"a mean step of its time, found {mean_us} us", "dt_us")
    return EmtPace(record.text("checksum"), dt_us, steps, record.text("exchange"), tuple(ranks))


_LATE = ("late_p999_us", "late_worst_us")


def _late(record: Record, key: str) -> float:
    return record.number(key, Quantity.OPERATION_US, 0)


def _rank(record: Record, number: int, steps: int) -> RankPace:
    if record.integer("rank") != number:
        raise record.error(f"{number}: ranks in their order", "rank")
    overruns, episodes = record.integer("overruns"), record.integer("episodes")
    if overruns + record.integer("in_time") != steps:
        raise record.error(f"with the steps in time {steps}", "overruns")
    p999, worst = (_late(record, key) for key in _LATE)
    if not (episodes <= overruns and (episodes > 0) == (overruns > 0) == (worst > 0) and p999 <= worst):
        raise record.error("episodes and lateness of as many overruns", "episodes")
    return RankPace(record.text("node"), overruns, episodes, p999, worst)
