"""``kappa fault-campaign``: plant random faults in a separate embedded cluster, and count what Kappa finds."""

import argparse
import functools
import pathlib
import signal
import subprocess
import tempfile
import time

from kappa.app.command.arguments import add_table, parser, split_options
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.folders import home
from kappa.core.ground.processes import StoppedError
from kappa.tools.fault_campaign.beside import LOADS, beside
from kappa.tools.fault_campaign.disturbances import DISTURBANCES, disturb, render
from kappa.tools.fault_campaign.kinds import KINDS

_DESCRIPTION = """\
Plant faults in a separate embedded cluster. Count how often the suite finds them, names the right node, and reports a
false positive. `run` and `disturb` need root.

Exit status: 0 done, whatever was found; 2 the campaign cannot continue, or was interrupted. `beside` returns the exit
status of COMMAND."""
_EXAMPLES = """\
  kappa fault-campaign run --seed 1 --rounds 3                 each kind of fault three times, and healthy rounds
  kappa fault-campaign run --seed 1 --rounds 3 --minutes 30    stop after half an hour; continue later
  kappa fault-campaign disturb 'results fill'                  fill the disk of the results during a validation
  kappa fault-campaign nights --rounds 4                       simulate nights with a slightly slower node
  kappa fault-campaign beside build,memory,disk -- kappa validate embedded

`kappa fault-campaign ACTION --help` explains one action.
"""
_RUN = """\
Run rounds on a separate embedded cluster. `kappa validate` judges each round. The rounds are random, and the same for
the same seed. Each block has one round of every kind of fault, and one healthy round for every four kinds.

To continue an interrupted campaign, start it again with the same seed and folder. To add rounds, raise --rounds.

kinds of fault:
"""
_RUN_EXAMPLES = """\
examples:
  kappa fault-campaign run --seed 1 --rounds 3 --healthy 300    add 300 healthy rounds, to count false positives
  kappa fault-campaign run --rounds 0 --healthy 36              only 36 healthy rounds
  kappa fault-campaign run --beside build,memory,disk --state /tmp/b    with a load on this machine
  kappa fault-campaign run --kind 'slow disk' --state /tmp/c    only one kind, in another folder
  kappa fault-campaign run --plant 'ip link set eth0 mtu 1300' --mend 'ip link set eth0 mtu 1500' --state /tmp/d
  kappa fault-campaign run --rounds 0 --table docs/fault-campaign.md    only write the tables
"""
_DISTURB = """\
Validate a separate embedded cluster while a disturbance acts that is no node's fault. The table lists the exit status,
the named nodes (none is right), the number of cases with figures, the message, and whether the next validation runs.
This needs root. "memory eaten" takes all memory of this machine except 4 GiB.

disturbances:
"""
_NIGHTS = """\
Simulate rounds of 25 nights, without a cluster. One of four nodes becomes 5 to 10 % slower, which is too little for the
bounds of one night. `kappa nightly report` must name it within five nights. Half of the rounds are healthy."""
_BESIDE = """\
Load this machine with a parallel build, a program that streams through memory, or one that writes and syncs a disk. The
load stops after --seconds, or when COMMAND ends. The exit status is COMMAND's."""


