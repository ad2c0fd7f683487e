"""Plant faults in a separate embedded cluster, and count how often the suite finds them and names the right node."""

import argparse
import functools
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import home
from kappa.core.ground.locks import locked
from tests.fault_campaign import nights, table
from tests.fault_campaign.beside import LOADS, beside
from tests.fault_campaign.cluster import NODES, Cluster
from tests.fault_campaign.disturbances import DISTURBANCES, disturb, render
from tests.fault_campaign.kinds import KINDS
from tests.fault_campaign.outcomes import CampaignFolder, Settings, together
from tests.fault_campaign.own import OWN
from tests.fault_campaign.rounds import make_plan, run_rounds
from tests.tables import add_table

_RUN = """\
Run rounds on a separate embedded cluster, as root. `kappa validate` judges each round. The same seed gives the same
rounds. Each block has one round of every kind of fault, and one healthy round for every four kinds.

To continue an interrupted campaign, start it again with the same seed and folder. To add rounds, raise --rounds.

kinds of fault:
"""
_DISTURB = """\
Validate a separate embedded cluster while a disturbance acts that is no node's fault, as root. The table lists the exit
status, the named nodes (none is right), the number of cases with figures, the message, and the next verdict.

disturbances:
"""
_NIGHTS = """\
Simulate rounds of 25 nights, without a cluster. One of four nodes becomes 5 to 10 % slower, which is too little for the
bounds of one night. `kappa night report` must name it within five nights. Half of the rounds are healthy."""
_BESIDE = """\
Load this machine with a parallel build, a program that streams through memory, or one that writes and syncs a disk. The
load stops after --seconds, or when COMMAND ends. The exit status is COMMAND's."""


def main(arguments: list[str] | None = None) -> int:
    """Run one action. Return its exit status: 2 if the campaign cannot continue or was interrupted, otherwise 0."""
    given = sys.argv[1:] if arguments is None else arguments
    # Split first: argparse would take the second `--`, which belongs to COMMAND.
    cut = given.index("--") if "--" in given else len(given)
    parser = _parser()
    options = parser.parse_args(given[:cut])
    try:
        match options.action:
            case "run":
                _run(options)
            case "disturb":
                state = options.state.resolve()
                cluster = Cluster(state / "cluster", state / "results")
                print(render(disturb(cluster, options.names or [*DISTURBANCES], print)))
            case "nights":
                nights.run_rounds(options.seed, options.rounds, functools.partial(print, flush=True))
            case "beside":
                with beside(options.loads, pathlib.Path(tempfile.gettempdir())):
                    if command := given[cut + 1 :]:
                        return subprocess.run(command, check=False).returncode
                    time.sleep(options.seconds)
    except InputError as err:
        parser.error(str(err))
    except KeyboardInterrupt:
        parser.error("interrupted; run the same command to continue")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fault_campaign", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    kinds = "".join(f"  {kind.name:24} {kind.what}\n" for kind in KINDS.values())
    disturbances = "".join(f"  {each.name:20} {each.what}\n" for each in DISTURBANCES.values())
    run, disturbed, night, load = (
        actions.add_parser(name, help=summary, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        for name, summary, text in (
            ("run", "run rounds with faults on a cluster", _RUN + kinds),
            ("disturb", "disturb a validation without a faulty node", _DISTURB + disturbances),
            ("nights", "simulate nights with a slightly slower node", _NIGHTS),
            ("beside", "load this machine while COMMAND runs, given after --", _BESIDE),
        )
    )
    for to, rounds in ((run, 3), (night, 5)):
        to.add_argument("--seed", type=int, default=1, metavar="S", help="seed of all random choices (default: 1)")
        to.add_argument("--rounds", type=int, default=rounds, metavar="N", help=f"of each kind (default: {rounds})")
    for to, folder in ((run, "fault-campaign"), (disturbed, "disturbances")):
        to.add_argument(
            "--state", type=pathlib.Path, default=home() / ".kappa" / folder, metavar="DIR",
            help=f"folder of the cluster, results and rounds (default: .kappa/{folder})",
        )  # fmt: skip
    run.add_argument("--healthy", type=int, default=0, metavar="N", help="healthy rounds afterwards (default: 0)")
    run.add_argument(
        "--kind", action="append", choices=list(KINDS), metavar="NAME", help="only this kind of fault; repeat for more"
    )
    run.add_argument(
        "--plant", default="", metavar="COMMAND",
        help="your own fault: a shell command that runs as root on the drawn node; without --kind the only kind",
    )  # fmt: skip
    run.add_argument("--mend", default="", metavar="COMMAND", help="a shell command that ends the fault of --plant")
    run.add_argument(
        "--beside", type=_loads, default=(), metavar=",".join(LOADS), help="load this machine during the rounds"
    )
    run.add_argument("--minutes", type=float, metavar="M", help="start no round after M minutes")
    add_table(run)
    run.add_argument(
        "--also", type=pathlib.Path, action="append", default=[], metavar="DIR",
        help="also count the rounds of the campaign in DIR; repeat for more",
    )  # fmt: skip
    disturbed.add_argument(
        "names", nargs="*", choices=list(DISTURBANCES), metavar="NAME", help="only these disturbances (default: all)"
    )
    load.add_argument("loads", type=_loads, metavar=",".join(LOADS), help="one or more kinds of load")
    load.add_argument("--seconds", type=float, default=600, metavar="S", help="without COMMAND (default: 600)")
    return parser


def _loads(text: str) -> tuple[str, ...]:
    loads = tuple(text.split(","))
    if not LOADS.keys() >= set(loads):
        raise argparse.ArgumentTypeError(f"expected some of {','.join(LOADS)}, found {text!r}")
    return loads


def _run(options: argparse.Namespace) -> None:
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
    with locked(state.path / "lock"):
        if options.rounds > 0 or options.healthy > 0:
            state.begin(settings)
            plan = make_plan(settings.seed, options.rounds, settings.kinds, NODES, options.healthy)
            with beside(settings.beside, state.path):
                run_rounds(Cluster(state.cluster, state.results), state, plan, options.minutes)
        states = [state, *map(CampaignFolder, options.also)]
        tables = table.render(together(states), [each.settings() for each in states])
    if options.table:
        table.PLACE.write(options.table, tables)
    print(tables)


if __name__ == "__main__":
    sys.exit(main())
