"""How often the reliability clause errs, by simulation: histories with a known MTBF, written as outage logs and judged.

The code that judges a contract judges them, too. Run as a module: ``python -m tests.outage_simulation``.
"""

import argparse
import datetime
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from reports.acceptance.campaign import CONTRACT, Campaign
from reports.acceptance.judge import ClauseOutcome, judge
from reports.acceptance.outage_log import Draft, writing

# Thirty days and five interrupts at 10 % and 10 %.
LEAST_H, PROMISED_H, RISK, LENGTH_H = 77.64, 228.5, 0.1, 720.0
# 99.9 % of binomials of 1,000 at 10 % lie within.
CENTRAL = 0.999
PARTIES = ("buyer", "vendor")
_BEGIN = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
_REPAIR_H = 2.0

Uptimes = Callable[[np.random.Generator, float], list[float]]


def steady(rng: np.random.Generator, mtbf: float) -> list[float]:
    """Uptimes in hours before each failure: a Poisson process."""
    return list(rng.exponential(mtbf, _enough(mtbf)))


def young(rng: np.random.Generator, mtbf: float) -> list[float]:
    """Failures that are early: Weibull of shape 0.7 with the same mean, from a fresh start."""
    scale = mtbf / float(special.gamma(1 + 1 / 0.7))
    return list(scale * rng.weibull(0.7, _enough(mtbf)))


def ageing(rng: np.random.Generator, mtbf: float) -> list[float]:
    """Failures that come ever faster: a power law of exponent 1.5 with the same number in the length of the test."""
    count = LENGTH_H / mtbf
    moments = LENGTH_H * (np.cumsum(rng.exponential(1.0, _enough(mtbf))) / count) ** (1 / 1.5)
    return list(np.diff(moments, prepend=0.0))


def bursts(rng: np.random.Generator, mtbf: float) -> list[float]:
    """Each failure repeats within half an hour with a probability of 0.3, again and again."""
    found: list[float] = []
    for uptime in rng.exponential(mtbf, _enough(mtbf)):
        found.append(float(uptime))
        while rng.random() < 0.3:
            found.append(float(rng.uniform(0.05, 0.3)))
    return found


def _enough(mtbf: float) -> int:
    return round(20 + 4 * LENGTH_H / mtbf)


def history(folder: pathlib.Path, uptimes: list[float], rng: np.random.Generator, short_repairs: bool) -> Campaign:
    """Write a campaign in which the system fails after each of ``uptimes``, until the test is over for certain."""
    drafts = [Draft(by="vendor", source="hand", what="begin", start=_BEGIN)]
    up = now = 0.0
    # Repairs of minutes, so that a burst begins within the hour in which it is one interrupt.
    mean_h = 0.1 if short_repairs else _REPAIR_H
    for uptime in uptimes:
        up, now = up + uptime, now + uptime
        if up > LENGTH_H + 1:
            break
        repair = max(0.1, float(rng.lognormal(np.log(mean_h) - 0.5, 1.0)))
        drafts.append(
            Draft(by="kappa", source="simulated", what="system_interrupt", start=_at(now), end=_at(now + repair),
                  cause="hardware", attribution="vendor")
        )  # fmt: skip
        now += repair
    drafts.append(Draft(by="kappa", source="simulated", what="observed", start=_BEGIN, end=_at(now + LENGTH_H)))
    ids = tuple(str(number + 1) for number in range(len(drafts) - 1))
    drafts += [Draft(by=party, source="hand", what="agreement", about=ids) for party in PARTIES]
    folder.mkdir()
    (folder / CONTRACT).write_text(contract_text(3600), encoding="utf-8")
    with writing(folder) as log:
        log.append(drafts, _at(now + LENGTH_H).timestamp())
    return Campaign(folder)


def _at(hours: float) -> datetime.datetime:
    return _BEGIN + datetime.timedelta(seconds=round(hours * 3600))


def contract_text(merge_s: int) -> str:
    return f"""\
contract:
  title: Simulated
  system: simulated
  date: 2026-12-01
  parties: {{buyer: B, vendor: V}}
  observation: {{nodes: "n[1-8]", least_nodes: 8, longer_than_s: 0, merge_s: {merge_s}}}
clauses:
  - id: R
    text: It breaks seldom.
    reliability: {{of: system, promised_h: {PROMISED_H}, least_h: {LEAST_H}, buyer_risk: {RISK}, vendor_risk: {RISK}}}
    mandatory: true
"""


@dataclass(frozen=True)
class SimulatedRow:
    """``wrong``: good machines rejected, or bad ones accepted, of ``histories``; ``bounds`` where a test asks so."""

    name: str
    mtbf_h: float
    wrong: int
    histories: int
    bounds: tuple[int, int] | None

    @property
    def holds(self) -> bool:
        return self.bounds is None or self.bounds[0] <= self.wrong <= self.bounds[1]


def simulate(name: str, uptimes: Uptimes, good: bool, count: int, seed: int, merge_s: int = 3600) -> SimulatedRow:
    """Judge ``count`` histories of a machine just as good as promised, or just too bad.

    :raises AssertionError: a history came to no verdict.
    """
    mtbf = PROMISED_H if good else LEAST_H
    rng = np.random.default_rng([seed, good])
    wrong = 0
    # In memory: a log that is written waits for the disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None) as scratch:
        for number in range(count):
            campaign = history(pathlib.Path(scratch, str(number)), uptimes(rng, mtbf), rng, uptimes is bursts)
            if merge_s != 3600:
                (campaign.folder / CONTRACT).write_text(contract_text(merge_s), encoding="utf-8")
            outcome = judge(campaign).clauses[0].outcome
            assert outcome in (ClauseOutcome.MET, ClauseOutcome.NOT_MET), (name, number, outcome)
            wrong += (outcome is ClauseOutcome.MET) is not good
    low, high = stats.binom.interval(CENTRAL, count, RISK)
    bounds = (int(low), int(high)) if uptimes is steady else None
    return SimulatedRow(name, mtbf, wrong, count, bounds)


def table(count: int, seed: int) -> list[SimulatedRow]:
    """All rows: those that a test asks for, and those that state what the test does not stand."""
    return [
        simulate("steady, just as promised: rejected", steady, True, count, seed),
        simulate("steady, just too bad: accepted", steady, False, count, seed),
        simulate("early failures (Weibull 0.7), as promised: rejected", young, True, count, seed),
        simulate("early failures (Weibull 0.7), too bad: accepted", young, False, count, seed),
        simulate("ageing (power law 1.5), as promised: rejected", ageing, True, count, seed),
        simulate("ageing (power law 1.5), too bad: accepted", ageing, False, count, seed),
        simulate("bursts, as promised, merged: rejected", bursts, True, count, seed),
        simulate("bursts, as promised, not merged: rejected", bursts, True, count, seed, merge_s=0),
    ]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--histories", type=int, default=1000, metavar="N", help="of each row (default: %(default)s)")
    words.add_argument("--seed", type=int, default=1)
    options = words.parse_args()
    began = time.monotonic()
    rows = table(options.histories, options.seed)
    print(f"| histories, MTBF | wrong of {options.histories:,} | asked |\n|---|---|---|")
    for row in rows:
        asked = f"{row.bounds[0]}–{row.bounds[1]}" if row.bounds else "stated"
        print(f"| {row.name} ({row.mtbf_h:g} h) | {row.wrong} | {asked}{'' if row.holds else ' ✘'} |")
    print(f"\n{time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
