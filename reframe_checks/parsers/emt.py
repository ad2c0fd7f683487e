"""Results of ``emt run --result FILE``: one JSON object (``emt_app/schema/result.schema.json``)."""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

#: The file keeps four decimals: half of the last one, and what the arithmetic here adds.
LAST_DIGIT = 0.5e-4 + 1e-9


@dataclass(frozen=True)
class EmtResult:
    """One run; times are microseconds per step.

    ``step_block_p50_us`` is the median over blocks of steps of the slowest rank's mean step; ``kappa_block_p50_us`` is
    the parallelisation cost T - sigma - phi/p at that T (IPST 2023, section II). ``speedup``, ``efficiency`` and
    ``karp_flatt`` (the standard formula; ``None`` with one rank) are at the mean of all steps. In exchange mode
    ``slack`` most steps wait for nobody, so ``step_p50_us``, the median step, tells little.

    ``simulated``: on a simulated machine, whose work phi was injected: no step can be shorter than its heaviest task,
    ``heaviest_task_us``.
    """

    case_hash: str
    checksum: str
    steps: int
    ranks: int
    exchange: str
    sigma_us: float
    phi_us: float
    step_block_p50_us: float
    step_p50_us: float
    step_p99_us: float
    kappa_block_p50_us: float
    imbalance_us: float
    speedup: float
    efficiency: float
    karp_flatt: float | None
    simulated: bool
    heaviest_task_us: float | None


def parse(text: str) -> EmtResult:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a figure
        that contradicts another, or a replay that did not give the recorded solution.
    """
    output = Output.read("emt result", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-emt-result" or record.integer("version") != 1:
        raise record.error("kappa-emt-result, version 1", "format")
    simulated = record.flag("simulated")
    if record.text("phi_by") != ("injected" if simulated else "replay"):
        raise record.error("injected where the machine is simulated, else replay", "phi_by")
    ranks = record.integer("ranks", 1, Quantity.RANKS)
    if simulated and record.text("exchange_by") != ("messages" if ranks > 1 else "nothing"):
        raise record.error("messages, of several simulated ranks", "exchange_by")
    if not simulated and not record.flag("replay_exact"):
        raise record.error("true: the replay that measures phi gave other bits", "replay_exact")
    step, us = record.record("step_us"), Quantity.OPERATION_US
    sigma_us, phi_us = record.number("sigma_us", us, 0), record.number("phi_us", us, 0)
    mean, p50 = step.number("mean", us, 0), step.number("p50", us, 0)
    p99, block_p50, slowest = (step.number(key, us, 0) for key in ("p99", "block_p50", "max"))
    if not (0 < mean <= slowest and 0 < p50 <= p99 and 0 < block_p50 <= slowest):
        raise step.error("0 < mean <= max, 0 < block_p50 <= max and 0 < p50 <= p99")
    for key, step_us, of in (("kappa_us", mean, "mean step time"), ("kappa_block_p50_us", block_p50, "block_p50")):
        if abs(step_us - sigma_us - phi_us / ranks - record.number(key, us)) > LAST_DIGIT * (3 + 1 / ranks):
            raise record.error(f"{of} - sigma - phi / ranks", key)
    speedup, efficiency = record.number("speedup", Quantity.RANKS, 0), record.number("efficiency", Quantity.RANKS, 0)
    rounded_mean = LAST_DIGIT * (1 + (2 + speedup) / mean)
    if abs((sigma_us + phi_us) / mean - speedup) > rounded_mean or abs(speedup / ranks - efficiency) > LAST_DIGIT * (
        1 + 1 / ranks
    ):
        raise record.error("(sigma + phi) / mean step time, and efficiency a rank's share of it", "speedup")
    karp_flatt = record.optional("karp_flatt", lambda key: record.number(key, Quantity.RANKS))
    if (karp_flatt is None) != (ranks == 1):
        raise record.error("a number with two ranks or more, else null", "karp_flatt")
    return EmtResult(
        case_hash=record.text("case_hash"),
        checksum=record.text("checksum"),
        steps=record.integer("steps", 1),
        ranks=ranks,
        exchange=record.text("exchange"),
        sigma_us=sigma_us,
        phi_us=phi_us,
        step_block_p50_us=block_p50,
        step_p50_us=p50,
        step_p99_us=p99,
        kappa_block_p50_us=record.number("kappa_block_p50_us", us),
        imbalance_us=record.number("imbalance_us", us),
        speedup=speedup,
        efficiency=efficiency,
        karp_flatt=karp_flatt,
        simulated=simulated,
        heaviest_task_us=record.number("heaviest_task_us", us, 0) if simulated else None,
    )
