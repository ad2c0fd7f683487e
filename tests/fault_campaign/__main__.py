"""Command line: ``python -m tests.fault_campaign``."""

import argparse
import contextlib
import datetime
import pathlib
import signal
import sys
import time

from kappa.core.ground.whole_files import write_atomically
from tests.fault_campaign.beside import LOADS, beside, names
from tests.fault_campaign.cluster import NODES, REPOSITORY, CampaignError, Cluster
from tests.fault_campaign.kinds import KINDS
from tests.fault_campaign.outcome import Outcome
from tests.fault_campaign.plan import Round, make_plan
from tests.fault_campaign.rounds import run_round
from tests.fault_campaign.state import Settings, State, together
from tests.fault_campaign.table import between_markers, render

_DESCRIPTION = """\
Put faults into an embedded cluster and see how often the suite finds them, names the right node,
and cries wolf. The rounds are random and the same for the same seed: in each block one round of
every kind of fault, and a healthy one for each four kinds. A campaign that was interrupted goes on
where it was when started again with the same seed and folder; more rounds go on from fewer. Needs
root.

kinds of fault:
"""
_EXAMPLES = """\
examples:
  python -m tests.fault_campaign --seed 1 --rounds 3             all kinds three times, and healthy rounds between
  python -m tests.fault_campaign --seed 1 --rounds 3 --minutes 30    stop in half an hour, go on another time
  python -m tests.fault_campaign --seed 1 --rounds 3 --healthy 300    then 300 healthy rounds, to see false alarms
  python -m tests.fault_campaign --rounds 0 --healthy 36    36 healthy rounds and nothing else
  python -m tests.fault_campaign --beside build,memory,disk --state /tmp/b    beside a load that is no node's fault
  python -m tests.fault_campaign --kind 'slow disk' --state /tmp/c   one kind, in another folder
  python -m tests.fault_campaign --rounds 0 --table docs/fault-campaign.md    only write the table
"""


def _parser() -> argparse.ArgumentParser:
    kinds = "".join(f"  {kind.name:24} {kind.what}\n" for kind in KINDS.values())
    parser = argparse.ArgumentParser(
        "python -m tests.fault_campaign",
        description=_DESCRIPTION + kinds,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of all that is random (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of each kind of fault (%(default)s)")
    parser.add_argument(
        "--healthy",
        type=int,
        default=0,
        metavar="N",
        help="healthy rounds after these, to see false alarms (%(default)s)",
    )
    parser.add_argument("--kind", action="append", choices=list(KINDS), metavar="NAME", help="this kind only; repeat")
    parser.add_argument(
        "--beside", type=names, default=(), metavar=",".join(LOADS), help="load this machine by these meanwhile"
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="begin no round after M minutes")
    parser.add_argument(
        "--state", type=pathlib.Path, default=REPOSITORY / ".kappa/fault-campaign", metavar="DIR",
        help="folder of the campaign: its cluster, results and rounds so far (.kappa/fault-campaign)",
    )  # fmt: skip
    parser.add_argument(
        "--table", type=pathlib.Path, metavar="FILE", help="write the tables into this Markdown file, between its marks"
    )
    parser.add_argument(
        "--also", type=pathlib.Path, action="append", default=[], metavar="DIR",
        help="folder of another campaign whose rounds belong into the tables; repeat",
    )  # fmt: skip
    return parser


def main() -> int:
    options = _parser().parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background jobs with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    state = State(options.state)
    settings = Settings(options.seed, tuple(options.kind or KINDS), options.beside)
    try:
        state.lock()
        if options.rounds > 0 or options.healthy > 0:
            state.begin(settings)
            plan = make_plan(settings.seed, options.rounds, settings.kinds, NODES, options.healthy)
            with beside(settings.beside, state.path):
                _campaign(Cluster(state.cluster, state.results), state, plan, options.minutes)
        states = [state, *map(State, options.also)]
        outcomes, blamed = together(states)
        tables = render(outcomes, [one.settings() for one in states], blamed)
        if options.table:
            document = options.table.read_text(encoding="utf-8")
            write_atomically(options.table, between_markers(document, tables))
    except (CampaignError, ValueError, OSError) as err:
        print(f"fault campaign: error: {err}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fault campaign: interrupted; start it again to go on", file=sys.stderr)
        return 130
    print(tables)
    return 0


def _campaign(cluster: Cluster, state: State, plan: list[Round], minutes: float | None) -> None:
    done = {outcome.number for outcome in state.outcomes()}
    left = [planned for planned in plan if planned.number not in done]
    started = time.monotonic()
    cluster.end()  # an interrupted round may have left its fault
    try:
        for count, planned in enumerate(left):
            elapsed = time.monotonic() - started
            if minutes is not None and elapsed > 60 * minutes:
                print(f"fault campaign: {len(left) - count} rounds left for another time")
                return
            _make_healthy(cluster)
            outcome = run_round(cluster, planned)
            state.add(outcome)
            remaining_s = (time.monotonic() - started) / (count + 1) * (len(left) - count - 1)
            print(f"[{len(done) + count + 1}/{len(plan)}, {_duration(remaining_s)} left] {_said(outcome)}", flush=True)
    finally:
        cluster.end()


def _make_healthy(cluster: Cluster) -> None:
    """Mend the cluster, or start afresh when that does not help."""
    with contextlib.suppress(CampaignError):
        cluster.make_healthy()
        return
    cluster.end()
    cluster.make_healthy()


def _said(outcome: Outcome) -> str:
    fault = f"{outcome.kind} on {outcome.node} ({outcome.detail})" if outcome.kind else "healthy"
    named = f", named {', '.join((*outcome.suspects, *outcome.observed))}" if outcome.names_a_node else ""
    failed = f" ({', '.join(outcome.failed or outcome.incomplete)})" if outcome.detected else ""
    return f"{fault}: {outcome.verdict}{failed}{named}, {outcome.seconds:.0f} s"


def _duration(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))


if __name__ == "__main__":
    sys.exit(main())