def run(arguments: list[str]) -> int:
    words = parser("fault-campaign", _DESCRIPTION, _EXAMPLES)
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary, description, add, do in (
        ("run", "run rounds with faults on a cluster", _RUN + _kinds(), _add_run, _run),
        ("disturb", "disturb a validation without a faulty node", _DISTURB + _disturbances(), _add_disturb, _disturb),
        ("nights", "simulate nights with a slightly slower node", _NIGHTS, _add_nights, _nights),
        ("beside", "load this machine while COMMAND runs", _BESIDE, _add_beside, _beside),
    ):
        action = actions.add_parser(
            name, help=summary, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add(action)
        action.set_defaults(do=do)
    # Split first: argparse would take the second `--`, which belongs to COMMAND.
    own, command = split_options(arguments)
    options = words.parse_args(own)
    if command and options.action != "beside":
        words.error(f"only the action beside takes a command after --, found {' '.join(command)}")
    options.command = command
    return int(options.do(options))


def _kinds() -> str:
    return "".join(f"  {kind.name:24} {kind.what}\n" for kind in KINDS.values())


def _disturbances() -> str:
    return "".join(f"  {one.name:20} {one.what}\n" for one in DISTURBANCES.values())


def _loads(text: str) -> tuple[str, ...]:
    found = tuple(filter(None, text.split(",")))
    if not found or not LOADS.keys() >= set(found):
        raise argparse.ArgumentTypeError(f"expected some of {','.join(LOADS)}, found {text!r}")
    return found


def _add_run(words: argparse.ArgumentParser) -> None:
    words.epilog = _RUN_EXAMPLES
    words.add_argument("--seed", type=int, default=1, metavar="S", help="seed of all random choices (default: 1)")
    words.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds of each kind of fault (default: 3)")
    words.add_argument("--healthy", type=int, default=0, metavar="N", help="healthy rounds afterwards (default: 0)")
    words.add_argument(
        "--kind", action="append", choices=list(KINDS), metavar="NAME",
        help="use only this kind of fault; repeat for more",
    )  # fmt: skip
    words.add_argument(
        "--plant", default="", metavar="COMMAND",
        help="your own fault: a shell command that runs as root on the drawn node; needs --mend; without --kind it is"
        " the only kind",
    )  # fmt: skip
    words.add_argument("--mend", default="", metavar="COMMAND", help="a shell command that ends the fault of --plant")
    words.add_argument(
        "--beside", type=_loads, default=(), metavar=",".join(LOADS), help="load this machine during the rounds"
    )
    words.add_argument("--minutes", type=float, metavar="M", help="start no round after M minutes")
    words.add_argument(
        "--state", type=pathlib.Path, default=home() / ".kappa/fault-campaign", metavar="DIR",
        help="the campaign's folder, with its cluster, results and rounds (default: .kappa/fault-campaign)",
    )  # fmt: skip
    add_table(words)
    words.add_argument(
        "--also", type=pathlib.Path, action="append", default=[], metavar="DIR",
        help="also count the rounds of the campaign in DIR; repeat for more",
    )  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    # SciPy takes a second to load.
    from kappa.tools.fault_campaign import table
    from kappa.tools.fault_campaign.cluster import NODES, Cluster
    from kappa.tools.fault_campaign.outcomes import CampaignFolder, Settings, together
    from kappa.tools.fault_campaign.own import OWN
    from kappa.tools.fault_campaign.rounds import make_plan, run_rounds

    if bool(options.plant.strip()) != bool(options.mend.strip()):
        raise InputError("--plant and --mend belong together: give both (`--mend true` does nothing)")
    if options.table:
        table.PLACE.page(options.table, "")  # report a wrong path now, not after hours of rounds
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background jobs with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    state = CampaignFolder(options.state)
    own = (OWN,) if options.plant else ()
    kinds = (*own, *(options.kind or (() if own else KINDS)))
    settings = Settings(options.seed, kinds, options.beside, options.plant, options.mend)
    try:
        state.lock()
        if options.rounds > 0 or options.healthy > 0:
            state.begin(settings)
            plan = make_plan(settings.seed, options.rounds, settings.kinds, NODES, options.healthy)
            with beside(settings.beside, state.path):
                run_rounds(Cluster(state.cluster, state.results), state, plan, options.minutes)
    except KeyboardInterrupt:
        raise StoppedError("interrupted; run the same command to continue") from None
    states = [state, *map(CampaignFolder, options.also)]
    tables = table.render(together(states), [one.settings() for one in states])
    if options.table:
        table.PLACE.write(options.table, tables)
    print(tables)
    return 0


def _add_disturb(words: argparse.ArgumentParser) -> None:
    words.add_argument("names", nargs="*", metavar="NAME", help="only these disturbances (default: all)")
    words.add_argument(
        "--state", type=pathlib.Path, default=home() / ".kappa/disturbances", metavar="DIR",
        help="folder of the cluster and results, removed each time (default: .kappa/disturbances)",
    )  # fmt: skip


def _disturb(options: argparse.Namespace) -> int:
    from kappa.tools.fault_campaign.cluster import Cluster

    unknown = [name for name in options.names if name not in DISTURBANCES]
    if unknown:
        raise InputError(f"there is no disturbance {unknown[0]!r}, {suggestion(unknown[0], DISTURBANCES)}")
    state = options.state.resolve()
    found = disturb(Cluster(state / "cluster", state / "results"), options.names or [*DISTURBANCES], print)
    print(render(found))
    return 0


def _add_nights(words: argparse.ArgumentParser) -> None:
    words.add_argument("--seed", type=int, default=1, metavar="S", help="seed of all random choices (default: 1)")
    words.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of each kind of fault (default: 5)")


def _nights(options: argparse.Namespace) -> int:
    from kappa.tools.fault_campaign import nights

    nights.run_rounds(options.seed, options.rounds, functools.partial(print, flush=True))
    return 0


def _add_beside(words: argparse.ArgumentParser) -> None:
    words.usage = f"kappa fault-campaign beside [--seconds S] {','.join(LOADS)} [-- COMMAND …]"
    words.add_argument("loads", type=_loads, metavar=",".join(LOADS), help="one or more kinds of load")
    words.add_argument(
        "--seconds", type=float, default=600, metavar="S",
        help="without COMMAND, stop after S seconds (default: %(default)s)",
    )  # fmt: skip


def _beside(options: argparse.Namespace) -> int:
    with beside(options.loads, pathlib.Path(tempfile.gettempdir())):
        if options.command:
            return subprocess.run(options.command, check=False).returncode
        time.sleep(options.seconds)
    return 0
