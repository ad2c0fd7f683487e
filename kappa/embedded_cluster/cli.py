"""The command line: `cluster up | down | status | exec | logs`."""

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any, NoReturn

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE, base_of
from kappa.embedded_cluster.console import ClusterError, ConsoleProgress, Deadline
from kappa.embedded_cluster.instance import Instance, find_outer, remove_state, state_lock
from kappa.embedded_cluster.layout import LOGIN, SCRATCH_FILE_SYSTEMS, ClusterOptions, StateLayout, parse_size
from kappa.embedded_cluster.start import bring_up
from kappa.embedded_cluster.status import DEGRADED, HEALTHY, NOT_UP, examine, render_json, render_table
from kappa.embedded_cluster.stop import stop_cluster
from kappa.embedded_cluster.wrappers import HOST_VARIABLES

MANAGER = SUITE / "site_configs/embedded/cluster"
STATE_VARIABLE = "KAPPA_CLUSTER_STATE"

_DESCRIPTION = """\
A real Slurm cluster on this one machine: slurmctld, slurmdbd with MariaDB, and a slurmd on each of
several virtual nodes, every node with its own network, host name, processes, /dev/shm and /scratch.
Needs root, or user namespaces (newuidmap and a range in /etc/subuid).
"""
_EXAMPLES = """\
examples:
  cluster up                                 start it (or restart what has died)
  eval "$(cluster up --print-env)"           the same, and put its sbatch, srun, sacct … on PATH
  sbatch -p cpu -N2 job.sh                   submit from the host as on any cluster
  cluster exec node1                         a shell on a node
  cluster exec node2 pkill -9 slurmd         break something; `cluster up` mends it
  cluster logs slurmctld -f                  follow a daemon's log
  cluster up --nodes 512 --light             hundreds of nodes, on which all but benchmarks is real
  cluster down --purge                       end it and remove all its files
"""
_PARTITIONS = """\
partitions: cpu (first half of the nodes, default), gpu (second half; --gres=gpu:1), scratch (all nodes).
Jobs that ask for --licenses=machine:1 run one at a time.
Inside, /shared is one folder of all nodes, /scratch is each node's own; all other paths are the host's.
"""


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--state",
        metavar="DIR",
        type=Path,
        default=argparse.SUPPRESS,
        help=f"folder of all that the cluster writes (default: ${STATE_VARIABLE}, or .kappa/cluster)",
    )
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "cluster", description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=formatter, parents=[common]
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    up = commands.add_parser(
        "up",
        parents=[common],
        formatter_class=formatter,
        help="start the cluster, or restart what has died",
        description="Start the cluster and wait until all nodes are in service. On a running cluster, restart what "
        "has died.",
        epilog=_PARTITIONS,
    )
    up.add_argument("--nodes", type=int, metavar="N", help="number of nodes, even (default: 4)")
    up.add_argument(
        "--light",
        action="store_true",
        help="hundreds of nodes, to try all but benchmarks: they share one network, their processes and the storage "
        "but /dev/shm and /scratch, which is memory",
    )
    up.add_argument("--cpus-per-node", type=int, metavar="N", help="cores each node claims (default: the host's)")
    up.add_argument("--scratch-size", type=_size, metavar="SIZE", help="room on each node's /scratch (default: 1G)")
    up.add_argument(
        "--scratch-fs",
        choices=SCRATCH_FILE_SYSTEMS,
        help="ext4: on a loop device with direct I/O (needs root); tmpfs: memory; auto: ext4 if possible (default)",
    )
    up.add_argument("--adapters", type=int, metavar="N", help="of each node, eth0, eth1, …; MPI uses eth0 (default: 2)")
    up.add_argument("--no-accounting", action="store_true", help="without slurmdbd and MariaDB; sacct has no answers")
    up.add_argument("--timeout", type=float, default=300, metavar="S", help="give up after S seconds (default: 300)")
    up.add_argument("--print-env", action="store_true", help="print the shell command that puts the commands on PATH")

    down = commands.add_parser(
        "down",
        parents=[common],
        help="end the cluster",
        description="Cancel all jobs and end the cluster; its database and logs stay for the next start.",
    )
    down.add_argument("--purge", action="store_true", help="remove the state folder as well")
    down.add_argument("--timeout", type=float, default=300, metavar="S", help="wait S seconds for another up or down")

    status = commands.add_parser(
        "status",
        parents=[common],
        help="show daemons, nodes, memory and paths",
        description="Show the state of the cluster. Exit status: 0 healthy, 1 degraded, 3 not up.",
    )
    status.add_argument("--json", action="store_true", help="as JSON")

    execute = commands.add_parser(
        "exec",
        parents=[common],
        formatter_class=formatter,
        help="run a command in a place of the cluster",
        description="Run a command in the login namespace or on a node, in the present folder and environment;\n"
        "its exit status is returned. Without a command: an interactive shell.",
        epilog="example: cluster exec node2 sh -c 'df -h /scratch | tail -1'",
    )
    execute.add_argument("node", metavar="NODE", help="login, node1, node2 …")
    execute.add_argument("arguments", metavar="CMD", nargs=argparse.REMAINDER, help="program and arguments, no shell")

    logs = commands.add_parser(
        "logs",
        parents=[common],
        help="show the ends of log files",
        description="Show the ends of the logs of all daemons, of those of one place, or of one daemon.",
    )
    logs.add_argument("name", metavar="NODE|DAEMON", nargs="?", help="for example node1, slurmctld or slurmd-node1")
    logs.add_argument("-n", "--lines", type=int, default=20, metavar="N", help="lines of each (default: 20)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as the logs grow")
    return parser


