"""``kappa fault-campaign``: faults put into an embedded cluster of its own, at random and from a seed, and counted."""

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
Put faults into an embedded cluster of its own. Count how often the suite finds them, names the right node, and reports
a false positive. `run` needs root.

Exit status: 0 done, whatever was found; 2 the campaign cannot go on, or was interrupted. `beside` returns COMMAND's."""
_EXAMPLES = """\
  kappa fault-campaign run --seed 1 --rounds 3                 all kinds three times, and healthy rounds between
  kappa fault-campaign run --seed 1 --rounds 3 --minutes 30    stop in half an hour, go on another time
  kappa fault-campaign disturb 'results fill'                   the disk of the results fills meanwhile
  kappa fault-campaign nights --rounds 4                       a node that is slightly slower, over nights
  kappa fault-campaign beside build,memory,disk -- kappa validate embedded

`kappa fault-campaign ACTION --help` says more.
"""
_RUN = """\
Rounds on an embedded cluster of its own: `kappa validate` judges each. They are random and the same for the same seed:
in each block one round of every kind of fault, and a healthy one for each four kinds. A campaign that was interrupted
goes on where it was when started again with the same seed and folder; more rounds go on from fewer.

kinds of fault:
"""
_RUN_EXAMPLES = """\
examples:
  kappa fault-campaign run --seed 1 --rounds 3 --healthy 300    then 300 healthy rounds, to see false positives
  kappa fault-campaign run --rounds 0 --healthy 36              36 healthy rounds and nothing else
  kappa fault-campaign run --beside build,memory,disk --state /tmp/b    beside a load that is no node's fault
  kappa fault-campaign run --kind 'slow disk' --state /tmp/c    one kind, in another folder
  kappa fault-campaign run --plant 'ip link set eth0 mtu 1300' --mend 'ip link set eth0 mtu 1500' --state /tmp/d
  kappa fault-campaign run --rounds 0 --table docs/fault-campaign.md    only write the tables
"""
_DISTURB = """\
Validate an embedded cluster of its own while something goes wrong that is no node's fault. A table tells the exit
status, the nodes that were named (there should be none), how many cases have figures, the message, and whether the next
validation runs. Needs root. "memory eaten" takes all memory of this machine but 4 GiB.

disturbances:
"""
_NIGHTS = """\
Rounds of 25 nights without a cluster: one of four nodes becomes 5 to 10 % slower, by less than a night's bound sees.
`kappa nightly report` has to name it within five nights. Half of the rounds are healthy."""
_BESIDE = """\
Load this machine: a parallel build, a program that streams through memory, one that writes and syncs a disk. The load
stops by itself, and with COMMAND if there is one, whose exit status it then has."""


def run(arguments: list[str]) -> int:
    words = parser("fault-campaign", _DESCRIPTION, _EXAMPLES)
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary, description, add, do in (
        ("run", "rounds with faults on a cluster", _RUN + _kinds(), _add_run, _run),
        ("disturb", "what is no node's fault, done to a cluster", _DISTURB + _disturbances(), _add_disturb, _disturb),
        ("nights", "rounds of nights with a node that is slightly slower", _NIGHTS, _add_nights, _nights),
        ("beside", "load this machine, beside COMMAND", _BESIDE, _add_beside, _beside),
    ):
        action = actions.add_parser(
            name, help=summary, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add(action)
        action.set_defaults(do=do)
    # Split first: argparse takes a second `--`, which is the command's, for its own.
    own, command = split_options(arguments)
    options = words.parse_args(own)
    if command and options.action != "beside":
        words.error(f"only beside takes a command after --, found {' '.join(command)}")
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
    words.add_argument("--seed", type=int, default=1, metavar="S", help="of all that is random (default: 1)")
    words.add_argument("--rounds", type=int, default=3, metavar="N", help="of each kind of fault (default: 3)")
    words.add_argument("--healthy", type=int, default=0, metavar="N", help="healthy rounds after these (default: 0)")
    words.add_argument("--kind", action="append", choices=list(KINDS), metavar="NAME", help="this kind only; repeat")
    words.add_argument(
        "--plant", default="", metavar="COMMAND",
        help="a fault of your own: a shell command that is run as root on the drawn node; with --mend; alone, or beside"
        " the kinds of --kind",
    )  # fmt: skip
    words.add_argument("--mend", default="", metavar="COMMAND", help="a shell command there that mends that fault")
    words.add_argument(
        "--beside", type=_loads, default=(), metavar=",".join(LOADS), help="load this machine by these meanwhile"
    )
    words.add_argument("--minutes", type=float, metavar="M", help="begin no round after M minutes")
    words.add_argument(
        "--state", type=pathlib.Path, default=home() / ".kappa/fault-campaign", metavar="DIR",
        help="folder of the campaign: its cluster, results and rounds so far (default: .kappa/fault-campaign)",
    )  # fmt: skip
    add_table(words)
    words.add_argument(
        "--also", type=pathlib.Path, action="append", default=[], metavar="DIR",
        help="folder of another campaign whose rounds belong into the tables; repeat",
    )  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    # SciPy takes a second to load.
    from kappa.tools.fault_campaign import table
    from kappa.tools.fault_campaign.cluster import NODES, Cluster
    from kappa.tools.fault_campaign.outcomes import CampaignFolder, Settings, together
    from kappa.tools.fault_campaign.own import OWN
    from kappa.tools.fault_campaign.rounds import make_plan, run_rounds

    if bool(options.plant.strip()) != bool(options.mend.strip()):
        raise InputError("--plant and --mend belong together: give the command that mends the fault, too (or `true`)")
    if options.table:
        table.PLACE.page(options.table, "")  # a wrong path is said now, not after hours of rounds
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
        raise StoppedError("interrupted; start the campaign again to go on") from None
    states = [state, *map(CampaignFolder, options.also)]
    outcomes, blamed = together(states)
    tables = table.render(outcomes, [one.settings() for one in states], blamed)
    if options.table:
        table.PLACE.write(options.table, tables)
    print(tables)
    return 0


def _add_disturb(words: argparse.ArgumentParser) -> None:
    words.add_argument("names", nargs="*", metavar="NAME", help="these only (default: all)")
    words.add_argument(
        "--state", type=pathlib.Path, default=home() / ".kappa/disturbances", metavar="DIR",
        help="folder of its cluster and results, which are removed each time (default: .kappa/disturbances)",
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
    words.add_argument("--seed", type=int, default=1, metavar="S", help="of all that is random (default: 1)")
    words.add_argument("--rounds", type=int, default=5, metavar="N", help="of each kind of fault (default: 5)")


def _nights(options: argparse.Namespace) -> int:
    from kappa.tools.fault_campaign import nights

    nights.run_rounds(options.seed, options.rounds, functools.partial(print, flush=True))
    return 0


def _add_beside(words: argparse.ArgumentParser) -> None:
    words.usage = f"kappa fault-campaign beside [--seconds S] {','.join(LOADS)} [-- COMMAND …]"
    words.add_argument("loads", type=_loads, metavar=",".join(LOADS), help="one or several of them")
    words.add_argument("--seconds", type=float, default=600, metavar="S", help="without COMMAND (default: %(default)s)")


def _beside(options: argparse.Namespace) -> int:
    with beside(options.loads, pathlib.Path(tempfile.gettempdir())):
        if options.command:
            return subprocess.run(options.command, check=False).returncode
        time.sleep(options.seconds)
    return 0