def _layout(arguments: argparse.Namespace) -> StateLayout:
    stated = getattr(arguments, "state", None) or os.environ.get(STATE_VARIABLE)
    chosen = stated or base_of(MANAGER.parent) / ".kappa/cluster"
    return StateLayout(Path(chosen).expanduser().resolve())


def _running(layout: StateLayout) -> Instance:
    instance = Instance.load(layout)
    if instance is None or instance.init_of(LOGIN) is None:
        raise ClusterError(f"the cluster in {layout.state} is not up: start it with `cluster up`")
    return instance


def _up(layout: StateLayout, arguments: argparse.Namespace) -> int:
    given = {
        "nodes": arguments.nodes,
        "cpus_per_node": arguments.cpus_per_node,
        "scratch_bytes": arguments.scratch_size,
        "scratch_fs": arguments.scratch_fs,
        "adapters": arguments.adapters,
        "accounting": False if arguments.no_accounting else None,
    }
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if arguments.light:
        wanted = {"light": True, "adapters": 1, "scratch_fs": "tmpfs", **wanted}
    ClusterOptions(**wanted)
    progress = ConsoleProgress()
    bring_up(layout, wanted, arguments.timeout, progress, MANAGER)
    export = f'export PATH={shlex.quote(str(layout.bin))}:"$PATH"'
    if arguments.print_env:
        print(export)
    else:
        progress.say(f"use it with: {export}")
    return 0


def _down(layout: StateLayout, arguments: argparse.Namespace) -> int:
    progress = ConsoleProgress()
    if not layout.state.exists() and find_outer(layout) is None:
        progress.say(f"nothing to end in {layout.state}")
        return 0
    with state_lock(layout, Deadline(arguments.timeout), progress):
        if not stop_cluster(layout, progress):
            progress.say("was not up")
        if arguments.purge:
            remove_state(layout)
            progress.say(f"removed {layout.state}")
    return 0


def _status(layout: StateLayout, arguments: argparse.Namespace) -> int:
    instance = Instance.load(layout)
    status = examine(instance) if instance else None
    if instance is None or status is None:
        print('{"state": "not up"}' if arguments.json else f"cluster: not up (state folder {layout.state})")
        return NOT_UP
    print(render_json(instance, status) if arguments.json else render_table(instance, status))
    return DEGRADED if status.problems else HEALTHY


def _exec(layout: StateLayout, arguments: argparse.Namespace) -> NoReturn:
    instance = _running(layout)
    if arguments.node not in instance.places:
        raise ClusterError(f"there is no {arguments.node}; the places are {', '.join(instance.places)}")
    init = instance.init_of(arguments.node)
    if init is None:
        raise ClusterError(f"{arguments.node} is not running: `cluster up` starts it again")
    given = arguments.arguments[1:] if arguments.arguments[:1] == ["--"] else arguments.arguments
    shell = [os.environ.get("SHELL", "/bin/bash")]
    # When this process is ended, so is the command.
    command = instance.enter_command(init, ["setpriv", "--pdeathsig", "TERM", "--", *(given or shell)], Path.cwd())
    environment = {name: value for name, value in os.environ.items() if name not in HOST_VARIABLES}
    os.execvpe(command[0], command, environment)


def _place_of(log: Path) -> str:
    """The place whose name ends the log's name; the other daemons are those of the login namespace."""
    ending = log.stem.rpartition("-")[2]
    return ending if ending.startswith("node") else LOGIN


def _logs(layout: StateLayout, arguments: argparse.Namespace) -> int:
    logs = sorted(layout.log.glob("*.log"))
    if not logs:
        raise ClusterError(f"there are no logs in {layout.log}: no cluster was started there")
    names = [log.stem for log in logs]
    if arguments.name is not None:
        logs = [log for log in logs if arguments.name in (log.stem, _place_of(log))]
        if not logs:
            raise ClusterError(f"there is no log of {arguments.name}; there are {', '.join(names)}")
    follow = ["-F"] if arguments.follow else []
    sys.stdout.flush()
    os.execvp("tail", ["tail", "-v", "-n", str(arguments.lines), *follow, "--", *map(str, logs)])


_COMMANDS = {"up": _up, "down": _down, "status": _status, "exec": _exec, "logs": _logs}


def main() -> int:
    """Run one command; returns its exit status."""
    arguments = _parser().parse_args()
    try:
        return _COMMANDS[arguments.command](_layout(arguments), arguments)
    except (ClusterError, InputError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"cluster: {error.strerror}: {error.filename}" if error.filename else f"cluster: {error}", file=sys.stderr
        )
        return 2
    except KeyboardInterrupt:
        print("cluster: interrupted", file=sys.stderr)
        return 130
